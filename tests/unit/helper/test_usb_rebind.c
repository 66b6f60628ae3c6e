/* usb-rebind on a tree, with a kernel that moves the link to the driver at each write; it can fail,
 * or do nothing. */
#include "agent/helper/usb/usb_rebind.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "agent/helper/frame/run.h"
#include "agent/helper/sys/kernel.h"
#include "base/err.h"
#include "base/str.h"
#include "fake/tree/scan_tree.h"

#define DEVICE    "sys/bus/usb/devices/1-2/"
#define STICK     DEVICE "busnum=1\n", DEVICE "devnum=5\n", DEVICE "maxchild=0\n"
#define BOUND     DEVICE "driver->../../../../bus/usb/drivers/usb"
#define DISK      "devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2:1.0/host6/block/sdb"
#define WITH_DISK "sys/class/block/sdb->../../" DISK, "sys/" DISK "/dev=8:16\n"
#define MOUNTED \
	"proc/1/mountinfo=20 1 0:20 / / rw - tmpfs tmpfs rw\n30 20 8:16 / /mnt rw - ext4 /dev/sdb rw\n"
#define WORDS      "port=1-2 bus=1 device=5"
#define STEP(step) "{'kind':'step','port':'1-2','step':'" step "'}\n"
#define CHECKED    STEP("WaitLock") STEP("CheckHolders")
#define DONE       "{'kind':'end','result':'Done'}\n"
#define ENDED(result, reason, rest) \
	"{'kind':'end','result':'" result "','reason':'" reason "','port':'1-2'," rest "}\n"

enum { NO_EFFECT = 1, ERROR_ONLY = 2, UNPLUGS = 3 };

struct machine {
	struct tree tree;
	struct str writes;
	int n;
	int fault_at; /* the write that fails; 0: none */
	int fault;    /* -errno, NO_EFFECT, ERROR_ONLY (it does what it should), or UNPLUGS */
};

