#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agent/helper/scan/block.h"
#include "agent/helper/scan/nodes.h"
#include "agent/helper/scan/pci_scan.h"
#include "agent/helper/scan/scan.h"
#include "agent/helper/scan/use_scan.h"
#include "agent/helper/sys/bind_state.h"
#include "agent/helper/sys/holders.h"
#include "agent/helper/sys/kernel.h"
#include "agent/helper/sys/mdev.h"
#include "agent/helper/sys/nvidia_node.h"
#include "agent/helper/sys/pci_identity.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/sys/sysfs.h"
#include "agent/helper/transition/transition_state.h"
#include "base/array.h"
#include "base/device_identity.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"

/* --- the device: is it the one that is meant? ------------------------------------------------- */

/* Two texts that are both known, and not the same. */
static bool differ(const char *left, const char *right)
{
	return left && right && left[0] && right[0] && strcmp(left, right) != 0;
}

/* Passthrough drivers: no function is released to them. */
static bool is_placeholder(const char *driver, const char *passthrough)
{
	return strcmp(driver, passthrough) == 0 || strcmp(driver, "vfio-pci") == 0 ||
	       strcmp(driver, "pci-stub") == 0;
}

/* A record without useful content counts as none, but is removed with the others. */
static int read_record(struct transition *t, struct transition_part *part)
{
	struct err err = { 0 };
	int r;

	if (t->run.state_fd < 0)
		return 0;
	r = record_read(&device_records, t->run.state_fd, part->word->address, &part->record, &err);
	part->recorded = r == 0;
	part->has_file = r == 0 || (r < 0 && err.kind == ERR_INVALID);
	if (r < 0 && err.kind != ERR_INVALID)
		return run_stop_state(&t->run, &err);
	return 0;
}

/* The native driver from the record or else from the caller; without both, the current driver. If a
 * function without a native driver is on a passthrough driver, something else bound it before
 * us. */
static const char *find_native(const struct transition_part *part, const char *passthrough)
{
	const char *native = part->recorded ? part->record.native : part->word->native;
	const char *driver = part->first.driver;

	if (native && !is_placeholder(native, passthrough))
		return native;
	return driver[0] && !is_placeholder(driver, passthrough) ? driver : native;
}

/* Had it the override before the first record? Then it is not ours to clear. */
static bool is_overridden(const struct transition_part *part, const struct bind_target *target)
{
	const char *before = part->recorded ? part->record.override : part->first.override;

	return before && strcmp(before, target->driver) == 0;
}

/* A passthrough driver that it had before the claim reads nothing of what is on it, so it may go
 * back. */
static bool stays_without_driver(const struct transition_part *part,
				 const struct bind_target *target)
{
	bool asked = part->word->release || (part->recorded && part->record.release);

	return asked && !(target->native && is_placeholder(target->native, target->driver));
}

/* A record that names a native driver does not show what bound the function: the driver keeps
 * it. */
static bool is_hosts(const struct transition *t, const struct transition_part *part)
{
	const char *driver = part->first.driver;

	return driver[0] && strcmp(driver, part->target.driver) == 0 &&
	       !bind_driver_is_for_programs(t->options->sysfs_fd, part->word->address, driver);
}

static void aim(const struct transition *t, struct transition_part *part, bool binding)
{
	struct bind_target *target = &part->target;

	target->address = part->word->address;
	target->driver = part->word->driver;
	if (!binding && part->recorded)
		target->driver = part->record.driver;
	target->native = find_native(part, target->driver);
	target->recorded = part->recorded;
	target->overridden = (binding || part->recorded) && is_overridden(part, target);
	target->want = binding ? WANT_VFIO : bind_step_back(target);
	if (!binding && stays_without_driver(part, target))
		target->want = WANT_NONE;
	if (binding || !is_hosts(t, part))
		return;
	target->want = WANT_PASSTHROUGH;
	target->overridden = true;
}

/* With equal serial numbers it is the device, wherever it is now. */
static bool is_other_identity(const char *known, struct transition_part *part)
{
	const char *serial =
		part->recorded && part->record.serial ? part->record.serial : part->word->serial;

	return !(serial && strcmp(serial, part->serial) == 0) &&
	       device_identity_compare(known, str_cstr(&part->identity)) == DEVICE_IDENTITY_OTHER;
}

