#include "api/condition.h"

#include <string.h>

#include "base/str.h"
#include "base/utf8.h"
#include "unit/suite.h"

#define T1 "2026-01-02T03:04:05Z"
#define T2 "2026-01-02T03:05:05Z"

enum { T1_MS = 0, T2_MS = 60000 };
static const int64_t epoch_ms = 1767323045000; /* T1 */

static void done(struct api_conditions *list)
{
	while (list->len)
		assert_true(api_conditions_remove(list, list->items[0].type));
	free(list->items);
}

SUITE_CLOSING(api_conditions, struct api_conditions, done);

/* A second value after a first at T1: what changes, and which time stands. */
static struct set_case {
	const char *name;
	struct api_condition_value second;
	bool changed;
	const char *time;
} sets[] = {
	{ "the same again changes nothing",
	  { "Ready", API_FALSE, "Waiting", "for x", 1 },
	  false,
	  T1 },
	{ "another message keeps the time",
	  { "Ready", API_FALSE, "Waiting", "for y", 1 },
	  true,
	  T1 },
	{ "no message after one keeps the time",
	  { "Ready", API_FALSE, "Waiting", NULL, 1 },
	  true,
	  T1 },
	{ "another reason keeps the time", { "Ready", API_FALSE, "Stuck", "for x", 1 }, true, T1 },
	{ "another generation keeps the time",
	  { "Ready", API_FALSE, "Waiting", "for x", 2 },
	  true,
	  T1 },
	{ "another status moves the time", { "Ready", API_TRUE, "Waiting", "for x", 1 }, true, T2 },
	{ "an unknown status moves it too",
	  { "Ready", API_UNKNOWN, "Waiting", "for x", 1 },
	  true,
	  T2 },
};

static void second_value_counts(void **state)
{
	static const struct api_condition_value first = { "Ready", API_FALSE, "Waiting", "for x",
							  1 };
	const struct set_case *c = suite_row(state);
	struct api_conditions *list = *state;
	const struct api_condition *condition;

	assert_true(api_conditions_set(list, &first, epoch_ms + T1_MS));
	assert_int_equal(api_conditions_set(list, &c->second, epoch_ms + T2_MS), c->changed);
	assert_int_equal(list->len, 1);

	condition = api_conditions_find(list, "Ready");
	assert_string_equal(condition->last_transition_time, c->time);
	assert_string_equal(condition->reason, c->second.reason);
	assert_string_equal(condition->message, c->second.message ? c->second.message : "");
	assert_int_equal(condition->observed_generation, c->second.observed_generation);
	assert_int_equal(api_conditions_status(list, "Ready"), c->second.status);
}

static void types_are_apart(void **state)
{
	struct api_conditions *list = *state;
	struct api_condition_value value = { "Ready", API_TRUE, "Bound", NULL, 0 };

	assert_null(api_conditions_find(list, "Ready"));
	assert_int_equal(api_conditions_status(list, "Ready"), API_UNKNOWN);
	api_conditions_set(list, &value, epoch_ms);
	value.type = "Claimable";
	value.status = API_FALSE;
	api_conditions_set(list, &value, epoch_ms);
	assert_int_equal(list->len, 2);
	assert_int_equal(api_conditions_status(list, "Ready"), API_TRUE);
	assert_int_equal(api_conditions_status(list, "Claimable"), API_FALSE);
	assert_true(api_conditions_remove(list, "Ready"));
	assert_false(api_conditions_remove(list, "Ready"));
	assert_int_equal(api_conditions_status(list, "Claimable"), API_FALSE);
	assert_null(api_conditions_find(list, "Ready"));
}

static struct foreign_case {
	const char *name;
	const char *json;
	enum api_truth status;
} foreigns[] = {
	{ "a foreign condition that is true", "{\"type\":\"A\",\"status\":\"True\"}", API_TRUE },
	{ "a status in lower case is not known", "{\"type\":\"A\",\"status\":\"true\"}",
	  API_UNKNOWN },
	{ "a condition without a status is unknown", "{\"type\":\"A\"}", API_UNKNOWN },
	{ "a condition without a type is nobody's", "{\"status\":\"True\"}", API_UNKNOWN },
};

