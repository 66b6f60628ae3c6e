/*
 * mdev-create and mdev-remove that are killed before or after each of their durable steps: what was
 * made has a record at every moment, and the next run brings record and kernel tree together.
 */
#include <signal.h>
#include <sys/wait.h>

#include "unit/helper/mdev_machine.h"

#define MAKE_ALL   CREATE " uuid=" U2 " uuid=" U3
#define REMOVE_ALL REMOVE " uuid=" U2 " uuid=" U3

enum { INSTANCES = 3 };

static const char *const uuids[INSTANCES] = { U1, U2, U3 };

/* Where a run that makes or removes all of three dies: at the first instance that is not done
 * yet. */
static struct crash_case {
	const char *name;
	const char *failpoint;
	const char *words;
	size_t done;        /* instances that a run before has made or left */
	const char *leaves; /* what there is when it has died               */
} cases[] = {
	/* clang-format off */
	{ "made: killed before the record", "mdev-record-before", MAKE_ALL, 0, "- - -" },
	{ "made: killed after the record", "mdev-record-after", MAKE_ALL, 0, "r - -" },
	{ "made: killed before the write to the kernel", "mdev-create-before", MAKE_ALL, 0, "r - -" },
	{ "made: killed after the write to the kernel", "mdev-create-after", MAKE_ALL, 0, "ir - -" },
	{ "made, the second: killed before the record", "mdev-record-before", MAKE_ALL, 1, "ir - -" },
	{ "made, the second: killed after the record", "mdev-record-after", MAKE_ALL, 1, "ir r -" },
	{ "made, the second: killed before the write to the kernel", "mdev-create-before", MAKE_ALL, 1, "ir r -" },
	{ "made, the second: killed after the write to the kernel", "mdev-create-after", MAKE_ALL, 1, "ir ir -" },
	{ "made, the last: killed after the write to the kernel", "mdev-create-after", MAKE_ALL, 2, "ir ir ir" },
	{ "removed: killed before the write to the kernel", "mdev-remove-before", REMOVE_ALL, 3, "ir ir ir" },
	{ "removed: killed after the write to the kernel", "mdev-remove-after", REMOVE_ALL, 3, "r ir ir" },
	{ "removed: killed before the record goes", "mdev-record-remove-before", REMOVE_ALL, 3, "r ir ir" },
	{ "removed: killed after the record has gone", "mdev-record-remove-after", REMOVE_ALL, 3, "- ir ir" },
	{ "removed, the only one: killed before the write to the kernel", "mdev-remove-before", REMOVE_ALL, 1, "ir - -" },
	{ "removed, the only one: killed after the write to the kernel", "mdev-remove-after", REMOVE_ALL, 1, "r - -" },
	{ "removed, the only one: killed before the record goes", "mdev-record-remove-before", REMOVE_ALL, 1, "r - -" },
	{ "removed, the only one: killed after the record has gone", "mdev-record-remove-after", REMOVE_ALL, 1, "- - -" },
	/* clang-format on */
};

/* With the first instances made. */
static void machine_init_made(struct machine *m, size_t made)
{
	auto_str struct str words = STR_INIT;

	machine_init(m, NULL);
	if (made == 0)
		return;
	str_add(&words, CREATE);
	for (size_t i = 1; i < made && i < INSTANCES; i++)
		str_addf(&words, " uuid=%s", uuids[i]);
	free(machine_run(m, str_cstr(&words)));
}

static void run_killed(struct machine *m, const char *words, const char *failpoint)
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		setenv("HOSTDEV_FAILPOINT", failpoint, 1);
		free(machine_run(m, words));
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* A run that must come to its end. */
static void run_finished(struct machine *m, const char *words)
{
	auto_free char *lines = machine_run(m, words);

	assert_non_null(strstr(lines, "{'kind':'end','result':'Done'}"));
}

static void assert_recorded(const struct machine *m)
{
	for (size_t i = 0; i < INSTANCES; i++) {
		if (has(m, "sys/bus/mdev/devices/", uuids[i]))
			assert_true(has(m, "state/mdevs/", uuids[i]));
	}
}

/* A power cut takes the instances along. */
static void reboot(struct machine *m)
{
	for (size_t i = 0; i < INSTANCES; i++) {
		if (has(m, "sys/bus/mdev/devices/", uuids[i]))
			lose_instance(m, uuids[i]);
	}
	tree_add(&m->tree, "proc/sys/kernel/random/boot_id=b00t-2\n");
}

/* The next run may be the same one, the opposite one, or one after a reboot. */
static const struct next {
	const char *words;
	bool reboots;
	const char *leaves;
} nexts[] = {
	{ MAKE_ALL, false, "ir ir ir" },
	{ REMOVE_ALL, false, "- - -" },
	{ MAKE_ALL, true, "ir ir ir" },
	{ REMOVE_ALL, true, "- - -" },
};

static void the_next_run_puts_it_right(void **state)
{
	const struct crash_case *c = *state;

	for (size_t i = 0; i < ARRAY_LEN(nexts); i++) {
		const struct next *next = &nexts[i];
		struct machine m;

		machine_init_made(&m, c->done);
		run_killed(&m, c->words, c->failpoint);
		assert_leaves(&m, c->leaves);
		assert_recorded(&m);
		if (next->reboots)
			reboot(&m);
		run_finished(&m, next->words);
		assert_leaves(&m, next->leaves);
		run_finished(&m, next->words); /* and it is at rest */
		assert_leaves(&m, next->leaves);
		tree_done(&m.tree);
	}
}

/* What somebody else makes meanwhile under the UUID of a record that has outlived a crash is
 * his. */
static void a_record_without_instance_claims_nothing_of_others(void **state)
{
	struct machine m;

	machine_init_made(&m, 0);
	run_killed(&m, MAKE_ALL, "mdev-record-after");
	make_instance(&m, U1, "mtty-1");
	run_finished(&m, REMOVE_ALL);
	assert_leaves(&m, "i - -");
	tree_done(&m.tree);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, the_next_run_puts_it_right);
	suite_add(&suite, "a record without its instance claims nothing of others",
		  a_record_without_instance_claims_nothing_of_others, NULL);
	return suite_run(&suite, "mdev_crash");
}