/* Return what distinguishes the present device from the expected one; NULL: nothing. */
static const char *other_than_meant(struct transition_part *part, const char **ret_known)
{
	const struct device_record *record = part->recorded ? &part->record : NULL;

	*ret_known = part->word->id;
	if (differ(part->word->id, part->first.id))
		return part->first.id;
	*ret_known = part->word->serial;
	if (differ(part->word->serial, part->serial))
		return part->serial;
	*ret_known = record ? record->id : NULL;
	if (record && differ(record->id, part->first.id))
		return part->first.id;
	*ret_known = record ? record->serial : NULL;
	if (record && differ(record->serial, part->serial))
		return part->serial;
	*ret_known = part->word->identity;
	if (is_other_identity(part->word->identity, part))
		return str_cstr(&part->identity);
	*ret_known = record ? record->identity : NULL;
	if (record && is_other_identity(record->identity, part))
		return str_cstr(&part->identity);
	return NULL;
}

static int check_group(struct transition *t, const struct transition_part *part)
{
	uint64_t group;

	if (part->first.group < 0)
		return run_stop(&t->run, REASON_NO_IOMMU_BACKEND, 0,
				"%s has no IOMMU group; is the IOMMU switched on, in the "
				"firmware and on the kernel's command line?",
				t->run.about);
	if (str_to_u64(t->job->group, &group) && group == (uint64_t)part->first.group)
		return 0;
	return run_stop(&t->run, REASON_DIFFERENT_DEVICE, 0,
			"%s is in IOMMU group %d now, not %s; the group is planned again",
			t->run.about, part->first.group, t->job->group);
}

/* Nothing of ours is there: a release has nothing to restore, and a bind is refused. */
static int check_identity(struct transition *t, struct transition_part *part, bool binding)
{
	const char *known = NULL;
	const char *other = part->first.present ? other_than_meant(part, &known) : NULL;

	part->replaced = !part->first.present || other;
	if (!binding)
		return 0;
	if (!part->first.present)
		return run_stop(&t->run, REASON_DEVICE_GONE, 0, "there is no PCI function %s",
				t->run.about);
	if (other)
		return run_stop(&t->run, REASON_DIFFERENT_DEVICE, 0,
				"%s is another device: '%s' instead of '%s'", t->run.about, other,
				known);
	return check_group(t, part);
}

static int check_function(struct transition *t, struct transition_part *part, bool binding)
{
	struct err err = { 0 };
	enum bind_act act;

	t->run.about = part->word->address;
	t->run.step = STEP_NONE;
	if (read_record(t, part) < 0)
		return RUN_STOPPED;
	/* What cannot be read is neither gone nor without a driver. */
	if (bind_state_read(t->options->sysfs_fd, t->run.about, &part->first, &err) < 0)
		return run_stop(&t->run, REASON_USE_UNKNOWN, err.code, "%s", err.msg);
	if (part->first.present) {
		bind_read_serial(t->options->sysfs_fd, t->run.about, part->serial);
		pci_identity_read_at(t->options->sysfs_fd, t->run.about, &part->identity);
	}
	/* This process may lack the memory or descriptors to read what distinguishes it. */
	if (sysfs_shortage() < 0)
		return run_stop(&t->run, REASON_USE_UNKNOWN, sysfs_shortage(),
				"%s cannot be read: %s", t->run.about, strerror(-sysfs_shortage()));
	part->seen = part->first;
	aim(t, part, binding);
	if (check_identity(t, part, binding) < 0)
		return RUN_STOPPED;
	if (part->replaced)
		return 0;
	act = bind_step_next(&part->target, &part->first);
	part->moving = act != ACT_DONE;
	if (act != ACT_REFUSE)
		return 0;
	return run_stop(
		&t->run, REASON_OVERRIDE_OWNED, 0,
		"the driver_override of %s is '%s', which hostdev did not set; clear it, or leave "
		"the device to whoever set it",
		t->run.about, part->first.override);
}

