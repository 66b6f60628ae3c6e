/* Processes of a made-up /proc whose descriptors are links to real device nodes: /dev/null is 1:3,
 * /dev/zero is 1:5, and the made-up /sys says what stands behind the numbers. */
#include "agent/helper/sys/holders.h"

#include <errno.h>
#include <linux/capability.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "agent/helper/sys/job.h"
#include "agent/helper/sys/sysfs.h"
#include "base/array.h"
#include "base/str.h"
#include "fake/tree/tree.h"
#include "unit/syscall_fails.h"

#define F0 "0000:01:00.0"
#define F1 "0000:01:00.1"

#define NULL_IS(path) "sys/dev/char/1:3->../../devices/" path
#define ZERO_IS(path) "sys/dev/char/1:5->../../devices/" path
#define PCI(address)  "pci0000:00/0000:00:01.0/" address
#define GROUP(n)      "virtual/vfio/" n

#define PROCESS(pid, command) "proc/" pid "/comm=" command "\n"
#define OPEN(pid, fd, target) "proc/" pid "/fd/" fd "->" target
#define UID                   "0f8fad5b-d9cb-469f-a165-70867728950e"

#define CARD(address) "sys/bus/pci/devices/" address "/driver->../../../bus/pci/drivers/nvidia"
#define MINOR(address, minor)                                                                      \
	"proc/driver/nvidia/gpus/" address "/information=Model: \t NVIDIA A2\nBus Type: \t PCIe\n" \
	"Device Minor: \t " minor "\nGPU Excluded:\t No\n"
#define HELD(address, pid, command, what) \
	address " " pid " '" command "' - process " pid " (" command ") has " what " open\n"

#define LONG_WAY TREE_TEN(TREE_TEN("../dev/")) TREE_TEN(TREE_TEN("../dev/"))

static const struct job_function functions[] = { { .address = F0 }, { .address = F1 } };

