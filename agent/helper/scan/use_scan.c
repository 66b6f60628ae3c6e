#include "agent/helper/scan/use_scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/helper/scan/block.h"
#include "agent/helper/scan/netlinks.h"
#include "agent/helper/scan/pci_scan.h"
#include "agent/helper/scan/scan.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/sys/sysfs.h"
#include "base/array.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

enum { PROC_FILE_MAX = 16 << 20, NET_DEV_TRIES = 5, NET_DEV_PAUSE_NS = 20000000 };

/*
 * Return the text of the file @path below /proc, NULL if it cannot be read: then @question has no
 * answer, unless the file is @optional and the kernel has none.
 *
 * Process 1 is the host's, seen from the host's process namespace or through a mounted /proc of it.
 * Its mounts and routes can be read without a capability, but the process can be hidden (mount
 * option hidepid, proc(5)). No other process can replace it: the helper's own mounts and routes are
 * those of its pod.
 */
static char *read_proc(struct use_scanner *scanner, const char *path, enum use_question question,
		       bool optional, size_t *ret_len)
{
	struct err err = { 0 };
	char *text = NULL;

	*ret_len = 0;
	if (scanner->proc_fd < 0)
		uses_add_unknown(&scanner->uses, question,
				 xstrdup("there is no proc tree of the host"));
	else if (file_read(scanner->proc_fd, path, PROC_FILE_MAX, &text, ret_len, &err) == 0)
		return text;
	else if (strncmp(path, "1/", 2) == 0 && faccessat(scanner->proc_fd, "1", F_OK, 0) != 0)
		uses_add_unknown(
			&scanner->uses, question,
			xstrdup("process 1 is not to be seen in the proc tree: it is hidden "
				"by the mount option hidepid, or this is not the host's"));
	else if (!optional || err.code != -ENOENT)
		uses_add_unknown(&scanner->uses, question,
				 xasprintf("in the proc tree: %s", err.msg));
	else
		use_check_proc(scanner, question);
	return NULL;
}

/* Every kernel has this one. The mount option subset=pid leaves the processes and nothing
 * besides. */
void use_check_proc(struct use_scanner *scanner, enum use_question question)
{
	if (faccessat(scanner->proc_fd, "meminfo", F_OK, 0) != 0)
		uses_add_unknown(
			&scanner->uses, question,
			xasprintf("the proc tree is not whole, meminfo cannot be opened (%s): "
				  "it is mounted with subset=pid, or is not the kernel's",
				  strerror(errno)));
}

static void add_bad_lines(struct use_scanner *scanner, enum use_question question, const char *file,
			  size_t bad)
{
	if (bad > 0)
		uses_add_unknown(&scanner->uses, question,
				 xasprintf("%zu line%s of %s %s another form than expected", bad,
					   bad == 1 ? "" : "s", file, bad == 1 ? "has" : "have"));
}

static void read_mounts(struct use_scanner *scanner)
{
	size_t len;
	auto_free char *text = read_proc(scanner, "1/mountinfo", USE_ASK_MOUNTS, false, &len);

	if (!text)
		return;
	add_bad_lines(scanner, USE_ASK_MOUNTS, "mountinfo",
		      mounts_parse(text, len, &scanner->mounts));
	if (scanner->mounts.len == 0)
		uses_add_unknown(&scanner->uses, USE_ASK_MOUNTS,
				 xstrdup("process 1 has no mounts"));
}

static void read_swaps(struct use_scanner *scanner)
{
	size_t len;
	/* A kernel without swap has no such file. */
	auto_free char *text = read_proc(scanner, "swaps", USE_ASK_SWAPS, true, &len);

	if (text)
		add_bad_lines(scanner, USE_ASK_SWAPS, "swaps",
			      swaps_parse(text, len, &scanner->swaps));
}

