/*
 * mdev-create and mdev-remove on a tree, with a kernel that creates and removes instances at each
 * write; it can fail, do nothing, or lose power at any write.
 */
#include "agent/helper/mdev/mdev_change.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "unit/helper/mdev_machine.h"

#define STEP(uuid, step) "{'kind':'step','uuid':'" uuid "','step':'" step "'}\n"
#define LOCK             "{'kind':'step','step':'WaitLock'}\n"
#define MADE(uuid)       STEP(uuid, "WriteRecord") STEP(uuid, "Create") DONE(uuid)
#define GONE(uuid) \
	STEP(uuid, "CheckHolders") STEP(uuid, "Remove") STEP(uuid, "RemoveRecord") DONE(uuid)
#define DONE(uuid) "{'kind':'done','uuid':'" uuid "'}\n"
#define END        "{'kind':'end','result':'Done'}\n"
#define ENDED(result, reason, uuid, rest) \
	"{'kind':'end','result':'" result "','reason':'" reason "','uuid':'" uuid "'," rest "}\n"

/* What there is afterwards: "i" the instance, "r" its record, for U1, U2 and U3. */
/* clang-format off */
static struct change_case {
	const char *name;
	const char *entries[12];
	const char *words;
	int fault_at;
	int fault;
	const char *says;
	const char *leaves;
} cases[] = {
	{ "an instance is made, its record first", { NULL }, CREATE, 0, 0, LOCK MADE(U1) END, "ir - -" },
	{ "several are made in their order", { NULL }, CREATE " uuid=" U3, 0, 0, LOCK MADE(U1) MADE(U3) END,
	  "ir - ir" },
	{ "one that is ours already is left as it is", { INSTANCE(U1, "mtty-2"), OURS(U1) }, CREATE, 0, 0,
	  LOCK DONE(U1) END, "ir - -" },
	{ "one of somebody else is not taken over", { INSTANCE(U1, "mtty-2") }, CREATE, 0, 0,
	  LOCK ENDED("Refused", "UUIDTaken", U1, "'message':'a mediated device with this UUID exists that hostdev did not create, of type "
	  "'mtty-2' on 'mtty''"), "i - -" },
	{ "one that hostdev made for another purpose is not taken over",
	  { INSTANCE(U1, "mtty-2"), RECORD(U1, "mtty-2", "vgpu", "b00t") }, CREATE, 0, 0,
	  LOCK ENDED("Refused", "UUIDTaken", U1, "'message':'a mediated device with this UUID exists that hostdev did not create, of type "
	  "'mtty-2' on 'mtty''"), "ir - -" },
	{ "a type that is gone is refused, and leaves no record", { NULL },
	  "parent=mtty type=mtty-9 owner=types uuid=" U1, 0, 0,
	  LOCK ENDED("Refused", "TypeGone", U1, "'errno':'ENOENT','message':''mtty' has no type 'mtty-9' (any "
	  "more)'"), "- - -" },
	{ "a parent that is gone is refused", { NULL }, "parent=gone type=mtty-2 owner=types uuid=" U1, 0, 0,
	  LOCK ENDED("Refused", "TypeGone", U1, "'errno':'ENOENT','message':''gone' has no type 'mtty-2' (any "
	  "more)'"), "- - -" },
	{ "a kernel that refuses leaves no record, and the rest is not tried", { NULL }, CREATE " uuid=" U2 " uuid=" U3, 2, -EUSERS,
	  LOCK MADE(U1) STEP(U2, "WriteRecord") STEP(U2, "Create") STEP(U2, "RemoveRecord")
	  ENDED("Failed", "CreateFailed", U2, "'step':'Create','errno':'EUSERS','message':'make a 'mtty-2' on mtty: Too many "
	  "users'"), "ir - -" },
	{ "kubevirt-contract 2 (step 5): a write without effect is no success", { NULL }, CREATE, 1, NO_EFFECT,
	  LOCK STEP(U1, "WriteRecord") STEP(U1, "Create") STEP(U1, "RemoveRecord")
	  ENDED("Failed", "CreateFailed", U1, "'step':'Create','message':'make a 'mtty-2' on mtty: the kernel accepted the write, but the device does not exist'"), "- - -" },
	{ "an error with effect is no failure", { NULL }, CREATE, 1, ERROR_ONLY, LOCK MADE(U1) END, "ir - -" },
	{ "a record of before the last boot is written again", { RECORD(U1, "mtty-2", "types", "0ld") }, CREATE, 0, 0,
	  LOCK MADE(U1) END, "ir - -" },

	{ "kubevirt-contract 2 (edge: a removal that succeeds): it is no trouble, its record goes last",
	  { INSTANCE(U1, "mtty-2"), OURS(U1) }, REMOVE, 0, 0,
	  LOCK GONE(U1) END, "- - -" },
	{ "kubevirt-contract 2 (edge: foreign mdevs): an instance without a record stays", { INSTANCE(U1, "mtty-2") }, REMOVE, 0, 0,
	  LOCK ENDED("Refused", "NotOurs", U1, "'message':'no record shows that hostdev created it on mtty for "
	  "'types''"), "i - -" },
	{ "a record that cannot be read owns nothing", { INSTANCE(U1, "mtty-2"), "state/mdevs/" U1 ".json={" }, REMOVE, 0, 0,
	  LOCK ENDED("Refused", "NotOurs", U1, "'message':'no record shows that hostdev created it on mtty for "
	  "'types''"), "ir - -" },
	{ "one that hostdev made for another purpose stays",
	  { INSTANCE(U1, "mtty-2"), RECORD(U1, "mtty-2", "vgpu", "b00t") }, REMOVE, 0, 0,
	  LOCK ENDED("Refused", "NotOurs", U1, "'message':'no record shows that hostdev created it on mtty for "
	  "'types''"), "ir - -" },
	{ "somebody else's instance under an old record of ours stays, and the record goes",
	  { INSTANCE(U1, "mtty-2"), RECORD(U1, "mtty-2", "types", "0ld") }, REMOVE, 0, 0,
	  LOCK STEP(U1, "RemoveRecord") DONE(U1) END, "i - -" },
	{ "an instance of another type than the record's stays, and the record goes",
	  { INSTANCE(U1, "mtty-1"), OURS(U1) }, REMOVE, 0, 0,
	  LOCK STEP(U1, "RemoveRecord") DONE(U1) END, "i - -" },
	{ "the record of what others removed goes", { OURS(U1) }, REMOVE, 0, 0,
	  LOCK STEP(U1, "RemoveRecord") DONE(U1) END, "- - -" },
	{ "what is gone altogether is fine", { NULL }, REMOVE, 0, 0, LOCK DONE(U1) END, "- - -" },
	{ "one that is held stays, and the others go",
	  { INSTANCE(U1, "mtty-2"), OURS(U1), INSTANCE(U2, "mtty-2"), OURS(U2),
	    "sys/devices/virtual/mtty/mtty/" U1 "/iommu_group->../../../../../kernel/iommu_groups/14",
	    "proc/77/comm=qemu\n", "proc/77/fd/5->/dev/vfio/14" },
	  REMOVE " uuid=" U2, 0, 0,
	  LOCK STEP(U1, "CheckHolders") "{'kind':'holder','uuid':'" U1 "','pid':77,'command':'qemu','detail':"
	  "'process 77 (qemu) has /dev/vfio/14 open'}\n" GONE(U2)
	  ENDED("Held", "Held", U1, "'step':'CheckHolders','message':'process 77 (qemu) has /dev/vfio/14 open'"), "ir - -" },
	{ "a kernel that refuses to remove leaves the record", { INSTANCE(U1, "mtty-2"), OURS(U1) }, REMOVE, 1, -EBUSY,
	  LOCK STEP(U1, "CheckHolders") STEP(U1, "Remove")
	  ENDED("Failed", "RemoveFailed", U1, "'step':'Remove','errno':'EBUSY','message':'remove it from mtty: Device or resource "
	  "busy'"), "ir - -" },
	{ "a removal without effect is no success", { INSTANCE(U1, "mtty-2"), OURS(U1) }, REMOVE, 1, NO_EFFECT,
	  LOCK STEP(U1, "CheckHolders") STEP(U1, "Remove")
	  ENDED("Failed", "RemoveFailed", U1, "'step':'Remove','message':'remove it from mtty: the kernel accepted the write, but the device still exists'"), "ir - -" },
	{ "nothing is made where no record can be written", { "state=a file\n" }, CREATE, 0, 0,
	  NULL, "- - -" },
	{ "nothing is made if the boot cannot be told", { "proc/sys/kernel/random/boot_id=\n" }, CREATE, 0, 0,
	  "{'kind':'end','result':'Failed','reason':'StateNotWritable','message':'the kernel's boot id in /proc cannot be read, so "
	  "hostdev could not recognize its instances later'}\n", "- - -" },
};
/* clang-format on */