static struct holders_case {
	const char *name;
	const char *group;
	const char *entries[14];
	const char *lines; /* ADDRESS PID 'COMMAND' POD DETAIL */
} cases[] = {
	{ "nobody", "12", { "proc/1/fd/", PROCESS("1", "systemd"), "proc/uptime=1 1\n" }, "" },
	{ "the group is open, by its number",
	  "12",
	  { NULL_IS(GROUP("12")), PROCESS("123", "qemu-system-x86"),
	    OPEN("123", "0", "/dev/null") },
	  HELD(F0, "123", "qemu-system-x86", "/dev/null") },
	{ "the group is open, by its name alone",
	  "12",
	  { PROCESS("123", "qemu-system-x86"), OPEN("123", "9", "/dev/vfio/12") },
	  HELD(F0, "123", "qemu-system-x86", "/dev/vfio/12") },
	{ "the group's node was deleted meanwhile",
	  "12",
	  { PROCESS("123", "qemu"), OPEN("123", "9", "/dev/vfio/12 (deleted)") },
	  HELD(F0, "123", "qemu", "/dev/vfio/12 (deleted)") },
	{ "other groups, whose names begin alike",
	  "12",
	  { NULL_IS(GROUP("123")), ZERO_IS(GROUP("1")), PROCESS("5", "qemu"),
	    OPEN("5", "1", "/dev/null"), OPEN("5", "2", "/dev/zero"),
	    OPEN("5", "3", "/dev/vfio/123"), OPEN("5", "4", "/dev/vfio/1"),
	    OPEN("5", "6", "/dev/vfio/12 (deleted) x"), OPEN("5", "7", "/dev/vfio/vfio") },
	  "" },
	{ "with no group, its node does not count",
	  "-",
	  { NULL_IS(GROUP("-")), PROCESS("5", "qemu"), OPEN("5", "1", "/dev/null"),
	    OPEN("5", "2", "/dev/vfio/-") },
	  "" },
	{ "a function's own VFIO node",
	  "12",
	  { NULL_IS(PCI(F1) "/vfio-dev/vfio0"), PROCESS("5", "qemu"), OPEN("5", "1", "/dev/null") },
	  HELD(F1, "5", "qemu", "/dev/null") },
	{ "a device far below a function",
	  "12",
	  { NULL_IS(PCI(F0) "/usb1/1-2/1-2.3/1-2.3:1.0/0003:1/hidraw/hidraw0"),
	    PROCESS("5", "logger"), OPEN("5", "1", "/dev/null") },
	  HELD(F0, "5", "logger", "/dev/null") },
	{ "a device of another function, whose address begins alike",
	  "12",
	  { NULL_IS(PCI("0000:01:00.2") "/nvme/nvme0"),
	    ZERO_IS("pci10000:01/10000:01:00.0/nvme/nvme1"), PROCESS("5", "x"),
	    OPEN("5", "1", "/dev/null"), OPEN("5", "2", "/dev/zero") },
	  "" },
	{ "what the number says counts, not the name",
	  "12",
	  { NULL_IS("virtual/mem/null"), PROCESS("5", "x"), "dev/vfio/12->/dev/null",
	    OPEN("5", "1", "/dev/null") },
	  "" },
	{ "a device that sysfs does not know",
	  "12",
	  { PROCESS("5", "x"), OPEN("5", "1", "/dev/null") },
	  "" },
	{ "each process once for each function, in the order of the pids",
	  "12",
	  { NULL_IS(GROUP("12")), ZERO_IS(PCI(F1) "/x"), PROCESS("30", "b"),
	    OPEN("30", "1", "/dev/null"), OPEN("30", "2", "/dev/null"),
	    OPEN("30", "3", "/dev/zero"), PROCESS("4", "a"), OPEN("4", "1", "/dev/null") },
	  HELD(F0, "4", "a", "/dev/null") HELD(F0, "30", "b", "/dev/null")
		  HELD(F1, "30", "b", "/dev/zero") },
	{ "files, sockets and folders are not devices",
	  "12",
	  { NULL_IS(GROUP("12")), PROCESS("5", "x"), OPEN("5", "1", "socket:[123]"),
	    OPEN("5", "2", "/etc/passwd"), OPEN("5", "3", "/dev"), OPEN("5", "4", "/dev/shm"),
	    OPEN("5", "5", "anon_inode:[vfio-device]"), "proc/5/fd/6=no link" },
	  "" },
	{ "what is no path is not looked at",
	  "12",
	  { NULL_IS(GROUP("12")), PROCESS("5", "x"), OPEN("5", "1", "../../../null"),
	    "null->/dev/null" },
	  "" },
	{ "a node that a container has made for itself, by its number",
	  "12",
	  { NULL_IS(GROUP("12")), PROCESS("5", "x"), OPEN("5", "1", "/proc/self/root/dev/null") },
	  HELD(F0, "5", "x", "/proc/self/root/dev/null") },
	{ "this process is never a holder, whatever its pid in that namespace",
	  "12",
	  { NULL_IS(GROUP("12")), "proc/self->42", PROCESS("42", "hostdev-helper"),
	    OPEN("42", "1", "/dev/null"), PROCESS("43", "qemu"), OPEN("43", "1", "/dev/null") },
	  HELD(F0, "43", "qemu", "/dev/null") },
	{ "a process whose name cannot be read",
	  "12",
	  { NULL_IS(GROUP("12")), OPEN("5", "1", "/dev/null") },
	  F0 " 5 '' - process 5 has /dev/null open\n" },
	{ "a command that would draw on a terminal",
	  "12",
	  { NULL_IS(GROUP("12")), PROCESS("5", "a\x1b[2J\nb"), OPEN("5", "1", "/dev/null") },
	  HELD(F0, "5", "a\\x1b[2J\\x0ab", "/dev/null") },
	{ "a process in a pod",
	  "12",
	  { NULL_IS(GROUP("12")), PROCESS("5", "qemu"), OPEN("5", "1", "/dev/null"),
	    "proc/5/cgroup=0::/kubepods/burstable/pod" UID "/4c55\n",
	    "proc/1/root/var/log/pods/default_vm-1_" UID "/" },
	  F0 " 5 'qemu' default/vm-1 process 5 (qemu) has /dev/null open\n" },
	{ "the node of an NVIDIA card, of which sysfs knows nothing",
	  "12",
	  { CARD(F0), CARD(F1), MINOR(F0, "1"), MINOR(F1, "2"), PROCESS("5", "python3"),
	    OPEN("5", "1", "/dev/nvidia1"), OPEN("5", "2", "/dev/nvidiactl"),
	    OPEN("5", "3", "/dev/nvidia-uvm") },
	  HELD(F0, "5", "python3", "/dev/nvidia1") },
	{ "NVIDIA's daemon holds a card in persistence mode",
	  "12",
	  { CARD(F0), MINOR(F0, "0"), PROCESS("5", "nvidia-persiste"),
	    OPEN("5", "1", "/dev/nvidia0") },
	  F0
	  " 5 'nvidia-persiste' - process 5 (nvidia-persiste) has /dev/nvidia0 open: switch the card's "
	  "persistence mode off (nvidia-smi -pm 0)\n" },
	{ "a card whose node the driver does not tell may have any",
	  "12",
	  { CARD(F1), PROCESS("5", "x"), OPEN("5", "1", "/dev/nvidia7 (deleted)") },
	  HELD(F1, "5", "x", "/dev/nvidia7 (deleted)") },
	{ "a device whose driver cannot be read may be a card",
	  "12",
	  { "sys/bus/pci/devices/" F0 "/driver->" TREE_UNREADABLE, PROCESS("5", "x"),
	    OPEN("5", "1", "/dev/nvidia3") },
	  HELD(F0, "5", "x", "/dev/nvidia3") },
	{ "a device is found by its number, however long its name is",
	  "12",
	  { NULL_IS(PCI(F1) "/x"), PROCESS("5", "x"), OPEN("5", "1", "/dev/" LONG_WAY "null") },
	  HELD(F1, "5", "x", "/dev/(long name)") },
	{ "nodes of other cards, and what is none",
	  "12",
	  { CARD(F0), MINOR(F0, "1"), PROCESS("5", "x"), OPEN("5", "1", "/dev/nvidia11"),
	    OPEN("5", "2", "/dev/nvidia1x"), OPEN("5", "3", "/dev/nvidia"),
	    OPEN("5", "4", "/dev/nvidia-modeset"), OPEN("5", "6", "/dev/nvidia01x") },
	  "" },
	{ "a virtual function has no such node, nor has a card on another driver",
	  "12",
	  { CARD(F0), "sys/bus/pci/devices/" F0 "/physfn->../" F1,
	    "sys/bus/pci/devices/" F1 "/driver->../../drivers/nouveau", PROCESS("5", "x"),
	    OPEN("5", "1", "/dev/nvidia0") },
	  "" },
	{ "a card whose driver cannot be read may be NVIDIA's",
	  "12",
	  { "sys/bus/pci/devices/" F1 "/driver->" TREE_UNREADABLE, PROCESS("5", "x"),
	    OPEN("5", "1", "/dev/nvidia7") },
	  HELD(F1, "5", "x", "/dev/nvidia7") },
	{ "names that are no pids",
	  "12",
	  { NULL_IS(GROUP("12")), OPEN("-5", "1", "/dev/null"), OPEN("5x", "1", "/dev/null"),
	    OPEN("irq", "1", "/dev/null"), OPEN("4294967296", "1", "/dev/null") },
	  "" },
};

