/* binder: what it makes of the words of hostdev-helper itself, on a machine that is a folder. */
#include <sys/file.h>

#include "fake/tree/scan_tree.h"
#include "unit/agent/binder_bench.h"

#define A      "0000:01:00.0"
#define DEVICE "sys/bus/pci/devices/" A
#define NOBODY "proc/4711/fd/7->/dev/null" /* has the group open any more */

struct machine {
	struct bench bench;
	struct tree tree;
	char *helper;
	char *state_dir;
	char *roots[3]; /* /sys, /proc, /dev */
};

/* A network card, alone in group 12, and a program that has the group open. */
static const char *const entries[] = {
	DEVICE "/vendor=0x8086\n",
	DEVICE "/device=0x10d3\n",
	DEVICE "/class=0x020000\n",
	DEVICE "/net/eth1/",
	DEVICE "/driver_override=(null)\n",
	DEVICE "/iommu_group->../../../../kernel/iommu_groups/12",
	"sys/kernel/iommu_groups/12/devices/" A "->../../../../bus/pci/devices/" A,
	"sys/bus/pci/drivers/vfio-pci/",
	"sys/bus/pci/drivers/e1000e/",
	"sys/module/vfio_iommu_type1/",
	PROC_WHOLE,
	SYS_LOOPBACK,
	"proc/sys/kernel/random/boot_id=b00t\n",
	PROC_OF_HOST,
	PROC_WHOLE,
	"proc/4711/comm=qemu-system-x86\n",
	"proc/4711/fd/7->/dev/vfio/12",
	"dev/vfio/12=",
	"state/",
	NULL,
};

/* The helper of the same build. */
static char *helper_path(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	assert_true(n > 0);
	path[n] = '\0';
	*strrchr(path, '/') = '\0';
	return xasprintf("%s/../bin/hostdev-helper", path);
}

static void machine_begin(struct machine *m, const char *driver)
{
	static const char *const names[] = { "sys", "proc", "dev" };
	auto_free char *link = xasprintf(DEVICE "/driver->../../drivers/%s", driver);

	bench_begin(&m->bench, "");
	tree_make(&m->tree, entries);
	tree_add(&m->tree, link);
	m->helper = helper_path();
	m->state_dir = xasprintf("%s/state", m->tree.root);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		m->roots[i] = xasprintf("%s/%s", m->tree.root, names[i]);
	binder_free(m->bench.binder);
	m->bench.options.helper.path = m->helper;
	m->bench.options.helper.state_dir = m->state_dir;
	m->bench.options.helper.sysfs_root = m->roots[0];
	m->bench.options.helper.proc_root = m->roots[1];
	m->bench.options.helper.dev_root = m->roots[2];
	m->bench.binder =
		binder_new(&m->bench.fake.loop, &m->bench.options, bench_on_free, &m->bench);
}

static void machine_done(struct machine *m)
{
	bench_close(&m->bench);
	tree_done(&m->tree);
	free(m->helper);
	free(m->state_dir);
	for (size_t i = 0; i < ARRAY_LEN(m->roots); i++)
		free(m->roots[i]);
}

SUITE_CLOSING(machine, struct machine, machine_done);

static struct helper_case {
	const char *name;
	enum binder_verb verb;
	const char *driver;
	const char *address;
	const char *entries[2]; /* more of the tree */
	bool allow_unknown;
	enum task_result result;
	const char *reason;
	const char *step;
	const char *error_name;
	const char *holder;
	int holder_pid;
	const char *says;
	const char *steps; /* of a plan */
} cases[] = {
	{ .name = "a plan to bind says its steps",
	  .verb = BINDER_PLAN_BIND,
	  .driver = "e1000e",
	  .address = A,
	  .entries = { NOBODY },
	  .result = TASK_DONE,
	  .says = "",
	  .steps = "CheckHolders WriteRecord SetOverride Unbind Probe " },
	{ .name = "a plan for a host whose routes cannot be seen is refused",
	  .verb = BINDER_PLAN_BIND,
	  .driver = "e1000e",
	  .address = A,
	  .entries = { NOBODY, "proc/1/net/route=oops\n" },
	  .result = TASK_REFUSED,
	  .reason = "UseUnknown",
	  .step = "CheckHolders",
	  .says = "1 line of net/route has another form than expected",
	  .steps = "CheckHolders " },
	{ .name = "unless the claim allows that",
	  .verb = BINDER_PLAN_BIND,
	  .driver = "e1000e",
	  .address = A,
	  .entries = { NOBODY, "proc/1/net/route=oops\n" },
	  .allow_unknown = true,
	  .result = TASK_DONE,
	  .says = "",
	  .steps = "CheckHolders WriteRecord SetOverride Unbind Probe " },
	{ .name = "a plan to release a device that is held names the holder",
	  .verb = BINDER_PLAN_RELEASE,
	  .driver = "vfio-pci",
	  .address = A,
	  .result = TASK_HELD,
	  .reason = "Held",
	  .step = "CheckHolders",
	  .holder = "process 4711 (qemu-system-x86)",
	  .holder_pid = 4711,
	  .says = "4711",
	  .steps = "CheckHolders " },
	{ .name = "a release of a device that is held changes nothing",
	  .verb = BINDER_RELEASE,
	  .driver = "vfio-pci",
	  .address = A,
	  .result = TASK_HELD,
	  .reason = "Held",
	  .step = "CheckHolders",
	  .holder = "process 4711 (qemu-system-x86)",
	  .holder_pid = 4711,
	  .says = "4711" },
	{ .name = "a device that is gone is refused",
	  .verb = BINDER_BIND,
	  .driver = "e1000e",
	  .address = "0000:09:00.0",
	  .result = TASK_REFUSED,
	  .reason = "DeviceGone",
	  .says = "0000:09:00.0" },
	{ .name = "an override of somebody else is refused",
	  .verb = BINDER_BIND,
	  .driver = "e1000e",
	  .address = A,
	  .entries = { DEVICE "/driver_override=pci-stub\n" },
	  .result = TASK_REFUSED,
	  .reason = "OverrideOwned",
	  .says = "pci-stub" },
	{ .name = "a driver that lets nothing go is a failure with the kernel's word",
	  .verb = BINDER_BIND,
	  .driver = "e1000e",
	  .address = A,
	  .entries = { NOBODY },
	  .result = TASK_FAILED,
	  .reason = "UnbindFailed",
	  .step = "Unbind",
	  .error_name = "ENOENT",
	  .says = "unbind" },
};