static void read_routes(struct use_scanner *scanner)
{
	size_t len_v4;
	size_t len_v6;
	size_t len_trie;
	auto_free char *v4 = read_proc(scanner, "1/net/route", USE_ASK_ROUTES, false, &len_v4);
	auto_free char *v6 = read_proc(scanner, "1/net/ipv6_route", USE_ASK_ROUTES, true, &len_v6);
	auto_free char *trie =
		read_proc(scanner, "1/net/fib_trie", USE_ASK_ROUTES, true, &len_trie);

	if (v4)
		add_bad_lines(scanner, USE_ASK_ROUTES, "net/route",
			      routes_parse_v4(v4, len_v4, &scanner->routes));
	if (v6)
		add_bad_lines(scanner, USE_ASK_ROUTES, "net/ipv6_route",
			      routes_parse_v6(v6, len_v6, &scanner->routes));
	if (trie)
		scanner->other_default = routes_other_default(trie, len_trie);
}

/* Is the interface @name in the text of /proc/net/dev? */
static bool has_interface(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += strspn(line, " \n");
		if (strncmp(line, name, len) == 0 && line[len] == ':')
			return true;
	}
	return false;
}

/* An interface of hardware in /sys that @text, process 1's /proc/net/dev, does not name; NULL if it
 * names all that are still there. */
static const char *missing_interface(const struct use_scanner *scanner, const char *text)
{
	for (size_t i = 0; i < netlinks_len(scanner->links); i++) {
		const char *name = netlinks_name(scanner->links, i);
		auto_free char *path = xasprintf("class/net/%s/flags", name);
		struct sysfs_attr flags;

		if (!has_interface(text, name) &&
		    sysfs_read_interface(scanner->sysfs_fd, path, &flags, NULL) != SYSFS_ABSENT)
			return name;
	}
	return NULL;
}

/*
 * Interfaces of hardware in /sys that process 1 does not have: the proc tree is another's, such as
 * that of the pod itself, and nothing in it is about the host. A new interface is in /sys a moment
 * before it is in the list (register_netdevice() of net/core/dev.c), so the list is read again.
 */
static void check_namespace(struct use_scanner *scanner)
{
	const struct timespec pause = { 0, NET_DEV_PAUSE_NS };
	const char *missing = NULL;

	for (int i = 0; i < NET_DEV_TRIES; i++) {
		size_t len;
		auto_free char *text = read_proc(scanner, "1/net/dev", USE_ASK_ROUTES, true, &len);

		missing = text ? missing_interface(scanner, text) : NULL;
		if (!missing)
			return;
		(void)nanosleep(&pause, NULL);
	}
	uses_add_unknown(&scanner->uses, USE_ASK_MOUNTS,
			 xasprintf("process 1 of the proc tree does not have the interface %s: it "
				   "is not the host's",
				   missing));
}

/* The host may use what has any driver. */
static void collect_unread_drivers(struct use_scanner *scanner,
				   const struct pci_functions *functions)
{
	for (size_t i = 0; i < functions->len; i++) {
		struct devpath device = { "", "" };

		if (!functions->items[i].driver_unread)
			continue;
		memcpy(device.pci, functions->items[i].address, sizeof(device.pci));
		uses_add(&scanner->uses, &device, USE_UNKNOWN, "driver",
			 xstrdup("its driver cannot be read"));
	}
}

/* What the host does with a disk of the function @address, or why that is not known; NULL:
 * nothing. */
static const char *find_disk_use(const struct use_scanner *scanner, const char *address,
				 int class_id)
{
	for (size_t i = 0; i < scanner->uses.len; i++) {
		if (strcmp(scanner->uses.items[i].device.pci, address) == 0)
			return scanner->uses.items[i].detail;
	}
	return uses_unknown_for(&scanner->uses, class_id);
}

/*
 * A virtual function of a disk controller may reach the disks of its physical function: NVMe drives
 * share namespaces between them (NVM Express Base Specification, "Virtualization Enhancements").
 * While it has a driver, such a disk shows below it, too; without one nothing does.
 */
