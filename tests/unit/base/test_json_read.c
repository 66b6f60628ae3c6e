#include "base/json_read.h"

#include <string.h>

#include "unit/suite.h"

/* Pass the whole text as one value. */
static bool passes(const char *text, size_t len)
{
	struct json_read r = json_read_start(text, len);
	struct json_text value;

	return json_read_value(&r, &value) && json_read_end(&r);
}

static struct text_case {
	const char *name;
	const char *text;
	bool good;
} texts[] = {
	{ "an empty object", "{}", true },
	{ "an empty array with blanks", " [ \t\r\n] ", true },
	{ "all types", "[{\"a\":1},\"b\",-0.5e+3,true,false,null]", true },
	{ "escapes of every kind", "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"", true },
	{ "an escaped NUL", "{\"a\":\"\\u0000\"}", true },
	{ "a pair of surrogates", "\"\\ud83d\\ude00\"", true },
	{ "UTF-8", "\"\xc3\xa9\"", true },
	{ "zero", "0", true },
	{ "nothing", "", false },
	{ "blanks only", "  ", false },
	{ "two values", "1 2", false },
	{ "an object that does not end", "{\"a\":1", false },
	{ "an array that does not end", "[1,", false },
	{ "a string that does not end", "\"abc", false },
	{ "a string that ends in an escape", "\"abc\\", false },
	{ "a comma too many in an object", "{\"a\":1,}", false },
	{ "a comma too many in an array", "[1,]", false },
	{ "a comma first", "[,1]", false },
	{ "no comma", "[1 2]", false },
	{ "no colon", "{\"a\" 1}", false },
	{ "a key that is no string", "{1:1}", false },
	{ "the wrong bracket", "[1}", false },
	{ "a bracket too many", "[]]", false },
	{ "a number with a leading zero", "01", false },
	{ "a number without digits", "-", false },
	{ "a fraction without digits", "1.", false },
	{ "an exponent without digits", "1e", false },
	{ "NaN", "NaN", false },
	{ "half a word", "tru", false },
	{ "a word with a tail", "truest", false },
	{ "a control character in a string", "\"a\nb\"", false },
	{ "an unknown escape", "\"\\x41\"", false },
	{ "an escaped NUL in a key", "{\"a\\u0000\":1}", false },
	{ "half a pair of surrogates", "\"\\ud83d\"", false },
	{ "a pair of the wrong halves", "\"\\ud83d\\ud83d\"", false },
	{ "the second half alone", "\"\\ude00\"", false },
	{ "an escape that is cut", "\"\\u00e\"", false },
	{ "bytes that are not UTF-8", "\"\xff\"", false },
	{ "UTF-8 that is cut", "\"\xc3", false },
};

static void text_is_judged(void **state)
{
	const struct text_case *row = *state;

	assert_int_equal(passes(row->text, strlen(row->text)), row->good);
}

/* However a good text is cut, what is left is not good. */
static void every_cut_is_noticed(void **state)
{
	static const char text[] = "{\"a\":[1,2,{\"b\":\"\\u00e9\\\"\"}],\"c\":true,\"d\":null}";

	for (size_t len = 0; len < strlen(text); len++)
		assert_false(passes(text, len));
	assert_true(passes(text, strlen(text)));
}

static void members_come_in_order(void **state)
{
	static const char text[] = " { \"a\" : {\"x\":[1,2]} , \"b\" : \"t\\\"u\" , \"c\" : [ ] } ";
	struct json_read r = json_read_start(text, strlen(text));
	struct json_text key;
	struct json_text value;

	assert_true(json_read_open(&r, '{'));
	assert_true(json_read_member(&r, &key));
	assert_true(json_text_is(&key, "a"));
	assert_true(json_read_value(&r, &value));
	assert_true(json_text_is(&value, "{\"x\":[1,2]}"));
	assert_true(json_read_member(&r, &key));
	assert_true(json_text_is(&key, "b"));
	assert_int_equal(json_read_peek(&r), '"');
	assert_true(json_read_string(&r, &value));
	assert_true(json_text_is(&value, "t\\\"u"));
	assert_true(json_read_member(&r, &key));
	assert_true(json_read_open(&r, '['));
	assert_false(json_read_item(&r));
	assert_false(json_read_member(&r, &key));
	assert_true(json_read_end(&r));
}

/* After the first trouble nothing is handed out any more, so a loop over members ends. */
static void trouble_lasts(void **state)
{
	static const char text[] = "{\"a\":01,\"b\":2}";
	struct json_read r = json_read_start(text, strlen(text));
	struct json_text key = { 0 };

	assert_true(json_read_open(&r, '{'));
	assert_true(json_read_member(&r, &key));
	assert_false(json_read_value(&r, NULL));
	assert_false(json_read_member(&r, &key));
	assert_true(json_text_is(&key, "a"));
	assert_false(json_read_item(&r));
	assert_false(json_read_end(&r));
}

static void nesting_is_bounded(void **state)
{
	char text[4 * JSON_READ_DEPTH];

	for (size_t depth = 1; depth <= JSON_READ_DEPTH + 1; depth++) {
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		assert_int_equal(passes(text, 2 * depth), depth <= JSON_READ_DEPTH);
	}
}

static void a_word_is_compared_whole(void **state)
{
	struct json_text text = { .text = "kinds", .len = 4 };

	assert_true(json_text_is(&text, "kind"));
	assert_false(json_text_is(&text, "kin"));
	assert_false(json_text_is(&text, "kinds"));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, texts, text_is_judged);
	suite_add(&suite, "every cut is noticed", every_cut_is_noticed, NULL);
	suite_add(&suite, "members come in order", members_come_in_order, NULL);
	suite_add(&suite, "trouble lasts", trouble_lasts, NULL);
	suite_add(&suite, "nesting is bounded", nesting_is_bounded, NULL);
	suite_add(&suite, "a word is compared whole", a_word_is_compared_whole, NULL);
	return suite_run(&suite, "json_read");
}