static void assert_text(const char *text, const char *expected)
{
	assert_string_equal(text ? text : "-", expected ? expected : "-");
}

static void assert_steps(const struct json_strs *lines, const char *expected)
{
	static const char key[] = "\"step\":\"";
	auto_str struct str steps = STR_INIT;

	for (size_t i = 0; i < lines->len; i++) {
		const char *step = strstr(lines->items[i], key);

		if (!strstr(lines->items[i], "\"kind\":\"step\"") || !step)
			continue;
		step += strlen(key);
		str_addf(&steps, "%.*s ", (int)strcspn(step, "\""), step);
	}
	assert_string_equal(str_cstr(&steps), expected);
}

static void the_helper_is_understood(void **state)
{
	const struct helper_case *c = suite_row(state);
	struct machine *m = *state;
	struct owner *owner = &m->bench.owners[0];

	machine_begin(m, c->driver);
	for (size_t i = 0; i < ARRAY_LEN(c->entries) && c->entries[i]; i++) {
		auto_free char *path = xstrndup(c->entries[i], strcspn(c->entries[i], "-="));

		(void)unlinkat(m->tree.fd, path, 0);
		tree_add(&m->tree, c->entries[i]);
	}
	owner_init(owner, &m->bench, "12", c->address);
	owner->job.verb = c->verb;
	owner->job.items[0].native = xstrdup("e1000e");
	owner->job.items[0].allow_unknown = c->allow_unknown;
	owner_start(owner);
	bench_run_until(&m->bench, &owner->ended, 1);
	assert_string_equal(task_result_text(owner->outcome.task.result),
			    task_result_text(c->result));
	assert_text(owner->outcome.task.reason, c->reason);
	assert_text(owner->outcome.task.step, c->step);
	assert_text(owner->outcome.task.error_name, c->error_name);
	assert_text(owner->outcome.task.holder, c->holder);
	assert_int_equal(owner->outcome.task.holder_pid, c->holder_pid);
	if (!strstr(owner->outcome.task.message, c->says))
		fail_msg("no '%s' in '%s'", c->says, owner->outcome.task.message);
	assert_true(owner->outcome.task.helper_us > 0);
	if (c->steps)
		assert_steps(&owner->outcome.lines, c->steps);
	if (strcmp(c->address, A) == 0) {
		assert_int_equal(owner->outcome.seen.len, 1);
		assert_string_equal(owner->outcome.seen.items[0].driver, c->driver);
	}
}

static void who_has_the_lock_is_named(void **state)
{
	struct machine *m = *state;
	struct owner *owner = &m->bench.owners[0];
	int fd;

	machine_begin(m, "e1000e");
	tree_add(&m->tree, "state/group-12.lock=815\n");
	fd = openat(m->tree.fd, "state/group-12.lock", O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	owner_init(owner, &m->bench, "12", A);
	owner_start(owner);
	bench_run_until(&m->bench, &owner->ended, 1);
	assert_int_equal(owner->outcome.task.result, TASK_BUSY);
	assert_int_equal(owner->outcome.task.holder_pid, 815);
	assert_null(owner->outcome.task.holder);
	assert_non_null(strstr(owner->outcome.task.message, "815"));
	close(fd);
}

static void wrong_words_are_a_failure_of_the_helper(void **state)
{
	struct machine *m = *state;
	struct owner *owner = &m->bench.owners[0];

	machine_begin(m, "e1000e");
	owner_init(owner, &m->bench, "twelve", A);
	owner_start(owner);
	bench_run_until(&m->bench, &owner->ended, 1);
	assert_int_equal(owner->outcome.task.result, TASK_FAILED);
	assert_string_equal(owner->outcome.task.reason, "HelperFailed");
	assert_non_null(strstr(owner->outcome.task.message, "status 2"));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &machine_fixture);
	suite_rows(&suite, cases, the_helper_is_understood);
	suite_add(&suite, "who has the lock of the group is named", who_has_the_lock_is_named,
		  NULL);
	suite_add(&suite, "wrong words are a failure of the helper",
		  wrong_words_are_a_failure_of_the_helper, NULL);
	return suite_run(&suite, "binder_helper");
}