int transition_check(struct transition *t, bool binding)
{
	for (size_t i = 0; i < t->job->len; i++)
		t->parts[i].word = &t->job->items[i];
	for (size_t i = 0; i < t->job->len; i++) {
		if (check_function(t, &t->parts[i], binding) < 0)
			return RUN_STOPPED;
	}
	return 0;
}

static struct transition_part *find_part(const struct transition *t, const char *address)
{
	for (size_t i = 0; i < t->job->len; i++) {
		if (strcmp(t->parts[i].word->address, address) == 0)
			return &t->parts[i];
	}
	return NULL;
}

int transition_check_members(struct transition *t, bool after)
{
	auto_members struct bind_members members = { 0 };
	struct err err = { 0 };
	int group = t->parts[0].first.group;

	if (bind_members_read(t->options->sysfs_fd, group, &members, &err) < 0)
		return run_stop(&t->run, REASON_GROUP_NOT_VIABLE, err.code, "%s", err.msg);
	for (size_t i = 0; i < members.len; i++) {
		const struct bind_member *member = &members.items[i];
		const struct transition_part *part = find_part(t, member->name);

		if (!bind_member_blocks(member) || (part && !after) ||
		    (part && strcmp(part->target.driver, member->driver) == 0))
			continue;
		t->run.about = t->parts[0].word->address;
		return run_stop(&t->run, REASON_GROUP_NOT_VIABLE, 0,
				"%s, in the same IOMMU group, is bound to %s", member->name,
				member->driver);
	}
	return 0;
}

bool transition_may_be_held(const struct transition_part *part, bool binding)
{
	enum bind_driver driver;

	if (!part->moving || part->replaced)
		return false;
	driver = bind_step_driver(&part->target, &part->first);
	if (binding)
		return driver != DRIVER_VFIO;
	return driver == DRIVER_VFIO || driver == DRIVER_NONE;
}

/* Is there a node that a process could have open? If not, the search for holders is skipped. A
 * function without a driver may be just about to lose it, so it counts as one with a node. */
static bool can_be_open(const struct transition *t, const struct job *taken, const char *group)
{
	for (size_t i = 0; i < taken->len; i++) {
		const char *address = taken->items[i].address;

		if (!find_part(t, address)->first.driver[0] ||
		    nodes_below(t->options->sysfs_fd, address) ||
		    nvidia_node_minor(t->options->sysfs_fd, t->options->proc_fd, address) !=
			    NVIDIA_NODE_NONE)
			return true;
	}
	return nodes_of_group(t->options->sysfs_fd, t->options->dev_fd, group);
}

/* NVIDIA's driver never lets go of a card that a process has open: the unbind would not end. */
static int check_hidden(struct transition *t, const struct job *taken)
{
	for (size_t i = 0; i < taken->len; i++) {
		const struct job_function *word = &taken->items[i];
		const struct transition_part *part = find_part(t, word->address);

		if (!part || word->allow_unknown || strcmp(part->first.driver, "nvidia") != 0)
			continue;
		t->run.about = word->address;
		return run_stop(&t->run, REASON_USE_UNKNOWN, 0,
				"the agent cannot see whether a process uses %s: the agent "
				"needs the capability SYS_PTRACE to see what processes have open",
				word->address);
	}
	return 0;
}

static int check_processes(struct transition *t, const struct job *taken, bool binding)
{
	auto_holders struct holders holders = { 0 };
	auto_free char *group = xasprintf("%d", t->parts[0].first.group);
	struct holders_query query = {
		.sysfs_fd = t->options->sysfs_fd,
		.proc_fd = t->options->proc_fd,
		.dev_fd = t->options->dev_fd,
		.group = t->parts[0].first.group < 0 ? t->job->group : group,
		.confirm_by_open = !binding,
	};

	/* One call instead of a walk through all processes. A process that opens the group only now
	 * is too late in any case. */
	if (!binding && bind_group_is_free(t->options->dev_fd, t->parts[0].first.group))
		return 0;
	if (binding && !can_be_open(t, taken, query.group))
		return 0;
	holders_find(&query, taken, &holders);
	if (holders.len == 0)
		return binding && holders.hidden ? check_hidden(t, taken) : 0;
	run_report_holders(&t->run, &holders);
	if (holders.len == 1)
		return run_stop(&t->run, REASON_HELD, 0, "%s", holders.items[0].detail);
	return run_stop(&t->run, REASON_HELD, 0, "%s, and %zu more", holders.items[0].detail,
			holders.len - 1);
}