static void describe(const struct holders *holders, struct str *out)
{
	for (size_t i = 0; i < holders->len; i++) {
		const struct holder *h = &holders->items[i];

		str_addf(out, "%s %d '%s' %s %s\n", h->address, h->pid, h->command,
			 h->pod ? h->pod : "-", h->detail);
	}
}

/* Holders of both functions in @tree. */
static void find(const struct tree *tree, const char *group, bool confirm, struct str *out)
{
	auto_close int sysfs_fd = tree_open(tree, "sys");
	auto_close int proc_fd = tree_open(tree, "proc");
	auto_close int dev_fd = tree_open(tree, "dev");
	auto_holders struct holders holders = { 0 };
	struct holders_query query = { sysfs_fd, proc_fd, dev_fd, group, confirm, 0 };
	struct job job = { .group = group };

	for (size_t i = 0; i < ARRAY_LEN(functions); i++)
		*array_add(&job) = functions[i];
	holders_find(&query, &job, &holders);
	describe(&holders, out);
	job_done(&job);
}

static void holders_match_table(void **state)
{
	const struct holders_case *c = suite_row(state);
	auto_str struct str out = STR_INIT;
	struct tree *tree = *state;

	tree_make(tree, c->entries);
	tree_add(tree, "sys/");
	find(tree, c->group, false, &out);
	assert_string_equal(str_cstr(&out), c->lines);
}