static void change_matches_table(void **state)
{
	const struct change_case *c = *state;
	auto_free char *lines = NULL;
	struct machine m;

	machine_init(&m, c->entries);
	m.fault_at = c->fault_at;
	m.fault = c->fault;
	lines = machine_run(&m, c->words);
	if (c->says)
		assert_string_equal(lines, c->says);
	else
		assert_non_null(strstr(lines, "'result':'Failed','reason':'StateNotWritable'"));
	assert_leaves(&m, c->leaves);
	tree_done(&m.tree);
}

static void only_one_works_on_a_parent(void **state)
{
	auto_free char *lines = NULL;
	auto_close int fd = -1;
	struct machine m;

	machine_init(&m, NULL);
	tree_add(&m.tree, "state/mdev-mtty.lock=77\n");
	fd = openat(m.tree.fd, "state/mdev-mtty.lock", O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	lines = machine_run(&m, CREATE);
	assert_string_equal(
		lines,
		LOCK "{'kind':'end','result':'Busy','reason':'Busy','step':'WaitLock','pid':77,"
		     "'message':'another hostdev-helper works on mtty'}\n");
	assert_leaves(&m, "- - -");
	tree_done(&m.tree);
}

/* Both verbs, power lost before each of their writes: what is there has a record, and the next run
 * ends as one that was not cut. */
static void power_may_go_at_any_write(void **state)
{
	static const char *const three = CREATE " uuid=" U2 " uuid=" U3;
	static const char *const none = REMOVE " uuid=" U2 " uuid=" U3;

	for (int crash_at = 1; crash_at <= 6; crash_at++) {
		struct machine m;
		int status;
		pid_t pid;

		machine_init(&m, NULL);
		if (crash_at > 3)
			free(machine_run(&m, three));
		m.writes = 0;
		m.crash_at = crash_at > 3 ? crash_at - 3 : crash_at;
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			free(machine_run(&m, crash_at > 3 ? none : three));
			_exit(1);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
		for (size_t i = 0; i < 3; i++) {
			static const char *const uuids[] = { U1, U2, U3 };

			if (has(&m, "sys/bus/mdev/devices/", uuids[i]))
				assert_true(has(&m, "state/mdevs/", uuids[i]));
		}
		m.crash_at = 0;
		free(machine_run(&m, crash_at > 3 ? none : three));
		assert_leaves(&m, crash_at > 3 ? "- - -" : "ir ir ir");
		tree_done(&m.tree);
	}
}

static struct words_case {
	const char *name;
	const char *words[6];
	const char *says;
} words[] = {
	{ "no words", { NULL }, "a word 'parent=' is needed" },
	{ "no owner", { "parent=p" }, "a word 'owner=' is needed" },
	{ "no instance", { "parent=p", "owner=o" }, "a word 'uuid=' is needed" },
	{ "a parent that leads elsewhere",
	  { "parent=../x" },
	  "word 'parent=../x': 'parent' must be a parent's name such as 0000:3b:00.0" },
	{ "a type that leads elsewhere",
	  { "type=." },
	  "word 'type=.': 'type' must be a type's id such as nvidia-222" },
	{ "no UUID", { "uuid=1" }, "word 'uuid=1': 'uuid' must be a UUID" },
	{ "an instance twice", { "uuid=" U1, "uuid=" U1 }, "word 'uuid=" U1 "' is there twice" },
	{ "two parents", { "parent=a", "parent=b" }, "word 'parent=b' is one 'parent=' too many" },
	{ "something else", { "uuids=" U1 }, "word 'uuids=" U1 "' is not known; see --help" },
	{ "no form at all", { "x" }, "word 'x' is not known; see --help" },
};

static void words_are_refused(void **state)
{
	const struct words_case *c = *state;
	char *copies[6] = { NULL };
	struct mdev_job job = { 0 };
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(c->words) && c->words[i]; i++)
		copies[i] = xstrdup(c->words[i]);
	assert_int_equal(mdev_job_parse(copies, &job, &err), -EINVAL);
	assert_string_equal(err.msg, c->says);
	for (size_t i = 0; i < ARRAY_LEN(copies); i++)
		free(copies[i]);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, change_matches_table);
	suite_add(&suite, "one helper at a time works on a parent", only_one_works_on_a_parent,
		  NULL);
	suite_add(&suite, "power may go at any write", power_may_go_at_any_write, NULL);
	suite_rows(&suite, words, words_are_refused);
	return suite_run(&suite, "mdev_change");
}
