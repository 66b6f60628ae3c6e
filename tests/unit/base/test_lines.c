#include "base/lines.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "unit/suite.h"

/* The lines seen, each followed by '|'. */
struct seen {
	struct str log;
	size_t stop_after; /* 0: never */
	size_t count;
};

static int note(void *arg, const char *line, size_t len, struct err *err)
{
	struct seen *seen = arg;

	str_add_mem(&seen->log, line, len);
	str_add_char(&seen->log, '|');
	if (++seen->count == seen->stop_after)
		return err_set(err, ERR_CONFLICT, -ESTALE, "enough");
	return 0;
}

static struct feed_case {
	const char *name;
	size_t max;
	const char *chunks[6];
	const char *log;
	int result; /* of the last chunk */
} feeds[] = {
	{ "one line in one chunk", 64, { "abc\n" }, "abc|", 0 },
	{ "two lines in one chunk", 64, { "a\nb\n" }, "a|b|", 0 },
	{ "one line in three chunks", 64, { "a", "b", "c\n" }, "abc|", 0 },
	{ "an unfinished line is held back", 64, { "a\nb" }, "a|", 0 },
	{ "empty lines come too", 64, { "\n\na\n\n" }, "||a||", 0 },
	{ "a newline alone ends the line before", 64, { "a", "\n" }, "a|", 0 },
	{ "an empty chunk changes nothing", 64, { "a", "", "b\n" }, "ab|", 0 },
	{ "a carriage return belongs to the line", 64, { "a\r\n" }, "a\r|", 0 },
	{ "a line as long as allowed", 4, { "abcd\n" }, "abcd|", 0 },
	{ "a line as long as allowed, in parts", 4, { "ab", "cd", "\n" }, "abcd|", 0 },
	{ "a line one byte longer", 4, { "abcde\n" }, "", -EMSGSIZE },
	{ "a line one byte longer, in parts", 4, { "abc", "de\n" }, "", -EMSGSIZE },
	{ "an unfinished line too long is not awaited", 4, { "abc", "de" }, "", -EMSGSIZE },
	{ "lines before the long one arrive", 4, { "a\nb\nabcde\n" }, "a|b|", -EMSGSIZE },
	{ "a line of nothing where nothing is allowed", 0, { "\n" }, "|", 0 },
};

SUITE_CLOSING(lines, struct lines, lines_done);

static void feed_matches_table(void **state)
{
	const struct feed_case *c = suite_row(state);
	struct lines *l = *state;
	struct seen seen = { .count = 0 };
	struct err err = { 0 };
	int r = 0;

	l->max = c->max;
	for (size_t i = 0; i < ARRAY_LEN(c->chunks) && c->chunks[i]; i++) {
		assert_int_equal(r, 0);
		r = lines_feed(l, c->chunks[i], strlen(c->chunks[i]), note, &seen, &err);
	}
	assert_int_equal(r, c->result);
	assert_int_equal(err.kind, r < 0 ? ERR_INVALID : ERR_NONE);
	assert_string_equal(str_cstr(&seen.log), c->log);
	assert_true(l->part.len <= c->max);
	str_done(&seen.log);
}

/* However the text is cut in three, the same lines come out. */
static void cuts_do_not_matter(void **state)
{
	static const char text[] = "{\"a\":1}\n\n{\"b\":2}\nrest";
	size_t len = strlen(text);

	for (size_t i = 0; i <= len; i++) {
		for (size_t j = i; j <= len; j++) {
			struct lines l = { .max = 64 };
			struct seen s = { .count = 0 };
			struct err err = { 0 };

			assert_int_equal(lines_feed(&l, text, i, note, &s, &err), 0);
			assert_int_equal(lines_feed(&l, text + i, j - i, note, &s, &err), 0);
			assert_int_equal(lines_feed(&l, text + j, len - j, note, &s, &err), 0);
			assert_string_equal(str_cstr(&s.log), "{\"a\":1}||{\"b\":2}|");
			str_done(&s.log);
			lines_done(&l);
		}
	}
}

/* A line that is too long is refused at every cut, and the lines before it always arrive. */
static void cuts_do_not_hide_a_long_line(void **state)
{
	static const char text[] = "ok\n12345678\nnever";
	size_t len = strlen(text);

	for (size_t i = 0; i <= len; i++) {
		struct lines l = { .max = 7 };
		struct seen s = { .count = 0 };
		struct err err = { 0 };
		int r = lines_feed(&l, text, i, note, &s, &err);

		if (r == 0)
			r = lines_feed(&l, text + i, len - i, note, &s, &err);
		assert_int_equal(r, -EMSGSIZE);
		assert_string_equal(str_cstr(&s.log), "ok|");
		str_done(&s.log);
		lines_done(&l);
	}
}

static void reader_stops_the_feed(void **state)
{
	struct lines *l = *state;
	struct seen s = { .stop_after = 2 };
	struct err err = { 0 };

	l->max = 64;
	assert_int_equal(lines_feed(l, "a\nb\nc\n", 6, note, &s, &err), -ESTALE);
	assert_int_equal(err.kind, ERR_CONFLICT);
	assert_string_equal(str_cstr(&s.log), "a|b|");
	str_done(&s.log);
}

static int refuse(void *arg, const char *line, size_t len, struct err *err)
{
	(void)arg;
	(void)line;
	(void)len;
	(void)err;
	return -ECANCELED;
}

/* What the reader returns counts, not what it wrote beside it. */
static void silent_reader_stops_the_feed(void **state)
{
	struct lines *l = *state;
	struct err err = { 0 };

	l->max = 64;
	assert_int_equal(lines_feed(l, "a\n", 2, refuse, NULL, &err), -ECANCELED);
	assert_int_equal(lines_feed(l, "a\n", 2, refuse, NULL, NULL), -ECANCELED);
}

static void zero_bytes_are_text(void **state)
{
	struct lines *l = *state;
	struct seen s = { .count = 0 };
	struct err err = { 0 };

	l->max = 64;
	assert_int_equal(lines_feed(l, "a\0b\n", 4, note, &s, &err), 0);
	assert_int_equal(s.log.len, 4);
	assert_memory_equal(s.log.buf, "a\0b|", 4);
	str_done(&s.log);
}

static void done_forgets_the_unfinished_line(void **state)
{
	struct lines l = { .max = 64 };
	struct seen s = { .count = 0 };
	struct err err = { 0 };

	assert_int_equal(lines_feed(&l, "old", 3, note, &s, &err), 0);
	lines_done(&l);
	assert_int_equal(lines_feed(&l, "new\n", 4, note, &s, &err), 0);
	assert_string_equal(str_cstr(&s.log), "new|");
	str_done(&s.log);
	lines_done(&l);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "any cut gives the same lines", cuts_do_not_matter, NULL);
	suite_add(&suite, "no cut hides a line that is too long", cuts_do_not_hide_a_long_line,
		  NULL);
	suite_add(&suite, "done forgets the unfinished line", done_forgets_the_unfinished_line,
		  NULL);
	suite_fixture(&suite, &lines_fixture);
	suite_rows(&suite, feeds, feed_matches_table);
	suite_add(&suite, "the reader can stop the feed", reader_stops_the_feed, NULL);
	suite_add(&suite, "a reader that gives no reason stops it too",
		  silent_reader_stops_the_feed, NULL);
	suite_add(&suite, "zero bytes are text", zero_bytes_are_text, NULL);
	return suite_run(&suite, "lines");
}
