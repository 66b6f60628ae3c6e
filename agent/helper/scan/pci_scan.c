#include "agent/helper/scan/pci_scan.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/helper/scan/pci.h"
#include "agent/helper/sys/pci_identity.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/sys/sysfs.h"
#include "base/array.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

enum {
	SLOT_ADDRESS_LEN = 10, /* "0000:01:00", a slot without its functions */
	CLASS_BRIDGE = 0x06,
	SLICES_MAX = 4,
	SLICE_MIN = 64, /* functions for which a thread is worth its start */
};

/* A run of names, and what was found of them. */
struct slice {
	struct pci_context context;
	struct report report;
	int bus_fd;
	char *const *names;
	size_t len;
	struct pci_functions functions;
	pthread_t thread;
	bool started;
};

static int by_address(const void *a, const void *b)
{
	const struct pci_function *left = a;
	const struct pci_function *right = b;

	return (left->key > right->key) - (left->key < right->key);
}

struct pci_function *pci_functions_find(const struct pci_functions *functions, const char *address)
{
	struct pci_function key = { .key = pci_address_key(address) };

	if (functions->len == 0)
		return NULL;
	return bsearch(&key, functions->items, functions->len, sizeof(key), by_address);
}

static void read_one(struct slice *slice, const char *name)
{
	auto_close int dir_fd = -1;
	struct pci_function function;

	if (!pci_address_valid(name, strlen(name))) {
		report_problem(&slice->report, name, "address", "the name is not a PCI address");
		return;
	}
	pci_function_init(&function, name);
	sysfs_forget_failure();
	dir_fd = sysfs_open_dir(slice->bus_fd, name);
	if (dir_fd >= 0 &&
	    pci_function_read(&slice->context, slice->bus_fd, dir_fd, &function) == 0) {
		*array_add(&slice->functions) = function;
		return;
	}
	if (dir_fd < 0 && sysfs_failure()->code < 0)
		report_fail(&slice->report, sysfs_failure());
	log_debug("device vanished while it was read", log_str("device", name));
	pci_function_done(&function);
}

static void read_slice(struct slice *slice)
{
	for (size_t i = 0; i < slice->len; i++)
		read_one(slice, slice->names[i]);
}

static void *slice_main(void *arg)
{
	/* With a descriptor table of its own a thread waits for no other at each open and close. */
	(void)unshare(CLONE_FILES);
	read_slice(arg);
	return NULL;
}

static size_t slices_for(size_t functions)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	size_t slices = functions / SLICE_MIN;

	if (processors < 1 || slices < 1)
		return 1;
	if (slices > (size_t)processors)
		slices = (size_t)processors;
	return slices < SLICES_MAX ? slices : SLICES_MAX;
}

static void take_slice(struct slice *slice, struct report *report, struct pci_functions *functions)
{
	str_add_mem(&report->problems, str_cstr(&slice->report.problems),
		    slice->report.problems.len);
	if (slice->report.failure.code < 0)
		report_fail(report, &slice->report.failure);
	for (size_t i = 0; i < slice->functions.len; i++)
		*array_add(functions) = slice->functions.items[i];
	array_done(&slice->functions);
	report_done(&slice->report);
}

/*
 * All of a scan's time goes into the kernel, opening thousands of files one after the other, so a
 * large machine is read by up to four threads. They share nothing but the folder: each has its own
 * names, its own report and its own list.
 */
static void read_all(int sysfs_fd, int bus_fd, const struct sysfs_names *names,
		     struct report *report, struct pci_functions *functions)
{
	bool has_numa = faccessat(sysfs_fd, "devices/system/node/online", F_OK, 0) == 0;
	struct slice slices[SLICES_MAX] = { 0 };
	size_t count = slices_for(names->len);

	for (size_t i = 0; i < count; i++) {
		struct slice *slice = &slices[i];
		size_t from = names->len * i / count;

		slice->context = (struct pci_context){ has_numa, false, &slice->report };
		slice->bus_fd = bus_fd;
		slice->names = names->items + from;
		slice->len = names->len * (i + 1) / count - from;
		slice->started = i + 1 < count &&
				 pthread_create(&slice->thread, NULL, slice_main, slice) == 0;
	}
	for (size_t i = count; i-- > 0;) {
		if (slices[i].started)
			(void)pthread_join(slices[i].thread, NULL);
		else
			read_slice(&slices[i]);
	}
	for (size_t i = 0; i < count; i++)
		take_slice(&slices[i], report, functions);
}

