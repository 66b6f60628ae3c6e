/* What hostdev-helper tells of vGPUs that are attributes of a function, and what it makes of
 * them. */
#include "agent/helper/vgpu.h"

#include <errno.h>
#include <string.h>

#include "agent/helper/frame/run.h"
#include "agent/helper/sys/kernel.h"
#include "base/err.h"
#include "fake/tree/scan_tree.h"

#define VF             "sys/bus/pci/devices/0000:08:00.4/"
#define PF             "sys/bus/pci/devices/0000:08:00.0/"
#define ID(dir)        dir "vendor=0x10de\n", dir "device=0x25b6\n", dir "class=0x030200\n"
#define ON_NVIDIA(dir) ID(dir), dir "driver->../../drivers/nvidia"
#define A_VF           ON_NVIDIA(VF), VF "physfn->../0000:08:00.0"
#define CURRENT(type)  VF "nvidia/current_vgpu_type=" type "\n"
#define TABLE          VF "nvidia/creatable_vgpu_types=ID    : vGPU Name\n1145  : NVIDIA A2-2B\n"

/* clang-format off */
static struct scan_case {
	const char *name;
	const char *entries[16];
	const char *lines;
} look_cases[] = {
	{ "a function that can be a vGPU, and is none", { A_VF, CURRENT("0"), TABLE },
	  "{'kind':'vgpu','address':'0000:08:00.4','current':'0','creatable':["
	  "'ID    : vGPU Name','1145  : NVIDIA A2-2B']}\n" },
	{ "a function that is one", { A_VF, CURRENT("1145"), VF "nvidia/creatable_vgpu_types=\n" },
	  "{'kind':'vgpu','address':'0000:08:00.4','current':'1145','creatable':[]}\n" },
	{ "without the table of types it is reported all the same", { A_VF, CURRENT("1145") },
	  "{'kind':'vgpu','address':'0000:08:00.4','current':'1145'}\n" },
	{ "a function without the attributes has nothing to be told", { A_VF }, "" },
	{ "a function that is not there has nothing to be told", { "sys/" }, "" },
	{ "what is no number of a type is a problem", { A_VF, CURRENT("A2-2B"), TABLE },
	  "{'kind':'problem','device':'0000:08:00.4','attribute':'nvidia/current_vgpu_type',"
	  "'message':''A2-2B' is no number of a vGPU type'}\n" },
};
/* clang-format on */

static void look_tells(void **state)
{
	const struct scan_case *c = suite_row(state);
	struct report report = { 0 };
	auto_close int sysfs_fd = -1;
	struct tree *tree = *state;

	tree_make(tree, c->entries);
	sysfs_fd = tree_open(tree, "sys");
	vgpu_write_line(sysfs_fd, "0000:08:00.4", &report);
	str_add(&report.lines, str_cstr(&report.problems));
	single_quotes(&report.lines);
	assert_string_equal(str_cstr(&report.lines), c->lines);
	report_done(&report);
}

/* --- the driver ------------------------------------------------------------------------------- */

enum fault { FAULT_NONE, FAULT_EIO, FAULT_IGNORES, FAULT_EIO_BUT_DOES };

/* NVIDIA's driver as far as it is known: a type can be had only from none. */
struct driver {
	struct tree tree;
	enum fault fault;
	struct str writes;
};

static int driver_write(void *arg, int sysfs_fd, const char *path, const char *text)
{
	struct driver *driver = arg;
	auto_free char *full = xasprintf("sys/%s", path);
	auto_free char *line = xasprintf("%s\n", text);
	auto_close int fd = openat(sysfs_fd, path, O_RDONLY | O_CLOEXEC);
	char now[16] = "";

	assert_true(fd >= 0 && read(fd, now, sizeof(now) - 1) >= 0);
	str_addf(&driver->writes, "%s ", text);
	if (driver->fault == FAULT_EIO)
		return -EIO;
	if (driver->fault == FAULT_IGNORES)
		return 0;
	if (strcmp(text, "0") != 0 && strcmp(now, "0\n") != 0)
		return -EBUSY;
	tree_write(&driver->tree, full, line, strlen(line));
	return driver->fault == FAULT_EIO_BUT_DOES ? -EIO : 0;
}