/* --- the host: does it use the device itself? ------------------------------------------------- */

static int stop_unknown(struct transition *t, const char *address, int code, const char *why)
{
	t->run.about = address;
	return run_stop(&t->run, REASON_USE_UNKNOWN, code,
			"the agent cannot see whether the host uses %s: %s", address, why);
}

/* Unbinding the driver removes the virtual functions, even if they are in use. */
static int check_virtual(struct transition *t, const struct job *taken)
{
	for (size_t i = 0; i < taken->len; i++) {
		const char *address = taken->items[i].address;
		auto_free char *path = xasprintf("bus/pci/devices/%s/virtfn0", address);
		char target[SYSFS_LINK_MAX + 1];
		struct err err = { 0 };
		int r = sysfs_link(t->options->sysfs_fd, path, target, &err);

		if (r == SYSFS_ABSENT)
			continue;
		if (r < 0)
			return stop_unknown(t, address, r, err.msg);
		t->run.about = address;
		return run_stop(&t->run, REASON_IN_USE, 0,
				"%s has virtual functions; claim those, or remove them "
				"(write 0 to its sriov_numvfs)",
				address);
	}
	return 0;
}

/* Unbinding the driver removes the mediated devices and waits until their users have closed
 * them. */
static int check_mediated(struct transition *t, const struct job *taken)
{
	for (size_t i = 0; i < taken->len; i++) {
		const char *address = taken->items[i].address;
		struct err err = { 0 };
		int r = mdev_below(t->options->sysfs_fd, address, &err);

		if (r < 0)
			return stop_unknown(t, address, r, err.msg);
		if (r == 0)
			continue;
		t->run.about = address;
		return run_stop(&t->run, REASON_IN_USE, 0,
				"%s has mediated devices; remove them first", address);
	}
	return 0;
}

/* The host cannot use a function without a driver. */
static bool has_driver(const struct transition *t, const char *address)
{
	return find_part(t, address)->first.driver[0] != '\0';
}

static int check_use(struct transition *t, const struct use *use)
{
	const struct transition_part *part = find_part(t, use->device.pci);

	if (!part || !transition_may_be_held(part, true))
		return 0;
	if (!part->first.driver[0] && use->reason != USE_UNKNOWN)
		return 0; /* the host cannot use it */
	if (use->reason == USE_UNKNOWN)
		return part->word->allow_unknown
			       ? 0
			       : stop_unknown(t, part->word->address, 0, use->detail);
	t->run.about = part->word->address;
	return run_stop(&t->run, REASON_IN_USE, 0, "%s is in use by the host: %s", t->run.about,
			use->detail);
}

static int check_unknown(struct transition *t, const struct uses *uses,
			 const struct pci_functions *functions, const struct job *taken)
{
	for (size_t i = 0; i < taken->len; i++) {
		const struct pci_function *function = &functions->items[i];
		auto_free char *unseen = use_network_unseen(t->options->sysfs_fd, function);
		const char *why = uses_unknown_for(uses, function->class_id);

		why = why ? why : unseen;
		if (!why || taken->items[i].allow_unknown ||
		    !has_driver(t, taken->items[i].address))
			continue;
		return stop_unknown(t, taken->items[i].address, 0, why);
	}
	return 0;
}