/* A node that a container has made, or was given, has any name. */
static struct made_case {
	const char *name;
	unsigned major;
	unsigned minor;
	mode_t type;
	const char *minor_of_card;
	bool held;
} mades[] = {
	{ "a card's node by another name", 195, 1, S_IFCHR, "1", true },
	{ "another card's node", 195, 0, S_IFCHR, "1", false },
	{ "one of any card, where the driver does not say which", 195, 7, S_IFCHR, NULL, true },
	{ "nvidiactl is no card's", 195, 255, S_IFCHR, NULL, false },
	{ "nor is nvidia-modeset", 195, 254, S_IFCHR, NULL, false },
	{ "a MIG capability, of a number that the kernel gave it", 235, 1, S_IFCHR, NULL, false },
	{ "a block device of that number", 195, 1, S_IFBLK, "1", false },
};

static void cards_are_found_by_number(void **state)
{
	const struct made_case *c = suite_row(state);
	auto_free char *minor = NULL;
	auto_free char *target = NULL;
	auto_free char *wanted = NULL;
	auto_str struct str out = STR_INIT;
	struct tree *tree = *state;

	tree_make(tree,
		  (const char *const[]){ "sys/", CARD(F0), PROCESS("5", "python3"), "x/", NULL });
	if (c->minor_of_card) {
		minor = xasprintf("proc/driver/nvidia/gpus/" F0
				  "/information=Device Minor: \t %s\n",
				  c->minor_of_card);
		tree_add(tree, minor);
	}
	if (mknodat(tree->fd, "x/nvidia9", c->type | 0600, makedev(c->major, c->minor)) < 0)
		skip(); /* takes the capability MKNOD */
	target = xasprintf("proc/5/fd/3->%s/x/nvidia9", tree->root);
	tree_add(tree, target);
	wanted = xasprintf(F0 " 5 'python3' - process 5 (python3) has %s/x/nvidia9 open\n",
			   tree->root);
	find(tree, "12", false, &out);
	assert_string_equal(str_cstr(&out), c->held ? wanted : "");
}

struct named {
	const struct tree *tree;
	bool held;
	bool hidden;
};

