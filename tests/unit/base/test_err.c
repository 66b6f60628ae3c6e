#include "base/err.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"
#include "unit/suite.h"

enum { ROOM = sizeof(((struct err *)0)->msg) - 1 };

static struct wrap_case {
	const char *name;
	const char *text;
	const char *wraps[4]; /* innermost first */
	const char *msg;
} wraps[] = {
	{ "a message comes out as it went in",
	  "open 'x': no such file",
	  { NULL },
	  "open 'x': no such file" },
	{ "one context stands before the message",
	  "no such file",
	  { "claim 'a'" },
	  "claim 'a': no such file" },
	{ "the outermost context comes first", "c", { "b", "a", "z" }, "z: a: b: c" },
	{ "percent signs in a message are text", "100%s", { "%d" }, "%d: 100%s" },
	{ "an empty message still gets its context", "", { "a" }, "a: " },
};

static void wrap_matches_table(void **state)
{
	const struct wrap_case *c = *state;
	struct err err = { 0 };

	assert_int_equal(err_set(&err, ERR_CONFLICT, -ESTALE, "%s", c->text), -ESTALE);
	for (size_t i = 0; i < ARRAY_LEN(c->wraps) && c->wraps[i]; i++)
		assert_int_equal(err_wrap(&err, "%s", c->wraps[i]), -ESTALE);

	assert_string_equal(err.msg, c->msg);
	assert_int_equal(err.kind, ERR_CONFLICT);
	assert_int_equal(err.code, -ESTALE);
}

static void nobody_listens(void **state)
{
	assert_int_equal(err_set(NULL, ERR_RETRY, -EIO, "read '%s'", "x"), -EIO);
	assert_true(err_wrap(NULL, "context") < 0);
}

static void second_error_replaces_first(void **state)
{
	struct err err = { 0 };

	err_set(&err, ERR_RETRY, -EIO, "a long first message");
	err_set(&err, ERR_INVALID, -EINVAL, "short");
	assert_string_equal(err.msg, "short");
	assert_int_equal(err.kind, ERR_INVALID);
	assert_int_equal(err.code, -EINVAL);
}

/* @whole is what @msg would be with more room. */
static void assert_whole_or_marked(const char *msg, const char *whole)
{
	size_t len = strnlen(msg, ROOM + 1);

	assert_true(len <= ROOM);
	if (strlen(whole) <= ROOM) {
		assert_string_equal(msg, whole);
		return;
	}
	assert_string_equal(msg + len - 3, "...");
	assert_memory_equal(msg, whole, len - 3);
	assert_true(len >= ROOM - 3);
}

static void fill(char *text, size_t len, char c)
{
	memset(text, c, len);
	text[len] = '\0';
}

/* Whatever the lengths of message and context, nothing is lost without a mark. */
static void cuts_are_marked(void **state)
{
	char text[300];
	char context[300];

	for (size_t i = 0; i < sizeof(text); i += 3) {
		struct err set = { 0 };

		fill(text, i, 'm');
		err_set(&set, ERR_RETRY, -EIO, "%s", text);
		assert_whole_or_marked(set.msg, text);

		for (size_t j = 0; j < sizeof(context); j++) {
			auto_free char *whole = NULL;
			struct err err = set;

			fill(context, j, 'c');
			whole = xasprintf("%s: %s", context, set.msg);
			err_wrap(&err, "%s", context);
			assert_whole_or_marked(err.msg, whole);
		}
	}
}

/* Messages end up in conditions: JSON takes nothing that is not UTF-8. */
static void cuts_keep_characters_whole(void **state)
{
	static const char *const characters[] = { "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x92\xbb" };

	for (size_t i = 0; i < ARRAY_LEN(characters); i++) {
		for (int shift = 0; shift < 4; shift++) {
			auto_str struct str text = STR_INIT;
			struct err err = { 0 };

			str_addf(&text, "%.*s", shift, "abcd");
			while (text.len <= ROOM)
				str_add(&text, characters[i]);
			err_set(&err, ERR_INVALID, -EINVAL, "%s", text.buf);
			assert_whole_or_marked(err.msg, text.buf);
			assert_true(utf8_valid(err.msg, strlen(err.msg)));
		}
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, wraps, wrap_matches_table);
	suite_add(&suite, "without an error value only the code is returned", nobody_listens, NULL);
	suite_add(&suite, "a second error replaces the first", second_error_replaces_first, NULL);
	suite_add(&suite, "a message that does not fit ends in dots", cuts_are_marked, NULL);
	suite_add(&suite, "a cut message is still UTF-8", cuts_keep_characters_whole, NULL);
	return suite_run(&suite, "err");
}
