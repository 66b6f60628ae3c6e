#include "api/reason.h"

#include <string.h>

#include "unit/suite.h"

static const char *const states[] = { "ready", "waiting", "refused", "held", "stuck", "failed" };

static bool is_state(const char *text)
{
	for (size_t i = 0; i < ARRAY_LEN(states); i++) {
		if (strcmp(states[i], text) == 0)
			return true;
	}
	return false;
}

/* The metric of claims has the first row for what is ready, and a state for every other. */
static void claims_have_a_state_for_each_reason(void **state)
{
	static const unsigned kinds[] = { REASON_PCI_CLAIM, REASON_USB_CLAIM };

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const struct reason *reason;
		size_t cursor = 0;
		size_t len = 0;

		while ((reason = reason_next(kinds[i], &cursor))) {
			assert_true(reason->state && is_state(reason->state));
			assert_int_equal(strcmp(reason->state, "ready") == 0, len++ == 0);
		}
		assert_true(len > 10);
	}
}

static void no_reason_is_there_twice(void **state)
{
	const struct reason *reason;
	size_t cursor = 0;

	while ((reason = reason_next(~0U, &cursor)))
		assert_ptr_equal(reason_find(reason->name), reason);
}

static struct flag_case {
	const char *name;
	const char *reason;
	unsigned flags;
	bool is;
} flags[] = {
	/* clang-format off */
	{ "a mounted disk is in use", "HostFilesystem", REASON_USE, true },
	{ "what cannot be seen may be in use", "UseUnknown", REASON_USE, true },
	{ "a bridge is not in use", "HostBridge", REASON_USE, false },
	{ "the node needs its console", "Console", REASON_CRITICAL, true },
	{ "the node can do without what is in use", "InUse", REASON_CRITICAL, false },
	{ "binding is a step on the way", "Binding", REASON_PROGRESS, true },
	{ "a refusal is none", "NameTaken", REASON_PROGRESS, false },
	{ "one of two flags is enough", "InUse", REASON_CRITICAL | REASON_USE, true },
	{ "a reason that the table does not have is nothing", "Unheard", ~0U, false },
	{ "no reason is nothing", NULL, ~0U, false },
	/* clang-format on */
};

static void flags_are_as_the_table_says(void **state)
{
	const struct flag_case *c = *state;

	assert_int_equal(reason_is(c->reason, c->flags), c->is);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "claims have a state for each reason",
		  claims_have_a_state_for_each_reason, NULL);
	suite_add(&suite, "no reason is there twice", no_reason_is_there_twice, NULL);
	suite_rows(&suite, flags, flags_are_as_the_table_says);
	return suite_run(&suite, "reason");
}