static bool put(const char *path, const char *text)
{
	auto_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* With a /dev of its own, in which the names are those of files. */
static bool has_files_in_dev(void)
{
	auto_free char *users = xasprintf("0 %u 1", geteuid());
	auto_free char *groups = xasprintf("0 %u 1", getegid());

	return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && put("/proc/self/setgroups", "deny") &&
	       put("/proc/self/uid_map", users) && put("/proc/self/gid_map", groups) &&
	       mount("none", "/dev", "tmpfs", 0, NULL) == 0 && mkdir("/dev/vfio", 0700) == 0 &&
	       put("/dev/vfio/12", "x") && put("/dev/nvidia1", "x");
}

static void look_for_names(struct named *named)
{
	auto_close int sysfs_fd = tree_open(named->tree, "sys");
	auto_close int proc_fd = tree_open(named->tree, "proc");
	auto_holders struct holders holders = { 0 };
	struct holders_query query = { sysfs_fd, proc_fd, -1, "12", false, 0 };
	struct job job = { .group = "12" };

	*array_add(&job) = functions[0];
	holders_find(&query, &job, &holders);
	named->held = holders.len > 0;
	named->hidden = holders.hidden;
	job_done(&job);
}

/* A pod may name any file like a card's or a group's node: no claim waits for such a file. */
static void a_file_is_no_device(void **state)
{
	struct named named = { .tree = *state };
	int status = -1;
	pid_t child;

	tree_make(*state, (const char *const[]){ "sys/", CARD(F0), PROCESS("5", "x"),
						 OPEN("5", "3", "/dev/nvidia1"),
						 OPEN("5", "4", "/dev/vfio/12"), NULL });
	look_for_names(&named);
	assert_true(named.held);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (!has_files_in_dev())
			_exit(2);
		look_for_names(&named);
		_exit(named.held);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
		skip(); /* where no namespace may be made */
	assert_int_equal(status, 0);
}

static bool is_hidden(void *arg)
{
	struct named *named = arg;

	look_for_names(named);
	return named->hidden;
}

/* A FUSE of some user refuses all others, who would else be kept from every claim. */
static void a_file_system_that_refuses_hides_nothing(void **state)
{
	struct named named = { .tree = *state };

	tree_make(*state, (const char *const[]){ "sys/", "proc/1/fd/", PROCESS("5", "x"),
						 OPEN("5", "3", "/home/x/y"), NULL });
	assert_false(syscall_fails_for(SYS_statx, EACCES, is_hidden, &named));
	assert_true(syscall_fails_for(SYS_statx, EIO, is_hidden, &named));
	tree_add(*state, OPEN("5", "4", "/dev/y"));
	assert_true(syscall_fails_for(SYS_statx, EACCES, is_hidden, &named));
}

static void no_functions(void **state)
{
	struct holders_query query = { -1, -1, -1, "12", true, 0 };
	struct holders holders = { 0 };
	struct job job = { .group = "12" };

	holders_find(&query, &job, &holders);
	assert_int_equal(holders.len, 0);
	holders_done(&holders);
}

/* What a process has open cannot be seen, or which processes there are. */
static struct hidden_case {
	const char *name;
	const char *entries[4];
	bool hidden;
} hiddens[] = {
	{ "all that runs is seen", { "proc/1/fd/", OPEN("5", "1", "/x") }, false },
	{ "hidepid hides the first process, and so others", { OPEN("5", "1", "/x") }, true },
	{ "what one has open may be hidden", { "proc/1/fd/", "proc/5/fd=no folder" }, true },
	{ "or where that is", { "proc/1/fd/", "proc/5->5" }, true },
	{ "or which device it is",
	  { "proc/1/fd/", OPEN("5", "1", "/dev/null"), "sys/dev/char->char" },
	  true },
	{ "a file with a long name hides nothing",
	  { "proc/1/fd/", OPEN("5", "1", "/dev/" LONG_WAY "none") },
	  false },
};

static void what_is_hidden_is_reported(void **state)
{
	const struct hidden_case *c = suite_row(state);
	struct job job = { .group = "-" };
	auto_holders struct holders holders = { 0 };
	struct tree *tree = *state;
	auto_close int sysfs_fd = -1;
	auto_close int proc_fd = -1;

	tree_make(tree, c->entries);
	proc_fd = tree_open(tree, "proc");
	*array_add(&job) = functions[0];
	tree_add(tree, "sys/");
	sysfs_fd = tree_open(tree, "sys");
	holders_find(&(struct holders_query){ sysfs_fd, proc_fd, -1, "-", false, 0 }, &job,
		     &holders);
	assert_int_equal(holders.hidden, c->hidden);
	job_done(&job);
}

static void bounded(void **state)
{
	auto_str struct str out = STR_INIT;
	size_t lines = 0;
	struct tree *tree = *state;

	tree_make(tree, (const char *const[]){ NULL_IS(GROUP("12")), NULL });
	for (int pid = 1; pid <= HOLDERS_MAX + 50; pid++) {
		auto_free char *entry = xasprintf(OPEN("%d", "0", "/dev/null"), pid);

		tree_add(tree, entry);
	}
	find(tree, "12", false, &out);
	for (const char *at = str_cstr(&out); (at = strchr(at, '\n')) != NULL; at++)
		lines++;
	assert_int_equal(lines, HOLDERS_MAX);
}

/* However many there are, the look comes to an end, and what it has not seen may be a holder. */
static void descriptors_are_bounded(void **state)
{
	static const char *const entries[] = { OPEN("5", "1", "/x"), OPEN("5", "2", "/y"),
					       OPEN("6", "1", "/z"), NULL };
	static const size_t bounds[] = { 2, 4 };
	static const char *const seen[] = {
		F0 " 0 '' - more than 2 descriptors are open on this node, so not all of them were "
		   "read\n",
		""
	};
	struct job job = { .group = "-" };
	struct tree *tree = *state;

	tree_make(tree, entries);
	*array_add(&job) = functions[0];
	for (size_t i = 0; i < ARRAY_LEN(bounds); i++) {
		auto_close int proc_fd = tree_open(tree, "proc");
		auto_holders struct holders holders = { 0 };
		auto_str struct str out = STR_INIT;

		holders_find(&(struct holders_query){ -1, proc_fd, -1, "-", false, bounds[i] },
			     &job, &holders);
		describe(&holders, &out);
		assert_string_equal(str_cstr(&out), seen[i]);
	}
	job_done(&job);
}

/* May this process open what another one has for itself alone (TIOCEXCL)? Returns what it was. */
static bool set_admin(bool wanted)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	const unsigned bit = 1U << CAP_SYS_ADMIN;
	bool before;

	assert_int_equal(syscall(SYS_capget, &header, data), 0);
	before = data[0].effective & bit;
	if (wanted)
		data[0].effective |= bit;
	else
		data[0].effective &= ~bit;
	assert_int_equal(syscall(SYS_capset, &header, data), 0);
	return before;
}