static void add_shared_disks(struct use_scanner *scanner, const struct pci_function *function)
{
	auto_free char *link = xasprintf("bus/pci/devices/%s/physfn", function->address);
	struct devpath device = { "", "" };
	char physical[SYSFS_LINK_MAX + 1];
	int r = sysfs_link(scanner->sysfs_fd, link, physical, NULL);
	const char *use =
		r == 0 ? find_disk_use(scanner, str_base_name(physical), function->class_id) : NULL;

	memcpy(device.pci, function->address, sizeof(device.pci));
	if (r < 0)
		uses_add(&scanner->uses, &device, USE_UNKNOWN, "physfn",
			 xstrdup("without a driver it does not show its disks, and whether it is a "
				 "virtual function cannot be read"));
	else if (use)
		uses_add(
			&scanner->uses, &device, USE_UNKNOWN, "physfn",
			xasprintf("without a driver it does not show its disks, which may be those "
				  "of its physical function %s: %s",
				  str_base_name(physical), use));
}

static void collect_shared_disks(struct use_scanner *scanner, const struct pci_functions *functions)
{
	enum { STORAGE = 0x01 };

	for (size_t i = 0; i < functions->len; i++) {
		const struct pci_function *function = &functions->items[i];

		if (!function->driver && function->class_id >> 16 == STORAGE)
			add_shared_disks(scanner, function);
	}
}

/*
 * Note that @device may be in use, if that is unknown for functions of the class @like, and @device
 * has another class for which nothing is unknown although the disk or interface @name is on it: not
 * every vendor uses the right class.
 */
static void add_oddity(struct use_scanner *scanner, const struct devpath *device, int like,
		       const char *name)
{
	auto_free char *path = xasprintf("bus/pci/devices/%s/class", device->pci);
	const char *why = uses_unknown_for(&scanner->uses, like);
	struct sysfs_attr attr;
	uint64_t class_id;

	if (!why || !device->pci[0] || sysfs_read(scanner->sysfs_fd, path, &attr, NULL) != 0 ||
	    !str_to_hex(attr.text, &class_id) || class_id > 0xffffff ||
	    uses_unknown_for(&scanner->uses, (int)class_id))
		return;
	uses_add(&scanner->uses, device, USE_UNKNOWN, name,
		 xasprintf("%s is on it, and %s", name, why));
}

static void collect_oddities(struct use_scanner *scanner)
{
	enum { SCSI = 0x010000, ETHERNET = 0x020000 };

	for (size_t i = 0; i < blocks_len(scanner->blocks); i++) {
		struct devpaths devices = { 0 };

		blocks_devices(scanner->blocks, i, &devices);
		for (size_t k = 0; k < devices.len; k++)
			add_oddity(scanner, &devices.items[k], SCSI,
				   blocks_name(scanner->blocks, i));
		array_done(&devices);
	}
	for (size_t i = 0; i < netlinks_len(scanner->links); i++)
		add_oddity(scanner, netlinks_device(scanner->links, i), ETHERNET,
			   netlinks_name(scanner->links, i));
}

void use_add_function(int sysfs_fd, const char *address, struct pci_functions *functions)
{
	auto_free char *class_path = xasprintf("bus/pci/devices/%s/class", address);
	auto_free char *driver_path = xasprintf("bus/pci/devices/%s/driver", address);
	auto_free char *vga_path = xasprintf("bus/pci/devices/%s/boot_vga", address);
	struct pci_function *function = array_add(functions);
	char driver[SYSFS_LINK_MAX + 1];
	struct sysfs_attr attr;
	uint64_t class_id;
	int r;

	pci_function_init(function, address);
	if (sysfs_read(sysfs_fd, class_path, &attr, NULL) == 0 &&
	    str_to_hex(attr.text, &class_id) && class_id <= 0xffffff)
		function->class_id = (int)class_id;
	r = sysfs_link(sysfs_fd, driver_path, driver, NULL);
	if (r == 0)
		function->driver = xstrdup(str_base_name(driver));
	function->driver_unread = r < 0;
	if (sysfs_read(sysfs_fd, vga_path, &attr, NULL) == 0 &&
	    (strcmp(attr.text, "0") == 0 || strcmp(attr.text, "1") == 0))
		function->boot_vga = attr.text[0] == '1';
}

