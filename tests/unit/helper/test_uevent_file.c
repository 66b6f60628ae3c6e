#include "agent/helper/sys/uevent_file.h"

#include <string.h>

#include "base/str.h"
#include "unit/suite.h"

/* clang-format off */
static struct fields_case {
	const char *name;
	const char *text;
	const char *fields; /* "key|value;" for each */
} fields[] = {
	{ "lines with a newline at the end", "A=1\nB=2\n", "A|1;B|2;" },
	{ "the last line may end without one", "A=1\nB=2", "A|1;B|2;" },
	{ "nothing", "", "" },
	{ "a value may be empty", "A=\n", "A|;" },
	{ "a value may hold the sign", "A=b=c\n", "A|b=c;" },
	{ "lines without key or sign are passed over", "\nno sign\n=x\nA=1\n", "A|1;" },
};
/* clang-format on */

static void fields_match_table(void **state)
{
	const struct fields_case *c = *state;
	struct uevent_cursor cursor = { c->text, c->text + strlen(c->text) };
	struct uevent_field field;
	auto_str struct str seen = STR_INIT;

	while (uevent_next(&cursor, &field))
		str_addf(&seen, "%.*s|%.*s;", (int)field.key_len, field.key, (int)field.value_len,
			 field.value);
	assert_string_equal(str_cstr(&seen), c->fields);
}

/* clang-format off */
static struct numbers_case {
	const char *name;
	const char *value;
	struct uevent_numbers form;
	int numbers[3]; /* all 0: refused */
} numbers[] = {
	{ "two of four hexadecimal digits", "8086:10D3", { 16, ':', 2, 0xffff }, { 0x8086, 0x10d3 } },
	{ "three decimal ones", "8/6/80", { 10, '/', 3, 0xff }, { 8, 6, 80 } },
	{ "a single one", "FF0000", { 16, 0, 1, 0xffffff }, { 0xff0000 } },
	{ "leading zeros do not make it octal", "012", { 10, 0, 1, 0xff }, { 12 } },
	{ "one too few", "8086", { 16, ':', 2, 0xffff }, { 0 } },
	{ "one too many", "1:2:3", { 16, ':', 2, 0xffff }, { 0 } },
	{ "another separator", "1/2", { 16, ':', 2, 0xffff }, { 0 } },
	{ "too large", "10000:1", { 16, ':', 2, 0xffff }, { 0 } },
	{ "far too large", "fffffffffffffffffffff:1", { 16, ':', 2, 0xffff }, { 0 } },
	{ "a missing number", ":1", { 16, ':', 2, 0xffff }, { 0 } },
	{ "nothing", "", { 16, 0, 1, 0xffff }, { 0 } },
	{ "a sign", "-1", { 10, 0, 1, 0xff }, { 0 } },
	{ "a hexadecimal digit among decimal ones", "1a", { 10, 0, 1, 0xff }, { 0 } },
};
/* clang-format on */

static void numbers_match_table(void **state)
{
	const struct numbers_case *c = *state;
	struct uevent_field field = { "", 0, c->value, strlen(c->value) };
	int seen[3] = { 0 };

	assert_int_equal(uevent_numbers(&field, &c->form, seen), c->numbers[0] != 0);
	assert_memory_equal(seen, c->numbers, sizeof(seen));
}

static void keys_are_whole(void **state)
{
	struct uevent_field field = { "PCI_ID=x", 6, "x", 1 };

	assert_true(uevent_is(&field, "PCI_ID"));
	assert_false(uevent_is(&field, "PCI"));
	assert_false(uevent_is(&field, "PCI_ID="));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, fields, fields_match_table);
	suite_rows(&suite, numbers, numbers_match_table);
	suite_add(&suite, "a key is compared whole", keys_are_whole, NULL);
	return suite_run(&suite, "uevent_file");
}