static int check_uses(struct transition *t, const struct job *taken)
{
	const struct scan_options options = {
		.sysfs_fd = t->options->sysfs_fd,
		.proc_fd = t->options->proc_fd,
		.dev_fd = t->options->dev_fd,
		.state_fd = -1,
		.node_address = t->options->node_address,
	};
	struct pci_functions functions = { 0 };
	struct report report = { 0 };
	struct uses uses = { 0 };
	int r = 0;

	for (size_t i = 0; i < taken->len; i++)
		use_add_function(t->options->sysfs_fd, taken->items[i].address, &functions);
	for (size_t i = 0; i < taken->len; i++) {
		if (!taken->items[i].allow_unknown &&
		    !use_network_await(options.sysfs_fd, &functions.items[i]))
			break;
	}
	use_collect(&options, &functions, &report, &uses);
	for (size_t i = 0; i < uses.len && r == 0; i++)
		r = check_use(t, &uses.items[i]);
	if (r == 0)
		r = check_unknown(t, &uses, &functions, taken);
	uses_done(&uses);
	pci_functions_done(&functions);
	report_done(&report);
	return r;
}

/* --- disks ------------------------------------------------------------------------------------ */

/* The function of @taken that @block is a disk of, or a path to a disk; NULL if there is none. */
static struct transition_part *part_of_disk(const struct transition *t, const struct job *taken,
					    const struct blocks *blocks, size_t block)
{
	struct transition_part *found = NULL;
	struct devpaths devices = { 0 };

	blocks_devices(blocks, block, &devices);
	for (size_t i = 0; i < devices.len && !found; i++) {
		for (size_t k = 0; k < taken->len && !found; k++) {
			if (strcmp(taken->items[k].address, devices.items[i].pci) == 0)
				found = find_part(t, devices.items[i].pci);
		}
	}
	array_done(&devices);
	return found;
}

/* The node below /dev; or the negative errno. One of another number would be another disk's. */
static int open_disk(const struct transition *t, const struct blocks *blocks, size_t block)
{
	auto_free char *name = xstrdup(blocks_name(blocks, block));
	const struct kernel *kernel = t->options->kernel;
	dev_t number = 0;
	unsigned major;
	unsigned minor;
	int fd;

	/* sysfs has "!" for the slash in names such as cciss/c0d0. */
	for (char *c = name; *c; c++)
		*c = *c == '!' ? '/' : *c;
	fd = kernel->open_disk(kernel->arg, t->options->dev_fd, name, &number);
	if (fd < 0)
		return fd;
	blocks_number(blocks, block, &major, &minor);
	if (number == makedev(major, minor))
		return fd;
	close(fd);
	return -ENXIO;
}

/*
 * The kernel returns EBUSY for a disk that a filesystem, ZFS, an array, a volume or a target has
 * claimed (bd_prepare_to_claim() of block/bdev.c), and refuses all of these while we hold the disk.
 */
static int take_disk(struct transition *t, struct transition_part *part,
		     const struct blocks *blocks, size_t block)
{
	const char *name = blocks_name(blocks, block);
	int fd = open_disk(t, blocks, block);

	if (fd >= 0) {
		*array_add(&part->disks) = fd;
		return 0;
	}
	t->run.about = part->word->address;
	if (fd == -EBUSY)
		return run_stop(&t->run, REASON_IN_USE, -EBUSY,
				"%s is in use by the host: the kernel uses the disk %s, for a file "
				"system, ZFS, a RAID, a volume or a target",
				t->run.about, name);
	if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM)
		return stop_unknown(t, t->run.about, fd, strerror(-fd));
	/* No such node, no medium, or no permission: an unprivileged pod may open no disk. The
	 * facts of the scan were checked before. */
	return 0;
}

static int take_disks(struct transition *t, const struct job *taken)
{
	struct blocks *blocks;
	int r = 0;

	if (t->options->dev_fd < 0)
		return 0;
	blocks = blocks_new(t->options->sysfs_fd);
	for (size_t i = 0; i < blocks_len(blocks) && r == 0; i++) {
		struct transition_part *part =
			blocks_is_partition(blocks, i) ? NULL : part_of_disk(t, taken, blocks, i);

		if (part && part->first.driver[0])
			r = take_disk(t, part, blocks, i);
	}
	blocks_free(blocks);
	return r;
}

void transition_drop_disks(struct transition_part *part)
{
	for (size_t i = 0; i < part->disks.len; i++)
		close(part->disks.items[i]);
	array_done(&part->disks);
}

