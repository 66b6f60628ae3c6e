#include "api/json_values.h"

#include <string.h>

#include "base/str.h"
#include "unit/suite.h"

static void texts_are_copied_and_found(void **state)
{
	struct json_strs list = { 0 };
	char text[] = "pm";

	json_strs_add(&list, text);
	text[0] = 'x';
	assert_true(json_strs_has(&list, "pm"));
	assert_false(json_strs_has(&list, "xm"));

	assert_false(json_strs_add_new(&list, "pm"));
	assert_true(json_strs_add_new(&list, "flr"));
	assert_int_equal(list.len, 2);
	json_strs_done(&list);
	assert_int_equal(list.len, 0);
	assert_false(json_strs_has(&list, "pm"));
}

SUITE_CLOSING(json_strs, struct json_strs, json_strs_done);
SUITE_CLOSING(json_pairs, struct json_pairs, json_pairs_done);

static void removing_takes_every_copy(void **state)
{
	struct json_strs *list = *state;

	json_strs_add(list, "a");
	json_strs_add(list, "b");
	json_strs_add(list, "a");
	assert_true(json_strs_remove(list, "a"));
	assert_false(json_strs_remove(list, "a"));
	assert_int_equal(list->len, 1);
	assert_string_equal(list->items[0], "b");
}

static void order_counts_for_texts(void **state)
{
	struct json_strs a = { 0 };
	struct json_strs *b = *state;

	json_strs_sort(&a); /* nothing to sort yet */
	assert_true(json_strs_equal(&a, b));
	json_strs_add(&a, "0000:00:1f.3");
	assert_false(json_strs_equal(&a, b));
	json_strs_add(&a, "0000:00:1f.0");
	json_strs_add(b, "0000:00:1f.0");
	json_strs_add(b, "0000:00:1f.3");
	assert_false(json_strs_equal(&a, b));
	json_strs_sort(&a);
	assert_true(json_strs_equal(&a, b));
	json_strs_done(&a);
}

static void setting_says_whether_it_changed(void **state)
{
	struct json_pairs list = { 0 };

	assert_true(json_pairs_set(&list, "nodename", "a"));
	assert_false(json_pairs_set(&list, "nodename", "a"));
	assert_true(json_pairs_set(&list, "nodename", "b"));
	assert_string_equal(json_pairs_get(&list, "nodename"), "b");
	assert_true(json_pairs_set(&list, "empty", ""));
	assert_string_equal(json_pairs_get(&list, "empty"), "");
	assert_null(json_pairs_get(&list, "absent"));
	assert_true(json_pairs_remove(&list, "nodename"));
	assert_false(json_pairs_remove(&list, "nodename"));
	assert_int_equal(list.len, 1);
	json_pairs_done(&list);
	assert_null(json_pairs_get(&list, "empty"));
}

static void a_value_can_come_from_the_list(void **state)
{
	struct json_pairs *list = *state;

	json_pairs_set(list, "b", "old");
	json_pairs_set(list, "a", json_pairs_get(list, "b"));
	json_pairs_set(list, "b", json_pairs_get(list, "a") + 1);
	assert_string_equal(json_pairs_get(list, "a"), "old");
	assert_string_equal(json_pairs_get(list, "b"), "ld");
}

/* Whatever is set and removed in whatever order, the list is ordered, and equal to one that was
 * filled in order. */
static void pairs_do_not_remember_history(void **state)
{
	bool there[16] = { false };
	struct json_pairs *list = *state;
	uint64_t seed = 1;

	for (int round = 0; round < 2000; round++) {
		struct json_pairs fresh = { 0 };
		size_t i = suite_random(&seed) % ARRAY_LEN(there);
		char key[] = { 'k', "0123456789abcdef"[i], '\0' };

		if (suite_random(&seed) % 2)
			assert_int_equal(json_pairs_set(list, key, "v"), !there[i]);
		else
			assert_int_equal(json_pairs_remove(list, key), there[i]);
		there[i] = json_pairs_get(list, key) != NULL;

		for (i = 0; i < ARRAY_LEN(there); i++) {
			key[1] = "0123456789abcdef"[i];
			if (there[i])
				json_pairs_set(&fresh, key, "v");
		}
		assert_true(json_pairs_equal(list, &fresh));
		for (i = 1; i < list->len; i++)
			assert_true(strcmp(list->items[i - 1].key, list->items[i].key) < 0);
		json_pairs_done(&fresh);
	}
}

static void pairs_differ_by_key_value_and_number(void **state)
{
	struct json_pairs a = { 0 };
	struct json_pairs *b = *state;

	json_pairs_set(&a, "k", "v");
	assert_false(json_pairs_equal(&a, b));
	json_pairs_set(b, "k", "w");
	assert_false(json_pairs_equal(&a, b));
	json_pairs_remove(b, "k");
	json_pairs_set(b, "l", "v");
	assert_false(json_pairs_equal(&a, b));
	json_pairs_done(&a);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "texts are copied and found", texts_are_copied_and_found, NULL);
	suite_add(&suite, "set tells whether it changed anything", setting_says_whether_it_changed,
		  NULL);
	suite_fixture(&suite, &json_strs_fixture);
	suite_add(&suite, "removing takes every copy", removing_takes_every_copy, NULL);
	suite_add(&suite, "lists are equal in the same order only", order_counts_for_texts, NULL);
	suite_fixture(&suite, &json_pairs_fixture);
	suite_add(&suite, "a value may come from the list itself", a_value_can_come_from_the_list,
		  NULL);
	suite_add(&suite, "pairs do not remember in which order they came",
		  pairs_do_not_remember_history, NULL);
	suite_add(&suite, "pairs differ by key, by value and by number",
		  pairs_differ_by_key_value_and_number, NULL);
	return suite_run(&suite, "json_values");
}
