#include "kube/expectations.h"

#include "kube/store.h"
#include "unit/suite.h"

enum { NOW = 1000 };

/* What the API server told at NOW, what the store has 100 ms later, and how long that is not to be
 * believed. */
static struct expectation_case {
	const char *name;
	enum { NOTHING_TOLD, TOLD_IS, TOLD_IS_NOT } told;
	const char *told_version;
	const char *seen; /* NULL: no entry */
	uint64_t wait_ms;
} cases[] = {
	{ "a store of which nothing was told is believed", NOTHING_TOLD, NULL, "5", 0 },
	{ "the version that was told is believed", TOLD_IS, "5", "5", 0 },
	{ "any other version is not yet", TOLD_IS, "5", "4", EXPECTATIONS_MS - 100 },
	{ "an object that was just made is not there yet", TOLD_IS, "5", NULL,
	  EXPECTATIONS_MS - 100 },
	{ "one that was told gone and is gone is believed", TOLD_IS, NULL, NULL, 0 },
	{ "one that was told gone and is there is not yet", TOLD_IS, NULL, "5",
	  EXPECTATIONS_MS - 100 },
	{ "the version that it is not is not believed", TOLD_IS_NOT, "5", "5",
	  EXPECTATIONS_MS - 100 },
	{ "any other than the one that it is not is", TOLD_IS_NOT, "5", "6", 0 },
};

static struct entry *entry_of(struct entry *entry, const char *version)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the entry does not write to it */
	entry->version = (char *)(uintptr_t)version;
	return version ? entry : NULL;
}

static void tell(struct expectations *expectations, const struct expectation_case *c)
{
	if (c->told == TOLD_IS)
		expectations_add(expectations, "a", c->told_version, NOW);
	if (c->told == TOLD_IS_NOT)
		expectations_add_other(expectations, "a", c->told_version, NOW);
}

SUITE_OBJECT(expectations, expectations_new(), expectations_free);

static void store_is_believed_or_not(void **state)
{
	const struct expectation_case *c = suite_row(state);
	struct expectations *expectations = *state;
	struct entry entry = { 0 };

	tell(expectations, c);
	assert_int_equal(expectations_wait_ms(expectations, "b", NULL, NOW + 100), 0);
	assert_int_equal(
		expectations_wait_ms(expectations, "a", entry_of(&entry, c->seen), NOW + 100),
		c->wait_ms);
	/* A watch that is behind for so long is believed again, and for good. */
	assert_int_equal(expectations_wait_ms(expectations, "a", entry_of(&entry, c->seen),
					      NOW + EXPECTATIONS_MS),
			 0);
	assert_int_equal(
		expectations_wait_ms(expectations, "a", entry_of(&entry, c->seen), NOW + 100), 0);
}

/* What a change of the store says: heard once, it counts although the store has gone on since. */
static struct hear_case {
	const char *name;
	const char *heard;
	uint64_t wait_ms;
} hears[] = {
	{ "a version that passed by was there", "5", 0 },
	{ "a removal ends every version", NULL, 0 },
	{ "another version says nothing", "4", EXPECTATIONS_MS },
};

static void change_is_heard(void **state)
{
	const struct hear_case *c = suite_row(state);
	struct expectations *expectations = *state;
	struct entry entry = { 0 };

	expectations_add(expectations, "a", "5", NOW);
	expectations_observe(expectations, "b", NULL);
	expectations_observe(expectations, "a", entry_of(&entry, c->heard));
	assert_int_equal(expectations_wait_ms(expectations, "a", entry_of(&entry, "9"), NOW),
			 c->wait_ms);
}

static void the_last_word_counts(void **state)
{
	struct expectations *expectations = expectations_new();
	struct entry entry = { 0 };

	expectations_add(expectations, "a", "5", NOW);
	expectations_add(expectations, "a", "6", NOW + 1000);
	assert_int_equal(expectations_wait_ms(expectations, "a", entry_of(&entry, "5"), NOW + 1000),
			 EXPECTATIONS_MS);
	assert_int_equal(expectations_wait_ms(expectations, "a", entry_of(&entry, "6"), NOW + 1000),
			 0);
	expectations_free(expectations);
	assert_null(expectations_free(NULL));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "what was told last counts", the_last_word_counts, NULL);
	suite_fixture(&suite, &expectations_fixture);
	suite_rows(&suite, cases, store_is_believed_or_not);
	suite_rows(&suite, hears, change_is_heard);
	return suite_run(&suite, "expectations");
}