/* A serial belongs to the device: its functions, which are adjacent, share that of function 0. */
static void share_serials(struct pci_functions *functions)
{
	const struct pci_function *first = NULL;

	for (size_t i = 0; i < functions->len; i++) {
		struct pci_function *function = &functions->items[i];
		size_t stem = strlen(function->address) - 1;

		if (function->address[stem] == '0')
			first = function;
		else if (first && strncmp(first->address, function->address, stem) == 0 &&
			 !function->physical_function[0])
			memcpy(function->serial, first->serial, sizeof(function->serial));
	}
}

static bool has_physical_function(const struct pci_functions *functions)
{
	for (size_t i = 0; i < functions->len; i++) {
		if (functions->items[i].total_vfs >= 0)
			return true;
	}
	return false;
}

/*
 * Without a physical function there are no virtual ones to search for. Existing ones are counted by
 * their own links, so that `sriov_numvfs` stays closed.
 */
static void find_virtual_functions(int bus_fd, struct report *report,
				   struct pci_functions *functions)
{
	if (!has_physical_function(functions))
		return;
	for (size_t i = 0; i < functions->len; i++) {
		struct pci_function *function = &functions->items[i];
		struct pci_function *physical;

		if (function->total_vfs >= 0)
			continue;
		pci_function_read_physical(report, bus_fd, function);
		physical = pci_functions_find(functions, function->physical_function);
		if (physical)
			physical->num_vfs++;
	}
}

static void name_slot(struct pci_functions *functions, const char *address, const char *slot)
{
	for (size_t i = 0; i < functions->len; i++) {
		struct pci_function *function = &functions->items[i];
		size_t stem = strlen(function->address) - 2;

		if (strlen(address) != stem || strncmp(function->address, address, stem) != 0)
			continue;
		str_set(&function->slot, slot);
	}
}

/* A virtual function is known by its physical one: both are where the card is. */
static void share_identity(const struct pci_functions *functions, struct pci_function *function)
{
	const struct pci_function *physical =
		pci_functions_find(functions, function->physical_function);

	free(function->identity);
	function->identity = physical ? xstrdup_or_null(physical->identity) : NULL;
}

static void finish_identities(const struct sysfs_names *slots, struct pci_functions *functions)
{
	for (size_t i = 0; i < functions->len; i++) {
		struct pci_function *function = &functions->items[i];
		auto_str struct str identity = STR_INIT;

		if (!function->slot || function->class_id >> 16 == CLASS_BRIDGE)
			continue;
		str_add(&identity, function->identity ? function->identity : "");
		pci_identity_add_slot(slots, function->slot, &identity);
		free(function->identity);
		function->identity = identity.len > 0 ? str_detach(&identity) : NULL;
	}
	for (size_t i = 0; i < functions->len; i++) {
		if (functions->items[i].physical_function[0])
			share_identity(functions, &functions->items[i]);
	}
}

static void name_slots(int sysfs_fd, struct sysfs_names *slots, struct pci_functions *functions)
{
	auto_close int fd = sysfs_open_dir(sysfs_fd, "bus/pci/slots");
	struct sysfs_attr address;

	if (fd < 0 || sysfs_list(fd, ".", slots, NULL) != 0)
		return;
	for (size_t i = 0; i < slots->len; i++) {
		auto_free char *path = xasprintf("%s/address", slots->items[i]);

		if (sysfs_read(fd, path, &address, NULL) == 0 && address.len >= SLOT_ADDRESS_LEN)
			name_slot(functions, address.text, slots->items[i]);
	}
}

void pci_scan(int sysfs_fd, struct report *report, struct pci_functions *ret_functions)
{
	auto_names struct sysfs_names names = { 0 };
	auto_names struct sysfs_names slots = { 0 };
	struct pci_functions functions = { 0 };
	auto_close int bus_fd = -1;
	struct err err = { 0 };

	if (sysfs_open_list(sysfs_fd, "bus/pci/devices", &bus_fd, &names, &err) < 0)
		report_fail(report, &err);
	if (names.len > 0)
		read_all(sysfs_fd, bus_fd, &names, report, &functions);
	if (functions.len > 0)
		qsort(functions.items, functions.len, sizeof(functions.items[0]), by_address);
	find_virtual_functions(bus_fd, report, &functions);
	share_serials(&functions);
	name_slots(sysfs_fd, &slots, &functions);
	finish_identities(&slots, &functions);
	*ret_functions = functions;
}

void pci_functions_done(struct pci_functions *functions)
{
	for (size_t i = 0; i < functions->len; i++)
		pci_function_done(&functions->items[i]);
	array_done(functions);
}
