/* transition: a write that fails, or power that goes, at every write; the next run finishes. */
#include <sys/wait.h>

#include "unit/helper/machine.h"

#define A "0000:01:00.0"
#define B "0000:01:00.1"
#define C "0000:01:00.2"
#define GROUP                              \
	MACHINE_WORDS(A, " native=e1000e") \
	" " MACHINE_WORDS(B, " native=e1000e") " " MACHINE_WORDS(C, " native=")

enum { GROUP_WRITES_MAX = 12 }; /* three for each function, and what a change would add */

static const char *const addresses[] = { A, B, C };

/* Two functions with a driver and one without; the first is a virtual one that drivers are not
 * offered. */
static void group_init(struct machine *m)
{
	machine_init(m);
	machine_add(m, A, "e1000e", NULL);
	machine_add(m, B, "e1000e", NULL);
	machine_add(m, C, NULL, NULL);
	tree_add(&m->tree, "sys/bus/pci/devices/" A "/physfn/sriov_drivers_autoprobe=0\n");
	m->records_come_first = true;
}

SUITE_FIXTURE(group, struct machine, group_init, machine_done);

static void bind_whole(struct machine *m)
{
	auto_str struct str said = STR_INIT;

	machine_run(m, TRANSITION_BIND, GROUP, &said);
	assert_non_null(strstr(str_cstr(&said), "'result':'Done'"));
}

static bool is_bound(struct machine *m)
{
	bool bound = true;

	for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
		auto_free char *seen = machine_state(m, addresses[i]);

		bound = bound && strcmp(seen, "vfio-pci vfio-pci") == 0 &&
			machine_has_record(m, addresses[i]);
	}
	return bound;
}

static bool is_restored(struct machine *m, const char *address)
{
	auto_free char *seen = machine_state(m, address);
	const char *wanted = strcmp(address, C) == 0 ? "- -" : "e1000e -";

	return strcmp(seen, wanted) == 0 && !machine_has_record(m, address);
}

static size_t restored(struct machine *m)
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(addresses); i++)
		n += is_restored(m, addresses[i]) ? 1 : 0;
	return n;
}

/* clang-format off */
static struct fault_case {
	const char *name;
	int fault;
	const char *said;
} faults[] = {
	{ "busy", -EBUSY, "'errno':'EBUSY'" },
	{ "no such device", -ENODEV, "'errno':'ENODEV'" },
	{ "invalid", -EINVAL, "'errno':'EINVAL'" },
	{ "input/output error", -EIO, "'errno':'EIO'" },
	{ "not permitted", -EPERM, "'errno':'EPERM'" },
	{ "taken without effect", MACHINE_NO_EFFECT, "but nothing changed" },
};
/* clang-format on */

/* One failed write of a bind: the group is as it was, and the next run binds it. */
static void bind_rolls_back(void **state)
{
	const struct fault_case *c = *state;
	int at = 1;

	for (;; at++) {
		auto_str struct str said = STR_INIT;
		struct machine m;

		group_init(&m);
		m.fault_at = at;
		m.fault = c->fault;
		machine_run(&m, TRANSITION_BIND, GROUP, &said);
		if (m.writes < at) {
			assert_true(is_bound(&m));
			machine_done(&m);
			break;
		}
		assert_non_null(strstr(str_cstr(&said), "'result':'Failed'"));
		assert_non_null(strstr(str_cstr(&said), c->said));
		assert_non_null(strstr(str_cstr(&said), "'step':'Rollback'"));
		assert_int_equal(restored(&m), ARRAY_LEN(addresses));
		m.fault_at = 0;
		bind_whole(&m);
		assert_true(is_bound(&m));
		machine_done(&m);
	}
	assert_in_range(at, 9, GROUP_WRITES_MAX);
}

/* No write works any more: what is not restored keeps its record, and the next run binds it all. */
static void bind_keeps_records(void **state)
{
	const struct fault_case *c = *state;

	for (int at = 1; at <= 8; at++) {
		auto_str struct str said = STR_INIT;
		struct machine m;

		group_init(&m);
		m.fault_at = at;
		m.fault_stays = true;
		m.fault = c->fault;
		machine_run(&m, TRANSITION_BIND, GROUP, &said);
		assert_non_null(strstr(str_cstr(&said), "'result':'Failed'"));
		for (size_t i = 0; i < ARRAY_LEN(addresses); i++)
			assert_true(machine_has_record(&m, addresses[i]) ||
				    is_restored(&m, addresses[i]));
		m.fault_at = 0;
		bind_whole(&m);
		assert_true(is_bound(&m));
		machine_done(&m);
	}
}

