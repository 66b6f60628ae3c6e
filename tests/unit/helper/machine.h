/*
 * machine: a tree with PCI functions in one IOMMU group, and a kernel that does to the tree what a
 * write to it would do; it can be told to fail, or to lose power, at any write.
 */
#pragma once

#include <endian.h>
#include <stdbool.h>
#include <sys/sysmacros.h>

#include "agent/helper/frame/run.h"
#include "agent/helper/sys/job.h"
#include "agent/helper/sys/kernel.h"
#include "agent/helper/transition/transition.h"
#include "base/err.h"
#include "base/str.h"
#include "fake/tree/scan_tree.h"

enum { MACHINE_NO_EFFECT = 1, MACHINE_ERROR_ONLY = 1000 };

struct machine {
	struct tree tree;
	struct kernel kernel;
	int writes;              /* so far                                                 */
	int fault_at;            /* the write that fails, 0: none                          */
	bool fault_stays;        /* ... and all that follow                                */
	int fault;               /* -errno, MACHINE_NO_EFFECT; or MACHINE_ERROR_ONLY: EIO,
				   though it does what it should                          */
	int crash_at;            /* the power goes before this write, 0: it does not       */
	bool vfio_refuses;       /* vfio-pci does not take what it is offered              */
	bool no_node;            /* no device node comes with it                           */
	bool grabs;              /* vfio-pci has a dynamic id for the functions            */
	bool records_come_first; /* every write is for a function that has a record       */
	const char *loads;       /* the driver that modprobe brings                        */
	const char *native;      /* the driver for these functions                         */
	int cancel_fd;           /* of the agent, -1: there is none                        */
	int disk_fault;          /* -errno of the open of a disk, 0: it is opened          */
	dev_t disk_number;       /* ... as this device                                     */
	const char *held;        /* at each write "1" or "0": is the disk held?            */
	struct {
		int at; /* after this write another program acts; 0: none         */
		const char *address;
		const char *driver; /* that has the function then; NULL: it is gone  */
		const char *entry;  /* NULL; or what comes into the tree instead     */
	} other;
};

static inline char *machine_path(const char *address, const char *name)
{
	return xasprintf("sys/bus/pci/devices/%s/%s", address, name);
}

static inline void machine_add_driver(struct machine *m, const char *driver)
{
	auto_free char *path = xasprintf("sys/bus/pci/drivers/%s/", driver);

	tree_add(&m->tree, path);
}

/* The function @address of group 12; no @driver: none. */
static inline void machine_add(struct machine *m, const char *address, const char *driver,
			       const char *override)
{
	static const char *const files[] = { "vendor=0x8086\n", "device=0x10d3\n",
					     "class=0x020000\n", "net/eth1/" };
	auto_free char *member = xasprintf("sys/kernel/iommu_groups/12/devices/%s->"
					   "../../../../bus/pci/devices/%s",
					   address, address);
	auto_free char *group = xasprintf("sys/bus/pci/devices/%s/iommu_group->"
					  "../../../../kernel/iommu_groups/12",
					  address);
	auto_free char *text = xasprintf("sys/bus/pci/devices/%s/driver_override=%s\n", address,
					 override ? override : "(null)");
	auto_free char *link = driver ? xasprintf("sys/bus/pci/devices/%s/driver->"
						  "../../drivers/%s",
						  address, driver)
				      : NULL;

	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		auto_free char *entry = machine_path(address, files[i]);

		tree_add(&m->tree, entry);
	}
	tree_add(&m->tree, text);
	if (link)
		tree_add(&m->tree, link);
	tree_add(&m->tree, member);
	tree_add(&m->tree, group);
}