/* clang-format off */
static struct rebind_case {
	const char *name;
	const char *entries[12];
	const char *words;
	int fault_at;
	int fault;
	const char *writes;
	const char *says;
} cases[] = {
	{ "a device is unbound from its driver and bound again", { STICK, BOUND }, WORDS, 0, 0, "unbind usb|probe|",
	  CHECKED STEP("Unbind") STEP("Probe") DONE },
	{ "a disk that is not mounted, too", { STICK, BOUND, WITH_DISK }, WORDS, 0, 0, "unbind usb|probe|",
	  CHECKED STEP("Unbind") STEP("Probe") DONE },
	{ "a driver that the kernel prefers for it is the one that is written to",
	  { STICK, DEVICE "driver->../../../../bus/usb/drivers/apple-mfi-fastcharge" }, WORDS, 0, 0,
	  "unbind apple-mfi-fastcharge|probe|", CHECKED STEP("Unbind") STEP("Probe") DONE },
	{ "one without a driver gets it first: a run was cut off", { STICK }, WORDS, 0, 0, "probe|unbind usb|probe|",
	  CHECKED STEP("Probe") STEP("Unbind") STEP("Probe") DONE },
	{ "an empty port is nothing to do", { "sys/bus/usb/devices/" }, WORDS, 0, 0, "", STEP("WaitLock") DONE },
	{ "a device of another number has no old descriptors", { STICK, BOUND }, "port=1-2 bus=1 device=6", 0, 0, "",
	  STEP("WaitLock") DONE },
	{ "nor has one on another bus", { STICK, BOUND }, "port=1-2 bus=2 device=5", 0, 0, "", STEP("WaitLock") DONE },
	{ "a number that cannot be read is not another one", { STICK, DEVICE "devnum=?\n", BOUND }, WORDS, 0, 0, "",
	  STEP("WaitLock") ENDED("Refused", "UseUnknown", "'step':'WaitLock','errno':'EINVAL','message':"
				 "'the device in port 1-2: devnum '?' is no number'") },
	{ "a hub is refused", { STICK, DEVICE "maxchild=4\n", BOUND }, WORDS, 0, 0, "",
	  STEP("WaitLock") ENDED("Refused", "InUse", "'step':'WaitLock','message':"
				 "'the device in port 1-2 is a hub: other devices are behind it'") },
	{ "a mounted disk is not pulled away", { STICK, BOUND, WITH_DISK, MOUNTED }, WORDS, 0, 0, "",
	  CHECKED ENDED("Refused", "InUse", "'step':'CheckHolders','message':'the host uses it: sdb is mounted at /mnt'") },
	{ "nor by a claim that overrides what is unknown", { STICK, BOUND, WITH_DISK, MOUNTED }, WORDS " allow-unknown=1", 0, 0, "",
	  CHECKED ENDED("Refused", "InUse", "'step':'CheckHolders','message':'the host uses it: sdb is mounted at /mnt'") },
	{ "what is exported with USB/IP stays so", { STICK, DEVICE "driver->../../../../bus/usb/drivers/usbip-host" }, WORDS,
	  0, 0, "", CHECKED ENDED("Refused", "InUse", "'step':'CheckHolders','message':'the host exports it with USB/IP'") },
	{ "a kernel that refuses leaves the device as it was", { STICK, BOUND }, WORDS, 1, -EROFS, "unbind usb|",
	  CHECKED STEP("Unbind") ENDED("Failed", "UnbindFailed", "'step':'Unbind','errno':'EROFS','message':"
				      "'take the device in port 1-2 from the driver usb: Read-only file system'") },
	{ "a write without effect is no success", { STICK, BOUND }, WORDS, 1, NO_EFFECT, "unbind usb|",
	  CHECKED STEP("Unbind") ENDED("Failed", "UnbindFailed", "'step':'Unbind','message':'take the device in port 1-2 from the "
				      "driver usb: the kernel accepted the write, but the device has its driver'") },
	{ "an error with effect is no failure", { STICK, BOUND }, WORDS, 1, ERROR_ONLY, "unbind usb|probe|",
	  CHECKED STEP("Unbind") STEP("Probe") DONE },
	{ "the helper fails if the device does not come back", { STICK, BOUND }, WORDS, 2, -EIO, "unbind usb|probe|",
	  CHECKED STEP("Unbind") STEP("Probe") ENDED("Failed", "ProbeFailed", "'step':'Probe','errno':'EIO','message':"
		"'give the device in port 1-2 its driver back: Input/output error; plug it in again'") },
	{ "also if the kernel names no error", { STICK, BOUND }, WORDS, 2, NO_EFFECT, "unbind usb|probe|",
	  CHECKED STEP("Unbind") STEP("Probe") ENDED("Failed", "ProbeFailed", "'step':'Probe','message':"
		"'give the device in port 1-2 its driver back: no driver of the kernel takes it; plug it in again'") },
	{ "one that is unplugged meanwhile is done", { STICK, BOUND }, WORDS, 1, UNPLUGS, "unbind usb|probe|",
	  CHECKED STEP("Unbind") STEP("Probe") DONE },
};
/* clang-format on */

static void take_link(const struct machine *m)
{
	assert_int_equal(unlinkat(m->tree.fd, DEVICE "driver", 0), 0);
}

static void take_effect(struct machine *m, bool probes)
{
	if (!probes)
		take_link(m);
	else if (faccessat(m->tree.fd, DEVICE "busnum", F_OK, 0) == 0)
		tree_add(&m->tree, BOUND);
}

static int write_attribute(void *arg, int sysfs_fd, const char *path, const char *text)
{
	static const char drivers[] = "bus/usb/drivers/";
	struct machine *m = arg;
	bool probes = strcmp(path, "bus/usb/drivers_probe") == 0;
	bool faulty = ++m->n == m->fault_at;

	assert_true(sysfs_fd >= 0);
	assert_string_equal(text, "1-2");
	if (probes) {
		str_add(&m->writes, "probe|");
	} else {
		assert_memory_equal(path, drivers, sizeof(drivers) - 1);
		path += sizeof(drivers) - 1;
		assert_string_equal(strchr(path, '/'), "/unbind");
		str_addf(&m->writes, "unbind %.*s|", (int)strcspn(path, "/"), path);
	}
	if (!faulty || m->fault == ERROR_ONLY || m->fault == UNPLUGS)
		take_effect(m, probes);
	if (faulty && m->fault == UNPLUGS)
		assert_int_equal(unlinkat(m->tree.fd, DEVICE "busnum", 0), 0);
	if (!faulty || m->fault == NO_EFFECT || m->fault == UNPLUGS)
		return 0;
	return m->fault == ERROR_ONLY ? -EIO : m->fault;
}