/* A terminal that is open for one process alone answers EBUSY, as a group does. */
static int make_busy(const struct tree *tree, int *ret_main)
{
	char path[64];
	int slave;

	*ret_main = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(*ret_main >= 0);
	assert_int_equal(grantpt(*ret_main), 0);
	assert_int_equal(unlockpt(*ret_main), 0);
	assert_int_equal(ptsname_r(*ret_main, path, sizeof(path)), 0);
	slave = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(slave >= 0);
	assert_int_equal(ioctl(slave, TIOCEXCL), 0);
	assert_int_equal(symlinkat(path, tree->fd, "dev/vfio/12"), 0);
	return slave;
}

static void kernel_is_asked(void **state)
{
	auto_str struct str unseen = STR_INIT;
	auto_str struct str not_asked = STR_INIT;
	auto_str struct str seen = STR_INIT;
	auto_close int main_fd = -1;
	auto_close int slave_fd = -1;
	struct tree *tree = *state;
	bool admin;

	tree_make(tree, (const char *const[]){ "sys/", "proc/", "dev/vfio/", NULL });
	slave_fd = make_busy(tree, &main_fd);
	assert_true(main_fd >= 0 && slave_fd >= 0);
	admin = set_admin(false);
	find(tree, "12", true, &unseen);
	find(tree, "12", false, &not_asked);
	tree_add(tree, PROCESS("5", "qemu"));
	tree_add(tree, OPEN("5", "1", "/dev/vfio/12"));
	find(tree, "12", true, &seen);
	set_admin(admin);

	assert_string_equal(str_cstr(&unseen),
			    F0 " 0 '' - a process that cannot be seen has /dev/vfio/12 open\n");
	assert_string_equal(str_cstr(&not_asked), "");
	assert_string_equal(str_cstr(&seen), HELD(F0, "5", "qemu", "/dev/vfio/12"));
}

struct starved {
	int proc_fd;
	int dev_fd;
	unsigned number; /* the system call that fails */
};

/* The kernel cannot be asked, which is no "no"; nor is a folder that ends early. */
static bool does_not_know(void *arg)
{
	const struct starved *s = arg;
	struct job job = { .group = "12" };
	struct holders holders = { 0 };

	*array_add(&job) = functions[0];
	holders_find(&(struct holders_query){ -1, s->proc_fd, s->dev_fd, "12", true, 0 }, &job,
		     &holders);
	return holders.hidden &&
	       (s->number != SYS_openat ||
		(holders.len == 1 && strstr(holders.items[0].detail, "cannot be asked")));
}

static void what_cannot_be_asked_is_not_free(void **state)
{
	static const char *const entries[] = { "proc/1/fd/", "dev/vfio/12=", NULL };
	struct tree *tree = *state;
	struct starved starved = { .number = SYS_openat };

	tree_make(tree, entries);
	starved.proc_fd = tree_open(tree, "proc");
	starved.dev_fd = tree_open(tree, "dev");
	assert_true(syscall_fails_for(SYS_openat, EMFILE, does_not_know, &starved));
	starved.number = SYS_getdents64;
	assert_true(syscall_fails_for(SYS_getdents64, EIO, does_not_know, &starved));
	close(starved.proc_fd);
	close(starved.dev_fd);
}

static bool nobody_is_named(void *arg)
{
	const int *proc_fd = arg;
	struct job job = { .group = "-" };
	struct holders holders = { 0 };

	*array_add(&job) = functions[0];
	holders_find(&(struct holders_query){ -1, *proc_fd, -1, "-", false, 2 }, &job, &holders);
	return holders.hidden && holders.len == 0;
}