/* Driver and override as "e1000e -": "-" is none. The caller frees. */
static inline char *machine_state(struct machine *m, const char *address)
{
	auto_free char *link = machine_path(address, "driver");
	auto_free char *file = machine_path(address, "driver_override");
	auto_close int fd = openat(m->tree.fd, file, O_RDONLY | O_CLOEXEC);
	char target[256];
	char override[64] = "(null)";
	ssize_t n = readlinkat(m->tree.fd, link, target, sizeof(target) - 1);

	target[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		assert_true(read(fd, override, sizeof(override) - 1) >= 0);
	override[strcspn(override, "\n")] = '\0';
	return xasprintf("%s %s", n > 0 ? strrchr(target, '/') + 1 : "-",
			 strcmp(override, "(null)") == 0 ? "-" : override);
}

static inline bool machine_has(struct machine *m, const char *path)
{
	return faccessat(m->tree.fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static inline bool machine_has_record(struct machine *m, const char *address)
{
	auto_free char *path = xasprintf("state/devices/%s.json", address);

	return machine_has(m, path);
}

/* As pci_device_can_probe(): an override lets a virtual function pass. */
static inline bool machine_can_probe(struct machine *m, const char *address, const char *override)
{
	auto_free char *file = machine_path(address, "physfn/sriov_drivers_autoprobe");
	auto_close int fd = openat(m->tree.fd, file, O_RDONLY | O_CLOEXEC);
	char text[2] = "1";

	if (fd >= 0)
		assert_true(read(fd, text, 1) == 1);
	return text[0] != '0' || strcmp(override, "-") != 0;
}

/* Is @driver there, and will it take the function? */
static inline bool machine_takes(struct machine *m, const char *address, const char *driver)
{
	auto_free char *path = xasprintf("sys/bus/pci/drivers/%s", driver);
	auto_free char *state = machine_state(m, address);
	const char *override = strchr(state, ' ') + 1;

	if (!machine_can_probe(m, address, override))
		return false;
	if (!machine_has(m, path) || (strcmp(driver, "vfio-pci") == 0 && m->vfio_refuses))
		return false;
	if (strcmp(override, "-") != 0)
		return strcmp(override, driver) == 0;
	return strcmp(driver, "vfio-pci") == 0 ? m->grabs
					       : m->native && strcmp(driver, m->native) == 0;
}

static inline void machine_link(struct machine *m, const char *address, const char *driver)
{
	auto_free char *entry =
		xasprintf("sys/bus/pci/devices/%s/driver->../../drivers/%s", address, driver);

	tree_add(&m->tree, entry);
	if (strcmp(driver, "vfio-pci") == 0 && !m->no_node)
		tree_add(&m->tree, "dev/vfio/12=");
}

static inline void machine_probe(struct machine *m, const char *address)
{
	const char *drivers[] = { "vfio-pci", m->native };

	for (size_t i = 0; i < ARRAY_LEN(drivers); i++) {
		if (!drivers[i] || !machine_takes(m, address, drivers[i]))
			continue;
		machine_link(m, address, drivers[i]);
		return;
	}
}

/* drivers/@driver/@verb: 0 or an errno as the kernel has it. */
static inline int machine_drive(struct machine *m, const char *driver, const char *verb,
				const char *address)
{
	auto_free char *link = machine_path(address, "driver");
	auto_free char *state = machine_state(m, address);
	size_t len = strcspn(state, " ");
	bool mine = strlen(driver) == len && strncmp(state, driver, len) == 0;

	if (strcmp(verb, "unbind") == 0)
		return mine ? unlinkat(m->tree.fd, link, 0) : -ENODEV;
	if (state[0] != '-')
		return -EBUSY;
	if (!machine_takes(m, address, driver))
		return -ENODEV;
	machine_link(m, address, driver);
	return 0;
}

static inline int machine_effect(struct machine *m, const char *path, const char *text)
{
	auto_free char *full = xasprintf("sys/%s", path);
	auto_free char *part = xstrdup(path);
	char *slash = strrchr(part, '/');
	char *driver;

	if (strcmp(path, "bus/pci/drivers_probe") == 0) {
		auto_free char *link = machine_path(text, "driver");

		if (!machine_has(m, link))
			machine_probe(m, text);
		return 0;
	}
	if (strcmp(slash + 1, "driver_override") == 0) {
		auto_free char *entry =
			xasprintf("%s=%s\n", full, text[0] == '\n' ? "(null)" : text);

		tree_add(&m->tree, entry);
		return 0;
	}
	*slash = '\0';
	driver = strrchr(part, '/') + 1;
	return machine_drive(m, driver, slash + 1, text);
}

/* Somebody else gives the function to another driver, pulls it out, or begins to use it. */
static inline void machine_interfere(struct machine *m)
{
	auto_free char *link = NULL;
	auto_free char *vendor = NULL;

	if (m->other.entry) {
		tree_add(&m->tree, m->other.entry);
		return;
	}
	link = machine_path(m->other.address, "driver");
	vendor = machine_path(m->other.address, "vendor");
	(void)unlinkat(m->tree.fd, link, 0);
	if (m->other.driver)
		machine_link(m, m->other.address, m->other.driver);
	else
		assert_int_equal(unlinkat(m->tree.fd, vendor, 0), 0);
}

/* The function @address gets a serial number, whose last four bytes are @low. */
static inline void machine_set_serial(struct machine *m, const char *address, uint32_t low)
{
	auto_free char *config = machine_path(address, "config");
	auto_free char *status = machine_path(address, "power/runtime_status=active\n");
	uint32_t space[1024] = { [64] = htole32(0x00010003), htole32(low), htole32(0x98abcdef) };

	tree_write(&m->tree, config, space, sizeof(space));
	tree_add(&m->tree, status);
}

/* The address that a write is about. The caller frees. */
static inline char *machine_address(const char *path, const char *text)
{
	static const char devices[] = "bus/pci/devices/";

	if (strncmp(path, devices, sizeof(devices) - 1) != 0)
		return xstrdup(text);
	path += sizeof(devices) - 1;
	return xstrndup(path, strcspn(path, "/"));
}

static inline int machine_answer(struct machine *m, int n, const char *path, const char *text)
{
	bool faulty = m->fault_at && (n == m->fault_at || (m->fault_stays && n > m->fault_at));

	if (!faulty)
		return machine_effect(m, path, text);
	if (m->fault == MACHINE_ERROR_ONLY)
		(void)machine_effect(m, path, text);
	if (m->fault == MACHINE_ERROR_ONLY)
		return -EIO;
	return m->fault == MACHINE_NO_EFFECT ? 0 : m->fault;
}

/* Has this process the node of the disk open? */
static inline bool machine_holds_disk(void)
{
	char path[64];
	char target[256];

	for (int fd = 3; fd < 64; fd++) {
		ssize_t n;

		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		if (strstr(target, "/dev/sda"))
			return true;
	}
	return false;
}

/* A file of the tree stands for the disk "sda"; as O_EXCL has it, one descriptor at a time. */
static inline int machine_open_disk(void *arg, int dev_fd, const char *name, dev_t *ret_number)
{
	struct machine *m = arg;
	int fd;

	assert_string_equal(name, "sda");
	if (m->disk_fault || machine_holds_disk())
		return m->disk_fault ? m->disk_fault : -EBUSY;
	fd = openat(dev_fd, name, O_RDONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	*ret_number = m->disk_number;
	return fd;
}

static inline int machine_write(void *arg, int sysfs_fd, const char *path, const char *text)
{
	struct machine *m = arg;
	auto_free char *address = machine_address(path, text);
	int n = ++m->writes;
	int r;

	assert_true(sysfs_fd >= 0);
	if (m->records_come_first)
		assert_true(machine_has_record(m, address));
	if (n == m->crash_at)
		_exit(0);
	if (m->held)
		assert_int_equal(machine_holds_disk(), m->held[n - 1] == '1');
	r = machine_answer(m, n, path, text);
	if (n == m->other.at)
		machine_interfere(m);
	return r;
}

/* A driver takes what waits for it as soon as it is there. */
static inline int machine_load(void *arg, const char *module, struct err *err)
{
	struct machine *m = arg;
	DIR *folder;
	struct dirent *entry;

	if (!m->loads || strcmp(m->loads, module) != 0)
		return err_set(err, ERR_RETRY, -ENOENT, "modprobe %s: not found", module);
	machine_add_driver(m, module);
	folder = fdopendir(openat(m->tree.fd, "sys/bus/pci/devices", O_RDONLY | O_DIRECTORY));
	assert_non_null(folder);
	while ((entry = readdir(folder))) {
		auto_free char *link = machine_path(entry->d_name, "driver");

		if (entry->d_name[0] != '.' && !machine_has(m, link) &&
		    machine_takes(m, entry->d_name, module))
			machine_link(m, entry->d_name, module);
	}
	closedir(folder);
	return 0;
}

static inline void machine_init(struct machine *m)
{
	static const char *const entries[] = {
		"sys/module/vfio_iommu_type1/",          SYS_LOOPBACK, PROC_OF_HOST, "dev/",
		"proc/sys/kernel/random/boot_id=b00t\n", PROC_WHOLE,   NULL
	};

	*m = (struct machine){ .native = "e1000e", .cancel_fd = -1 };
	m->kernel = (struct kernel){ machine_write, machine_load, machine_open_disk, m };
	tree_make(&m->tree, entries);
	machine_add_driver(m, "vfio-pci");
	machine_add_driver(m, "e1000e");
}

static inline void machine_done(struct machine *m)
{
	tree_done(&m->tree);
}

SUITE_FIXTURE(machine, struct machine, machine_init, machine_done);

/* Run @verb with the words @text (parted by blanks); what it says, with single quotes and without
 * times, is appended to @ret_lines. */
static inline void machine_run(struct machine *m, enum transition_verb verb, const char *text,
			       struct str *ret_lines)
{
	auto_free char *copy = xstrdup(text);
	auto_free char *state_dir = xasprintf("%s/state", m->tree.root);
	auto_close int sysfs_fd = tree_open(&m->tree, "sys");
	auto_close int proc_fd = tree_open(&m->tree, "proc");
	auto_close int dev_fd = tree_open(&m->tree, "dev");
	auto_close int out_fd =
		openat(m->tree.fd, "out", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct run_options options = { sysfs_fd, proc_fd,    dev_fd, state_dir,
				       NULL,     &m->kernel, out_fd };
	char *words[64] = { NULL };
	char *rest = copy;
	struct job job = { 0 };
	struct err err = { 0 };
	char *times;
	auto_free char *lines = xcalloc(1, 65536);

	for (size_t i = 0; i + 1 < ARRAY_LEN(words) && rest; i++)
		words[i] = strsep(&rest, " ");
	assert_int_equal(job_parse("12", words, &job, &err), 0);
	assert_int_equal(transition_run(verb, &options, m->cancel_fd, &job, &err), 0);
	job_done(&job);
	assert_true(pread(out_fd, lines, 65535, 0) > 0);
	times = strstr(lines, ",\"kernelMicros\"");
	assert_non_null(times);
	*times = '\0';
	str_addf(ret_lines, "%s}\n", lines);
	single_quotes(ret_lines);
}

/* The words of the function @address of the machine. */
#define MACHINE_WORDS(address, native) \
	"address=" address " id=8086:10d3" native " driver=vfio-pci claim=vm1-x uid=u1"