static void machine_init(struct machine *m, const char *const *entries)
{
	static const char *const base[] = { SYS_LOOPBACK, PROC_OF_HOST, PROC_WHOLE, "dev/", NULL };

	*m = (struct machine){ 0 };
	tree_make(&m->tree, base);
	for (; *entries; entries++)
		tree_add(&m->tree, *entries);
}

static void machine_done(struct machine *m)
{
	tree_done(&m->tree);
	str_done(&m->writes);
}

static int parse(char *copy, struct usb_rebind_job *ret_job, struct err *err)
{
	char *words[8] = { NULL };
	char *rest = copy;

	for (size_t i = 0; i + 1 < ARRAY_LEN(words) && rest; i++)
		words[i] = strsep(&rest, " ");
	return usb_rebind_job_parse(words, ret_job, err);
}

/* What the verb says, with single quotes and without times. The caller frees. */
static char *machine_run(struct machine *m, const char *text)
{
	auto_free char *state_dir = xasprintf("%s/state", m->tree.root);
	auto_free char *copy = xstrdup(text);
	auto_close int sysfs_fd = tree_open(&m->tree, "sys");
	auto_close int proc_fd = tree_open(&m->tree, "proc");
	auto_close int dev_fd = tree_open(&m->tree, "dev");
	auto_close int out_fd =
		openat(m->tree.fd, "out", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct kernel kernel = { .write = write_attribute, .arg = m };
	struct run_options options = {
		sysfs_fd, proc_fd, dev_fd, state_dir, NULL, &kernel, out_fd
	};
	auto_free char *lines = xcalloc(1, 4096);
	struct usb_rebind_job job = { 0 };
	struct str out = STR_INIT;
	struct err err = { 0 };
	char *times;

	assert_int_equal(parse(copy, &job, &err), 0);
	assert_int_equal(usb_rebind(&options, &job, &err), 0);
	assert_true(pread(out_fd, lines, 4095, 0) > 0);
	times = strstr(lines, ",\"micros\"");
	assert_non_null(times);
	*times = '\0';
	str_addf(&out, "%s}\n", lines);
	single_quotes(&out);
	return str_detach(&out);
}

static void rebind_matches_table(void **state)
{
	const struct rebind_case *row = *state;
	auto_free char *lines = NULL;
	struct machine m;

	machine_init(&m, row->entries);
	m.fault_at = row->fault_at;
	m.fault = row->fault;
	lines = machine_run(&m, row->words);
	assert_string_equal(lines, row->says);
	assert_string_equal(str_cstr(&m.writes), row->writes);
	machine_done(&m);
}

static void only_one_works_on_a_port(void **state)
{
	static const char *const entries[] = { STICK, BOUND, "state/usb-1-2.lock=77\n", NULL };
	auto_free char *lines = NULL;
	auto_close int fd = -1;
	struct machine m;

	(void)state;
	machine_init(&m, entries);
	fd = openat(m.tree.fd, "state/usb-1-2.lock", O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	lines = machine_run(&m, WORDS);
	assert_string_equal(lines,
			    STEP("WaitLock") ENDED("Busy", "Busy",
						   "'step':'WaitLock','pid':77,'message':"
						   "'another hostdev-helper works on port 1-2'"));
	assert_string_equal(str_cstr(&m.writes), "");
	machine_done(&m);
}

static struct words_case {
	const char *name;
	const char *words;
	const char *message;
} bad[] = {
	/* clang-format off */
	{ "an interface is no device", "port=1-2:1.0 bus=1 device=5", "word 'port=1-2:1.0': 'port' must be a USB port such as 1-2.3" },
	{ "a path is no port", "port=../1-2 bus=1 device=5", "word 'port=../1-2': 'port' must be a USB port such as 1-2.3" },
	{ "the number is needed", "port=1-2 bus=1", "a word 'device=' is needed" },
	{ "one is the only consent", WORDS " allow-unknown=0", "word 'allow-unknown=0': 'allow-unknown' must be 1" },
	/* clang-format on */
};

static void bad_words_are_named(void **state)
{
	const struct words_case *row = *state;
	auto_free char *copy = xstrdup(row->words);
	struct usb_rebind_job job = { 0 };
	struct err err = { 0 };

	assert_int_equal(parse(copy, &job, &err), -EINVAL);
	assert_string_equal(err.msg, row->message);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, rebind_matches_table);
	suite_rows(&suite, bad, bad_words_are_named);
	suite_add(&suite, "only one works on a port", only_one_works_on_a_port, NULL);
	return suite_run(&suite, "usb_rebind");
}