static void foreign_conditions_are_read(void **state)
{
	const struct foreign_case *c = *state;
	struct api_condition_value value = { "A", API_TRUE, "R", NULL, 0 };
	struct api_conditions list = { 0 };

	list.items = xcalloc(1, sizeof(*list.items));
	list.len = list.cap = 1;
	assert_int_equal(
		json_map_parse(api_condition_map, c->json, strlen(c->json), &list.items[0], NULL),
		0);
	assert_int_equal(api_conditions_status(&list, "A"), c->status);
	api_conditions_set(&list, &value, epoch_ms);
	assert_int_equal(api_conditions_status(&list, "A"), API_TRUE);

	for (size_t i = 0; i < list.len; i++)
		json_map_done(api_condition_map, &list.items[i]);
	free(list.items);
}

static void what_metav1_requires_is_always_written(void **state)
{
	struct api_condition_value value = { "Ready", API_TRUE, "Bound", NULL, 0 };
	struct api_conditions *list = *state;
	auto_json json_t *json = NULL;
	auto_free char *text = NULL;

	api_conditions_set(list, &value, epoch_ms);
	json = json_map_encode(api_condition_map, &list->items[0]);
	text = json_map_text(json);
	assert_string_equal(text, "{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"Bound\","
				  "\"message\":\"\",\"lastTransitionTime\":\"" T1 "\"}");
}

/* The kernel's bytes may stand in a message, and the same ones again are no change. */
static void messages_are_cleaned(void **state)
{
	struct api_condition_value value = { "Ready", API_FALSE, "Held", "by '\xff\n'", 0 };
	struct api_conditions *list = *state;

	assert_true(api_conditions_set(list, &value, epoch_ms));
	assert_string_equal(list->items[0].message, "by '\\xff\\x0a'");
	assert_false(api_conditions_set(list, &value, epoch_ms));
}

static void long_messages_are_cut(void **state)
{
	static const char *const units[] = { "x", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x92\xbb" };

	for (size_t i = 0; i < ARRAY_LEN(units) * 4; i++) {
		auto_str struct str text = STR_INIT;
		struct api_condition_value value = { "Ready", API_FALSE, "Held", NULL, 0 };
		struct api_conditions list = { 0 };
		size_t len;

		str_addf(&text, "%.*s", (int)(i / ARRAY_LEN(units)), "abc");
		while (text.len <= API_MESSAGE_MAX)
			str_add(&text, units[i % ARRAY_LEN(units)]);
		value.message = text.buf;
		assert_true(api_conditions_set(&list, &value, epoch_ms));
		assert_false(api_conditions_set(&list, &value, epoch_ms));
		len = strlen(list.items[0].message);
		assert_in_range(len, API_MESSAGE_MAX - 3, API_MESSAGE_MAX);
		assert_true(utf8_valid(list.items[0].message, len));
		assert_string_equal(list.items[0].message + len - 3, "...");
		done(&list);
	}
}

static void add_types(struct api_conditions *list, const char *prefix, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		auto_free char *type = xasprintf("%s%zu", prefix, i);

		api_conditions_set(list,
				   &(struct api_condition_value){
					   .type = type, .status = API_TRUE, .reason = "R" },
				   epoch_ms);
	}
}

/* Ours stay wherever they are, and the first of the others. */
static void there_is_room_for_ours(void **state)
{
	static const char *const ours[] = { "Ours0", "Ours1" };
	struct api_conditions *list = *state;

	add_types(list, "Foreign", 3);
	api_conditions_make_room(list, ours, ARRAY_LEN(ours));
	assert_int_equal(list->len, 3);
	add_types(list, "More", 14);
	add_types(list, "Ours", 1);
	api_conditions_make_room(list, ours, ARRAY_LEN(ours));
	assert_int_equal(list->len, API_CONDITIONS_MAX - 1);
	assert_non_null(api_conditions_find(list, "More10"));
	assert_null(api_conditions_find(list, "More11"));
	assert_non_null(api_conditions_find(list, "Ours0"));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, foreigns, foreign_conditions_are_read);
	suite_add(&suite, "long messages are cut between characters", long_messages_are_cut, NULL);
	suite_fixture(&suite, &api_conditions_fixture);
	suite_rows(&suite, sets, second_value_counts);
	suite_add(&suite, "conditions of two types are apart", types_are_apart, NULL);
	suite_add(&suite, "what metav1 requires is always written",
		  what_metav1_requires_is_always_written, NULL);
	suite_add(&suite, "messages are cleaned", messages_are_cleaned, NULL);
	suite_fixture(&suite, &api_conditions_fixture);
	suite_add(&suite, "there is room for our conditions among those of others",
		  there_is_room_for_ours, NULL);
	return suite_run(&suite, "condition");
}
