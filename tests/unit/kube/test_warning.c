#include "unit/suite.h"

#include <string.h>

#include "base/str.h"
#include "kube/answer.h"

static struct warning_case {
	const char *name;
	const char *line;
	const char *text; /* "" for none */
} lines[] = {
	{ "a warning as API servers send it", "Warning: 299 - \"the group is shared\"\r\n",
	  "the group is shared\n" },
	{ "HTTP/2 has lower case", "warning: 299 - \"x\"\r\n", "x\n" },
	{ "quotes inside are escaped", "Warning: 299 - \"a \\\"b\\\\c\\\"\"\r\n", "a \"b\\c\"\n" },
	{ "a date behind it is of no interest",
	  "Warning: 299 - \"x\" \"Wed, 21 Oct 2015 07:28:00 GMT\"\r\n", "x\n" },
	{ "another header is none", "Content-Type: application/json\r\n", "" },
	{ "a header that begins alike is none", "Warnings: 299 - \"x\"\r\n", "" },
	{ "another code is none", "Warning: 110 - \"stale\"\r\n", "" },
	{ "another agent is none", "Warning: 299 host \"x\"\r\n", "" },
	{ "one without an end is none", "Warning: 299 - \"x\r\n", "" },
	{ "one that ends in a backslash is none", "Warning: 299 - \"x\\", "" },
	{ "an empty line is none", "\r\n", "" },
	{ "control characters are shown", "Warning: 299 - \"a\033[31mb\"\r\n", "a\\x1b[31mb\n" },
};

static void line_gives_text(void **state)
{
	const struct warning_case *c = *state;
	auto_str struct str text = STR_INIT;

	answer_add_warning(&text, c->line, strlen(c->line));
	assert_string_equal(str_cstr(&text), c->text);
}

static void any_cut_is_no_overrun(void **state)
{
	static const char line[] = "Warning: 299 - \"a\\\"b\"";

	for (size_t len = 0; len < sizeof(line) - 1; len++) {
		auto_free char *copy = xmalloc(len ? len : 1);
		auto_str struct str text = STR_INIT;

		memcpy(copy, line, len);
		answer_add_warning(&text, copy, len);
		assert_string_equal(str_cstr(&text), "");
	}
}

static void all_of_them_have_a_limit(void **state)
{
	auto_str struct str text = STR_INIT;

	for (int i = 0; i < 5000; i++)
		answer_add_warning(&text, "Warning: 299 - \"0123456789\"", 27);
	assert_true(text.len > ANSWER_WARNINGS_MAX / 2 && text.len <= ANSWER_WARNINGS_MAX);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, lines, line_gives_text);
	suite_add(&suite, "a line that is cut anywhere is none", any_cut_is_no_overrun, NULL);
	suite_add(&suite, "all of them have a limit", all_of_them_have_a_limit, NULL);
	return suite_run(&suite, "warning");
}