/* The domain is the part before the bus. */
static bool is_same_domain(const char *address, const char *part, size_t len)
{
	size_t domain = strcspn(address, ":");

	return domain < len && strncmp(address, part, domain + 1) == 0;
}

/*
 * A function that is no bridge may have a PCI domain of its own behind it (Intel's VMD): without
 * it, what is used there is gone. The kernel puts both into one IOMMU group (pci_real_dma_dev() of
 * drivers/pci), but nothing here depends on that.
 */
static void add_carriers(struct use_scanner *scanner, const struct use use)
{
	auto_free char *link = xasprintf("bus/pci/devices/%s", use.device.pci);
	char target[SYSFS_LINK_MAX + 1];
	const char *path = target;
	const char *part;
	size_t len;

	if (!use.device.pci[0] || sysfs_link(scanner->sysfs_fd, link, target, NULL) != 0)
		return;
	while (devpath_next(&path, &part, &len)) {
		struct devpath carrier = { "", "" };

		if (!pci_address_valid(part, len) || is_same_domain(use.device.pci, part, len))
			continue;
		memcpy(carrier.pci, part, len);
		uses_add(&scanner->uses, &carrier, use.reason, use.subject, xstrdup(use.detail));
	}
}

/* What was read of /sys since sysfs_forget_failure() answers @question, or does not. */
static void check_reads(struct use_scanner *scanner, enum use_question question)
{
	const struct err *failure = sysfs_failure();

	if (failure->code < 0)
		uses_add_unknown(&scanner->uses, question, xasprintf("in /sys: %s", failure->msg));
	sysfs_forget_failure();
}

void use_collect(const struct scan_options *options, const struct pci_functions *functions,
		 struct report *report, struct uses *ret_uses)
{
	struct use_scanner scanner = {
		.sysfs_fd = options->sysfs_fd,
		.proc_fd = options->proc_fd,
		.dev_fd = options->dev_fd,
		.node_address = options->node_address,
		.report = report,
	};

	read_mounts(&scanner);
	read_swaps(&scanner);
	read_routes(&scanner);

	sysfs_forget_failure();
	scanner.links = netlinks_new(options->sysfs_fd);
	check_reads(&scanner, USE_ASK_INTERFACES);
	check_namespace(&scanner);
	scanner.blocks = blocks_new(options->sysfs_fd);
	use_storage_collect(&scanner);
	check_reads(&scanner, USE_ASK_DISKS);
	collect_shared_disks(&scanner, functions);
	check_reads(&scanner, USE_ASK_DISKS);
	use_network_collect(&scanner, functions);
	check_reads(&scanner, USE_ASK_INTERFACES);
	use_console_collect(&scanner, functions);
	check_reads(&scanner, USE_ASK_CONSOLE);
	collect_unread_drivers(&scanner, functions);
	collect_oddities(&scanner);
	for (size_t i = 0, len = scanner.uses.len; i < len; i++)
		add_carriers(&scanner, scanner.uses.items[i]);
	check_reads(&scanner, USE_ASK_DISKS);
	*ret_uses = scanner.uses;

	mounts_done(&scanner.mounts);
	mounts_done(&scanner.others);
	swaps_done(&scanner.swaps);
	routes_done(&scanner.routes);
	block_set_done(&scanner.mounted);
	block_set_done(&scanner.in_sight);
	block_set_done(&scanner.used);
	scanner.blocks = blocks_free(scanner.blocks);
	scanner.links = netlinks_free(scanner.links);
	free(scanner.other_default);
}

void use_scan(const struct scan_options *options, const struct pci_functions *functions,
	      struct report *report)
{
	struct uses uses = { 0 };

	use_collect(options, functions, report, &uses);
	uses_write(&uses, &report->lines);
	uses_done(&uses);
}
