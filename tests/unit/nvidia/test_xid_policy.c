/* xid_policy: which Xids make a GPU unhealthy, by NVIDIA's list and the forms of its two
 * variables. */
#include "agent/nvidia/xid_policy.h"

#include "unit/suite.h"

static struct policy_case {
	const char *name;
	const char *ignored;
	const char *fatal;
	uint64_t xid;
	bool is_fatal;
	bool is_off;
} policies[] = {
	{ "a fault of the GPU is fatal", NULL, NULL, 79, true, false },
	{ "an error of an application is not", NULL, NULL, 13, false, false },
	{ "31 neither", NULL, NULL, 31, false, false },
	{ "43 neither", NULL, NULL, 43, false, false },
	{ "45 neither", NULL, NULL, 45, false, false },
	{ "68 neither", NULL, NULL, 68, false, false },
	{ "109 neither", NULL, NULL, 109, false, false },
	{ "one that nobody knows is fatal", NULL, NULL, 999, true, false },
	{ "one that is ignored is not", "79,94", NULL, 94, false, false },
	{ "blanks around a number do not matter", " 79 ,\t94 ", NULL, 94, false, false },
	{ "the others stay fatal", "79,94", NULL, 95, true, false },
	{ "what is no number is skipped", "a,-95,9x,,79", NULL, 95, true, false },
	{ "numbers behind it count", "a,-95,9x,,79", NULL, 79, false, false },
	{ "all are ignored", "all", NULL, 79, false, true },
	{ "xids is the same", "xids", NULL, 79, false, true },
	{ "case does not matter", "XIDs", NULL, 79, false, true },
	{ "all counts among others", "94,All,95", NULL, 79, false, true },
	{ "allx is none", "allx", NULL, 79, true, false },
	{ "a fatal one goes before one that is ignored", "79", "79", 79, true, false },
	{ "a fatal one goes before NVIDIA's list", NULL, "109", 109, true, false },
	{ "it goes before all", "all", "109", 109, true, false },
	{ "and all the others stay ignored", "all", "109", 79, false, false },
	{ "all can be fatal", NULL, "all", 13, true, false },
	{ "even if all are ignored", "all", "all", 13, true, false },
	{ "empty texts are none", "", "", 79, true, false },
};

static void policy_matches_table(void **state)
{
	const struct policy_case *c = *state;
	struct xid_policy policy;

	xid_policy_init(&policy, c->ignored, c->fatal);
	assert_int_equal(xid_policy_is_fatal(&policy, c->xid), c->is_fatal);
	assert_int_equal(xid_policy_is_off(&policy), c->is_off);
	xid_policy_done(&policy);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, policies, policy_matches_table);
	return suite_run(&suite, "xid_policy");
}