/* As for an agent without SYS_PTRACE: however many a pod has open, no claim is delayed. */
static void descriptors_that_do_not_show_are_not_counted(void **state)
{
	static const char *const entries[] = { OPEN("5", "1", "/x"), OPEN("5", "2", "/y"),
					       OPEN("5", "3", "/z"), OPEN("6", "1", "/z"), NULL };
	struct tree *tree = *state;
	int proc_fd;

	tree_make(tree, entries);
	proc_fd = tree_open(tree, "proc");
	assert_true(syscall_fails_for(SYS_readlinkat, EACCES, nobody_is_named, &proc_fd));
	close(proc_fd);
}

static struct answer_case {
	const char *name;
	const char *group;
	const char *entries[3];
} answers[] = {
	{ "a group that can be opened is free", "12", { "dev/vfio/12=" } },
	{ "a group without a node is nobody's", "12", { "dev/vfio/" } },
	{ "without /dev nothing is asked", "12", { "proc/" } },
	{ "without a group nothing is asked", "-", { "dev/vfio/" } },
	{ "a node that may not be opened says nothing", "12", { "dev/vfio/12/" } },
};

static void only_busy_is_a_holder(void **state)
{
	const struct answer_case *c = suite_row(state);
	auto_str struct str out = STR_INIT;
	struct tree *tree = *state;

	tree_make(tree, c->entries);
	find(tree, c->group, true, &out);
	assert_string_equal(str_cstr(&out), "");
}

/* The same descriptor is open in this process and in its child, which waits to be let go. */
static pid_t start_twin(int *ret_wait_fd)
{
	int wait[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe2(wait, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(wait[1]);
		_exit(read(wait[0], &byte, 1) == 0 ? 0 : 1);
	}
	close(wait[0]);
	*ret_wait_fd = wait[1];
	return pid;
}

static bool has_pid(const struct holders *holders, pid_t pid)
{
	for (size_t i = 0; i < holders->len; i++) {
		if (holders->items[i].pid == pid)
			return true;
	}
	return false;
}

static void the_real_proc(void **state)
{
	auto_close int proc_fd = sysfs_open_dir(AT_FDCWD, "/proc");
	auto_close int zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	auto_close int sysfs_fd = -1;
	auto_holders struct holders holders = { 0 };
	struct job job = { .group = "-" };
	struct tree *tree = *state;
	int wait_fd;
	pid_t twin;

	assert_true(proc_fd >= 0 && zero_fd >= 0);
	tree_make(tree, (const char *const[]){ ZERO_IS(PCI(F0) "/x"), NULL });
	sysfs_fd = tree_open(tree, "sys");
	*array_add(&job) = functions[0];
	twin = start_twin(&wait_fd);
	holders_find(&(struct holders_query){ sysfs_fd, proc_fd, -1, "-", false, 0 }, &job,
		     &holders);
	close(wait_fd);
	assert_int_equal(waitpid(twin, NULL, 0), twin);
	assert_true(has_pid(&holders, twin));
	assert_false(has_pid(&holders, getpid()));
	job_done(&job);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "a job without functions has no holders", no_functions, NULL);
	suite_fixture(&suite, &tree_fixture);
	suite_rows(&suite, cases, holders_match_table);
	suite_rows(&suite, mades, cards_are_found_by_number);
	suite_add(&suite, "a file is no device, whatever its name", a_file_is_no_device, NULL);
	suite_add(&suite, "a file system that refuses hides nothing",
		  a_file_system_that_refuses_hides_nothing, NULL);
	suite_rows(&suite, hiddens, what_is_hidden_is_reported);
	suite_add(&suite, "descriptors that do not show are not counted",
		  descriptors_that_do_not_show_are_not_counted, NULL);
	suite_add(&suite, "what cannot be asked is not free", what_cannot_be_asked_is_not_free,
		  NULL);
	suite_add(&suite, "at most 256 processes are named", bounded, NULL);
	suite_add(&suite, "descriptors are read up to a bound", descriptors_are_bounded, NULL);
	suite_add(&suite, "a holder that /proc does not show is asked of the kernel",
		  kernel_is_asked, NULL);
	suite_rows(&suite, answers, only_busy_is_a_holder);
	suite_add(&suite, "in the real /proc: another process, not this one", the_real_proc, NULL);
	return suite_run(&suite, "holders");
}
