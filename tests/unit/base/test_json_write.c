#include "base/json_write.h"

#include <string.h>

#include "base/str.h"
#include "unit/suite.h"

static struct text_case {
	const char *name;
	const char *value;
	const char *json;
} texts[] = {
	{ "plain text", "vfio-pci", "\"vfio-pci\"" },
	{ "the empty text", "", "\"\"" },
	{ "no text", NULL, "null" },
	{ "quotes and backslashes", "a\"b\\c", "\"a\\\"b\\\\c\"" },
	{ "a newline is shown", "a\nb", "\"a\\\\x0ab\"" },
	{ "an escape is shown", "\x1b[0m", "\"\\\\x1b[0m\"" },
	{ "characters beyond ASCII stay", "\xe2\x82\xac", "\"\xe2\x82\xac\"" },
	{ "what is not UTF-8 is shown", "caf\xe9", "\"caf\\\\xe9\"" },
};

static void text_matches_table(void **state)
{
	const struct text_case *c = *state;
	auto_str struct str out = STR_INIT;

	json_write_str(&out, NULL, c->value);
	assert_string_equal(str_cstr(&out), c->json);
}

static void scalars(struct str *out)
{
	json_write_open(out, NULL, '{');
	json_write_int(out, "small", INT64_MIN);
	json_write_int(out, "large", INT64_MAX);
	json_write_bool(out, "yes", true);
	json_write_bool(out, "no", false);
	json_write_str(out, "none", NULL);
	json_write_close(out, '}');
}

static void nested(struct str *out)
{
	json_write_open(out, NULL, '{');
	json_write_open(out, "list", '[');
	json_write_int(out, NULL, 1);
	json_write_open(out, NULL, '{');
	json_write_close(out, '}');
	json_write_open(out, NULL, '[');
	json_write_close(out, ']');
	json_write_str(out, NULL, "a");
	json_write_close(out, ']');
	json_write_str(out, "after", "b");
	json_write_close(out, '}');
}

/* Values that end in what an opening bracket ends in. */
static void brackets_in_text(struct str *out)
{
	json_write_open(out, NULL, '[');
	json_write_str(out, NULL, "{");
	json_write_str(out, NULL, "[");
	json_write_str(out, NULL, "\n");
	json_write_close(out, ']');
}

static void two_lines(struct str *out)
{
	scalars(out);
	str_clear(out);
	json_write_open(out, NULL, '{');
	json_write_close(out, '}');
	str_add_char(out, '\n');
	json_write_open(out, NULL, '{');
	json_write_close(out, '}');
}

static void keys(struct str *out)
{
	json_write_open(out, NULL, '{');
	json_write_bool(out, "a\"b", true);
	json_write_bool(out, "", false);
	json_write_close(out, '}');
}

static struct document_case {
	const char *name;
	void (*write)(struct str *out);
	const char *json;
} documents[] = {
	{ "numbers, truths and nothing", scalars,
	  "{\"small\":-9223372036854775808,\"large\":9223372036854775807,\"yes\":true,\"no\":false,"
	  "\"none\":null}" },
	{ "objects and arrays in each other", nested,
	  "{\"list\":[1,{},[],\"a\"],\"after\":\"b\"}" },
	{ "brackets inside text need their comma", brackets_in_text, "[\"{\",\"[\",\"\\\\x0a\"]" },
	{ "one value on each line", two_lines, "{}\n{}" },
	{ "keys are quoted like values", keys, "{\"a\\\"b\":true,\"\":false}" },
};

static void document_matches_table(void **state)
{
	const struct document_case *c = *state;
	auto_str struct str out = STR_INIT;

	c->write(&out);
	assert_string_equal(str_cstr(&out), c->json);
}

/* Undo the quoting; NULL if @json is not one whole JSON string. */
static char *unquote(const char *json)
{
	auto_str struct str out = STR_INIT;
	const char *s = json;

	if (*s++ != '"')
		return NULL;
	for (; *s && *s != '"'; s++) {
		if (*s == '\\' && *++s != '"' && *s != '\\')
			return NULL;
		str_add_char(&out, *s);
	}
	return strcmp(s, "\"") == 0 ? str_detach(&out) : NULL;
}

/* Whatever the bytes, what is read back is the cleaned text. */
static void any_text_reads_back_clean(void **state)
{
	uint64_t seed = 5;

	for (int round = 0; round < 10000; round++) {
		auto_str struct str json = STR_INIT;
		auto_str struct str clean = STR_INIT;
		auto_free char *read = NULL;
		char text[16] = "";
		size_t len = suite_random(&seed) % sizeof(text);

		for (size_t i = 0; i < len; i++) {
			static const char often[] = "\"\\\n{[a\xc3\xa9";
			uint64_t n = suite_random(&seed);

			text[i] = n & 1 ? often[(n >> 8) % (sizeof(often) - 1)] : (char)(n >> 8);
		}
		json_write_str(&json, NULL, text);
		str_add_clean(&clean, text, strlen(text));
		read = unquote(str_cstr(&json));
		assert_non_null(read);
		assert_string_equal(read, str_cstr(&clean));
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, texts, text_matches_table);
	suite_rows(&suite, documents, document_matches_table);
	suite_add(&suite, "any text reads back clean", any_text_reads_back_clean, NULL);
	return suite_run(&suite, "json_write");
}