/* clang-format off */
static struct set_case {
	const char *name;
	const char *entries[16];
	const char *type;
	enum fault fault;
	const char *writes;
	const char *result; /* found in the last line  */
} set_cases[] = {
	{ "a vGPU is made", { A_VF, CURRENT("0") }, "1145", FAULT_NONE, "1145 ", "'result':'Done'" },
	{ "one that is there already needs nothing", { A_VF, CURRENT("1145") }, "1145", FAULT_NONE, "", "'result':'Done'" },
	{ "another type comes by way of none", { A_VF, CURRENT("1145") }, "1146", FAULT_NONE, "0 1146 ", "'result':'Done'" },
	{ "a vGPU is removed", { A_VF, CURRENT("1145") }, "0", FAULT_NONE, "0 ", "'result':'Done'" },
	{ "one that is not there needs no removal", { A_VF, CURRENT("0") }, "0", FAULT_NONE, "", "'result':'Done'" },
	{ "an error is reported", { A_VF, CURRENT("0") }, "1145", FAULT_EIO, "1145 ", "'reason':'WriteFailed'" },
	{ "a write without effect is reported", { A_VF, CURRENT("0") }, "1145", FAULT_IGNORES, "1145 ", "and it says '0' all the same" },
	{ "an error with the effect is none", { A_VF, CURRENT("0") }, "1145", FAULT_EIO_BUT_DOES, "1145 ", "'result':'Done'" },
	{ "a removal without effect ends it", { A_VF, CURRENT("1145") }, "1146", FAULT_IGNORES, "0 ", "'reason':'WriteFailed'" },
	{ "a physical function is refused", { ON_NVIDIA(VF), CURRENT("0") }, "1145", FAULT_NONE, "", "'reason':'NotVirtualFunction'" },
	{ "a function on another driver is refused",
	  { ID(VF), VF "physfn->../0000:08:00.0", VF "driver->../../drivers/vfio-pci", CURRENT("0") }, "1145", FAULT_NONE, "", "'reason':'NoBackend'" },
	{ "a driver without the attribute is refused", { A_VF }, "1145", FAULT_NONE, "", "'reason':'NoBackend'" },
	{ "a function that is gone is refused", { "sys/" }, "1145", FAULT_NONE, "", "'reason':'DeviceGone'" },
	{ "one that somebody has open is left alone",
	  { A_VF, CURRENT("1145"), VF "iommu_group->../../../../kernel/iommu_groups/12", 
	    "proc/77/comm=qemu-system-x86\n", "proc/77/fd/9->/dev/vfio/12" },
	  "0", FAULT_NONE, "", "'result':'Held'" },
	{ "without a state directory nothing is written", { A_VF, CURRENT("0"), "state=text" }, "1145", FAULT_NONE, "",
	  "'end','result':'Failed','reason':'StateNotWritable','errno':'ENOTDIR','message':'open the state directory '" },
	{ "without a lock nothing is written", { A_VF, CURRENT("0"), "state/group--.lock/" }, "1145", FAULT_NONE, "",
	  "'end','result':'Failed','reason':'StateNotWritable','message':'open 'group--.lock': Is a directory'}" },
};
/* clang-format on */

/* Its VGPUDevice would be taken for one of no vGPU. */
static void what_cannot_be_read_fails_the_scan(void **state)
{
	struct report report = { 0 };
	struct tree *tree = *state;
	auto_close int sysfs_fd = -1;

	tree_make(tree,
		  (const char *const[]){ "sys/bus/pci/devices/0000:08:00.4->0000:08:00.4", NULL });
	sysfs_fd = tree_open(tree, "sys");
	vgpu_write_line(sysfs_fd, "0000:08:00.4", &report);
	assert_int_equal(report.failure.code, -ELOOP);
	vgpu_write_line(sysfs_fd, "0000:08:00.5", &report);
	report_done(&report);
}

static void set_makes(void **state)
{
	const struct set_case *c = *state;
	struct driver driver = { .fault = c->fault };
	struct kernel kernel = { .write = driver_write, .arg = &driver };
	auto_close int sysfs_fd = -1;
	auto_close int proc_fd = -1;
	auto_close int dev_fd = -1;
	auto_str struct str out = STR_INIT;
	auto_free char *state_dir = NULL;
	struct err err = { 0 };
	char text[4096];
	int pipe_fds[2];
	ssize_t n;

	tree_make(&driver.tree, c->entries);
	tree_add(&driver.tree, "dev/");
	tree_add(&driver.tree, "proc/");
	sysfs_fd = tree_open(&driver.tree, "sys");
	proc_fd = tree_open(&driver.tree, "proc");
	dev_fd = tree_open(&driver.tree, "dev");
	state_dir = xasprintf("%s/state", driver.tree.root);
	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(vgpu_set(
				 &(struct run_options){
					 .sysfs_fd = sysfs_fd,
					 .proc_fd = proc_fd,
					 .dev_fd = dev_fd,
					 .state_dir = state_dir,
					 .kernel = &kernel,
					 .out_fd = pipe_fds[1],
				 },
				 "0000:08:00.4", c->type, &err),
			 0);
	(void)close(pipe_fds[1]);
	n = read(pipe_fds[0], text, sizeof(text) - 1);
	(void)close(pipe_fds[0]);
	assert_true(n > 0);
	str_add_mem(&out, text, (size_t)n);
	single_quotes(&out);
	if (!strstr(str_cstr(&out), c->result))
		assert_string_equal(str_cstr(&out), c->result);
	assert_string_equal(str_cstr(&driver.writes), c->writes);
	str_done(&driver.writes);
	tree_done(&driver.tree);
}

static struct number_case {
	const char *name;
	const char *text;
	bool ok;
} number_cases[] = {
	{ "a number", "1145", true },
	{ "none", "0", true },
	{ "nothing", "", false },
	{ "a leading zero", "01", false },
	{ "a sign", "-1", false },
	{ "a path", "../0", false },
	{ "too long", "12345678901", false },
};

static void number_is(void **state)
{
	const struct number_case *c = *state;

	assert_int_equal(vgpu_type_check(c->text), c->ok);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, set_cases, set_makes);
	suite_rows(&suite, number_cases, number_is);
	suite_fixture(&suite, &tree_fixture);
	suite_rows(&suite, look_cases, look_tells);
	suite_add(&suite, "what cannot be read fails the scan", what_cannot_be_read_fails_the_scan,
		  NULL);
	return suite_run(&suite, "vgpu");
}
