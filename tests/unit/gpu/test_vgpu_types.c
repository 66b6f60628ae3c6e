#include "agent/gpu/gpu_cards.h"

#include <string.h>

#include "api/json_values.h"
#include "base/str.h"
#include "unit/suite.h"

static struct types_case {
	const char *name;
	const char *text;
	const char *types; /* "name=id;" for each, by name */
} cases[] = {
	{ "a driver's table",
	  "ID    : vGPU Name\n"
	  "1145  : NVIDIA A2-2B\n"
	  "1146  : NVIDIA A2-4C\n"
	  "1147  : NVIDIA A2-8C\n",
	  "NVIDIA A2-2B=1145;NVIDIA A2-4C=1146;NVIDIA A2-8C=1147;" },
	{ "nothing can be made now: the header alone", "ID    : vGPU Name\n", "" },
	{ "nothing at all", "", "" },
	{ "a table without an end of line", "557 : NVIDIA A40-1Q", "NVIDIA A40-1Q=557;" },
	{ "blanks do not count", "\t 557\t:\tNVIDIA A40-1Q \r\n", "NVIDIA A40-1Q=557;" },
	{ "a name may have a colon", "9 : NVIDIA X: 1Q\n", "NVIDIA X: 1Q=9;" },
	{ "the first of two with one name counts", "5 : A\n6 : A\n", "A=5;" },
	{ "0 is no type", "0 : None\n", "" },
	{ "an id with a letter is none", "5x : A\n", "" },
	{ "an id that is too long is none", "12345678901 : A\n", "" },
	{ "a type without a name is left out", "5 :\n6 : B\n", "B=6;" },
	{ "a line without a colon is passed over", "no types here\n6 : B\n", "B=6;" },
	{ "what is no text is shown",
	  "6 : A\x01"
	  "B\n",
	  "A\\x01B=6;" },
};

/* As the helper hands it over: by lines. */
static void parse(const char *text, struct json_pairs *types)
{
	struct json_strs lines = { 0 };

	while (*text) {
		size_t len = strcspn(text, "\n");
		auto_free char *line = xstrndup(text, len);

		json_strs_add(&lines, line);
		text += len + (text[len] == '\n');
	}
	vgpu_types_parse(&lines, types);
	json_strs_done(&lines);
}

SUITE_CLOSING(json_pairs, struct json_pairs, json_pairs_done);

static void table_gives(void **state)
{
	const struct types_case *c = suite_row(state);
	struct json_pairs *types = *state;
	auto_str struct str got = STR_INIT;

	parse(c->text, types);
	for (size_t i = 0; i < types->len; i++)
		str_addf(&got, "%s=%s;", types->items[i].key, types->items[i].value);
	assert_string_equal(str_cstr(&got), c->types);
}

static void long_tables_are_cut(void **state)
{
	struct json_pairs *types = *state;
	auto_str struct str text = STR_INIT;

	for (int i = 1; i < 1000; i++)
		str_addf(&text, "%d : TYPE-%03d\n", i, i);
	parse(str_cstr(&text), types);
	assert_int_equal(types->len, VGPU_TYPES_MAX);
	assert_string_equal(types->items[0].key, "TYPE-001");
}

static void long_names_are_left_out(void **state)
{
	char text[VGPU_TYPE_NAME_MAX + 16];
	struct json_pairs *types = *state;

	memset(text, 'a', sizeof(text));
	memcpy(text, "7 : ", 4);
	text[4 + VGPU_TYPE_NAME_MAX + 1] = '\0';
	parse(text, types);
	assert_int_equal(types->len, 0);
	text[4 + VGPU_TYPE_NAME_MAX] = '\0';
	parse(text, types);
	assert_int_equal(types->len, 1);
}

static void types_are_found_by_id(void **state)
{
	struct json_pairs *types = *state;

	parse("5 : A\n6 : B\n", types);
	assert_string_equal(vgpu_types_name(types, "6"), "B");
	assert_null(vgpu_types_name(types, "7"));
	assert_true(vgpu_type_valid("6"));
	assert_false(vgpu_type_valid("0"));
	assert_false(vgpu_type_valid(""));
	assert_false(vgpu_type_valid(NULL));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &json_pairs_fixture);
	suite_rows(&suite, cases, table_gives);
	suite_add(&suite, "a table of a thousand types is cut", long_tables_are_cut, NULL);
	suite_add(&suite, "a name longer than the schema's limit is left out",
		  long_names_are_left_out, NULL);
	suite_add(&suite, "types are found by id", types_are_found_by_id, NULL);
	return suite_run(&suite, "vgpu_types");
}