static int check_host(struct transition *t, const struct job *taken, bool again)
{
	int r = check_virtual(t, taken);

	if (r == 0)
		r = check_mediated(t, taken);
	/* Open the disks first, so that nothing is mounted after the check. The kernel would not
	 * open disks twice that are open already. */
	if (r == 0 && !again)
		r = take_disks(t, taken);
	return r == 0 ? check_uses(t, taken) : r;
}

/* --- all of it -------------------------------------------------------------------------------- */

int transition_check_holders(struct transition *t, bool binding)
{
	struct job taken = { .group = t->job->group };
	int r = 0;

	for (size_t i = 0; i < t->job->len; i++) {
		if (transition_may_be_held(&t->parts[i], binding))
			*array_add(&taken) = t->job->items[i];
	}
	if (taken.len > 0) {
		run_step(&t->run, taken.items[0].address, STEP_CHECK_HOLDERS);
		r = check_processes(t, &taken, binding);
	}
	if (r == 0 && taken.len > 0 && binding)
		r = check_host(t, &taken, false);
	array_done(&taken);
	return r;
}

/*
 * Does the function have a driver that passes it to programs, so that the bind could take it from
 * one? True if the driver is not the claim's. If it is the claim's, another owner's program can
 * have the function only if the driver was there before the claim, as the native driver. Otherwise
 * one of our pods has it and keeps it, even if its record is lost.
 */
static bool is_bound_by_others(const struct transition *t, const struct transition_part *part)
{
	const struct job_function *word = part->word;
	const char *driver = part->first.driver;

	/* No program can open a function that is on pci-stub. */
	if (!driver[0] || strcmp(driver, "pci-stub") == 0 ||
	    !bind_driver_is_for_programs(t->options->sysfs_fd, word->address, driver))
		return false;
	if (strcmp(driver, word->driver) != 0)
		return true;
	return !part->recorded && word->native && strcmp(word->native, driver) == 0;
}

/* VFIO enables a function when a program opens it (vfio_pci_core_enable() in
 * drivers/vfio/pci/vfio_pci_core.c). An agent without capabilities sees nothing else of that
 * program. */
static int check_enabled(struct transition *t, const struct job_function *word)
{
	auto_free char *path = xasprintf("bus/pci/devices/%s/enable", word->address);
	const struct transition_part *part = find_part(t, word->address);
	struct sysfs_attr attr;
	int r = sysfs_read(t->options->sysfs_fd, path, &attr, NULL);

	if (word->allow_unknown || r == SYSFS_ABSENT || (r == 0 && strcmp(attr.text, "0") == 0))
		return 0;
	t->run.about = word->address;
	return run_stop(&t->run, REASON_USE_UNKNOWN, 0,
			"%s is on %s, and is enabled: a program may have it open", word->address,
			part->first.driver);
}

static int check_programs(struct transition *t, const struct job *taken)
{
	int r = check_processes(t, taken, false);

	for (size_t i = 0; i < taken->len && r == 0; i++)
		r = check_enabled(t, &taken->items[i]);
	return r;
}

int transition_check_foreign(struct transition *t)
{
	struct job taken = { .group = t->job->group };
	int r = 0;

	for (size_t i = 0; i < t->job->len; i++) {
		if (is_bound_by_others(t, &t->parts[i]))
			*array_add(&taken) = t->job->items[i];
	}
	if (taken.len > 0) {
		run_step(&t->run, taken.items[0].address, STEP_CHECK_HOLDERS);
		r = check_programs(t, &taken);
	}
	array_done(&taken);
	return r;
}

int transition_check_again(struct transition *t, const struct transition_part *part)
{
	bool binding = part->target.want == WANT_VFIO;
	struct job taken = { .group = t->job->group };
	int r;

	*array_add(&taken) = *part->word;
	t->run.step = STEP_CHECK_HOLDERS;
	r = check_processes(t, &taken, binding);
	if (r == 0 && binding)
		r = check_host(t, &taken, true);
	if (r == 0 && binding && is_bound_by_others(t, part))
		r = check_programs(t, &taken);
	array_done(&taken);
	return r;
}