/* What fails on the way back does not hide why there was one. */
static void first_cause_is_reported(void **state)
{
	auto_str struct str said = STR_INIT;
	struct machine *m = *state;

	m->fault_at = 2;
	m->fault_stays = true;
	m->fault = -EIO;
	machine_run(m, TRANSITION_BIND, GROUP, &said);
	assert_non_null(strstr(str_cstr(&said),
			       "'reason':'UnbindFailed','address':'" A "','step':'Unbind'"));
}

/* One failed write of a release: the other functions come back all the same, this one keeps its
 * record, and the next run brings it back. */
static void release_goes_on(void **state)
{
	const struct fault_case *c = *state;
	int at = 1;

	for (;; at++) {
		auto_str struct str said = STR_INIT;
		auto_str struct str again = STR_INIT;
		struct machine m;

		group_init(&m);
		bind_whole(&m);
		m.fault_at = m.writes + at;
		m.fault = c->fault;
		machine_run(&m, TRANSITION_RELEASE, GROUP, &said);
		if (m.writes < m.fault_at) {
			assert_int_equal(restored(&m), ARRAY_LEN(addresses));
			machine_done(&m);
			break;
		}
		assert_non_null(strstr(str_cstr(&said), "'result':'Failed'"));
		assert_non_null(strstr(str_cstr(&said), c->said));
		assert_int_equal(restored(&m), ARRAY_LEN(addresses) - 1);
		m.fault_at = 0;
		machine_run(&m, TRANSITION_RELEASE, GROUP, &again);
		assert_non_null(strstr(str_cstr(&again), "'result':'Done'"));
		assert_int_equal(restored(&m), ARRAY_LEN(addresses));
		machine_done(&m);
	}
	assert_in_range(at, 9, GROUP_WRITES_MAX);
}

/* The kernel says no and has done it all the same: what counts is what is there. */
static void effect_counts(void **state)
{
	struct machine *m = *state;

	m->fault_at = 1;
	m->fault_stays = true;
	m->fault = MACHINE_ERROR_ONLY;
	bind_whole(m);
	assert_true(is_bound(m));
}

/* Run @verb in a process of its own that dies before its @at-th write; false if it came to its
 * end. */
static bool crash_at(struct machine *m, enum transition_verb verb, int at)
{
	int status = 0;
	pid_t pid;

	m->crash_at = at;
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct str said = STR_INIT;

		machine_run(m, verb, GROUP, &said);
		str_done(&said);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	m->crash_at = 0;
	return WEXITSTATUS(status) == 0;
}

/* However often the power goes, and wherever: the next undisturbed run ends like the first would,
 * forwards and back. */
static void crashes_do_not_matter(void **state)
{
	enum transition_verb verb = *(const enum transition_verb *)*state;
	int at = 1;
	bool died = true;

	for (; died; at++) {
		auto_str struct str said = STR_INIT;
		struct machine forth;
		struct machine back;

		group_init(&forth);
		group_init(&back);
		if (verb == TRANSITION_RELEASE) {
			bind_whole(&forth);
			bind_whole(&back);
			forth.writes = back.writes = 0;
		}
		died = crash_at(&forth, verb, at);
		assert_true(crash_at(&back, verb, at) == died);
		bind_whole(&forth);
		assert_true(is_bound(&forth));
		machine_run(&back, TRANSITION_RELEASE, GROUP, &said);
		assert_non_null(strstr(str_cstr(&said), "'result':'Done'"));
		assert_int_equal(restored(&back), ARRAY_LEN(addresses));
		machine_done(&forth);
		machine_done(&back);
	}
	assert_in_range(at, 9, GROUP_WRITES_MAX);
}

int main(void)
{
	static enum transition_verb verbs[] = { TRANSITION_BIND, TRANSITION_RELEASE };
	struct suite suite = { 0 };

	suite_rows(&suite, faults, bind_rolls_back);
	suite_rows(&suite, faults, bind_keeps_records);
	suite_rows(&suite, faults, release_goes_on);
	suite_add(&suite, "power goes at any write of a bind", crashes_do_not_matter, &verbs[0]);
	suite_add(&suite, "power goes at any write of a release", crashes_do_not_matter, &verbs[1]);
	suite_fixture(&suite, &group_fixture);
	suite_add(&suite, "the first cause is reported", first_cause_is_reported, NULL);
	suite_add(&suite, "what is there counts, not what a write says", effect_counts, NULL);
	return suite_run(&suite, "transition_faults");
}
