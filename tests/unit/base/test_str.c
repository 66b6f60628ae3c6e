#include "base/str.h"

#include <string.h>

#include "base/utf8.h"
#include "unit/suite.h"

#define BYTES(s) (s), sizeof(s) - 1

static struct clean_case {
	const char *name;
	const char *data;
	size_t len;
	const char *clean;
} cleans[] = {
	{ "plain text stays", BYTES("Intel Corporation 82574L"), "Intel Corporation 82574L" },
	{ "nothing stays nothing", BYTES(""), "" },
	{ "characters of two, three and four bytes stay",
	  BYTES("\xc3\xa9\xe2\x82\xac\xf0\x9f\x92\xbb"), "\xc3\xa9\xe2\x82\xac\xf0\x9f\x92\xbb" },
	{ "a newline is shown", BYTES("a\nb"), "a\\x0ab" },
	{ "a zero byte is shown and does not end the text", BYTES("a\0b"), "a\\x00b" },
	{ "an escape sequence for a terminal is shown", BYTES("\x1b[31m"), "\\x1b[31m" },
	{ "delete is shown", BYTES("\x7f"), "\\x7f" },
	{ "the terminal controls above ASCII are shown",
	  BYTES("\xc2\x9b"
		"31m"),
	  "\\xc2\\x9b31m" },
	{ "the first character after them stays", BYTES("\xc2\xa0"), "\xc2\xa0" },
	{ "a latin-1 letter is shown", BYTES("caf\xe9"), "caf\\xe9" },
	{ "a character that ends early is shown, the text after it stays", BYTES("\xe2\x82x"),
	  "\\xe2\\x82x" },
	{ "an overlong slash is shown", BYTES("\xc0\xaf"), "\\xc0\\xaf" },
	{ "half of a surrogate pair is shown", BYTES("\xed\xa0\x80"), "\\xed\\xa0\\x80" },
	{ "a backslash stays", BYTES("a\\x0a"), "a\\x0a" },
};

static void clean_matches_table(void **state)
{
	const struct clean_case *c = *state;
	auto_str struct str out = STR_INIT;

	str_add(&out, "<");
	str_add_clean(&out, c->data, c->len);
	assert_memory_equal(out.buf, "<", 1);
	assert_string_equal(out.buf + 1, c->clean);
	assert_int_equal(out.len, strlen(c->clean) + 1);
}

/* Bytes that meet often in broken text, so that random strings hit every branch. */
static char some_byte(uint64_t *seed)
{
	static const unsigned char often[] = { 0x00, 0x0a, 0x1b, 0x7f, 0x80, 0x9f, 0xa0, 0xbf,
					       0xc0, 0xc2, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xff };
	uint64_t n = suite_random(seed);

	return (char)(n & 1 ? often[(n >> 8) % sizeof(often)] : (unsigned char)(n >> 8));
}

static bool has_control(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < ' ' || c == 0x7f)
			return true;
		if (c == 0xc2 && i + 1 < len && (unsigned char)text[i + 1] < 0xa0)
			return true;
	}
	return false;
}

/* Whatever the bytes, clean text is UTF-8 without control characters, and clean text stays. */
static void clean_is_clean(void **state)
{
	uint64_t seed = 1;

	for (int round = 0; round < 20000; round++) {
		auto_str struct str once = STR_INIT;
		auto_str struct str twice = STR_INIT;
		char data[24];
		size_t len = suite_random(&seed) % (sizeof(data) + 1);

		for (size_t i = 0; i < len; i++)
			data[i] = some_byte(&seed);
		str_add_clean(&once, data, len);
		assert_true(utf8_valid(str_cstr(&once), once.len));
		assert_false(has_control(once.buf, once.len));
		str_add_clean(&twice, once.buf, once.len);
		assert_string_equal(str_cstr(&twice), once.buf);
	}
}

static void empty_text_is_not_null(void **state)
{
	auto_str struct str a = STR_INIT;
	auto_str struct str b = STR_INIT;
	auto_free char *detached = NULL;

	assert_string_equal(str_cstr(&a), "");
	str_add(&b, "");
	assert_non_null(b.buf);
	detached = str_detach(&b);
	assert_string_equal(detached, "");
}

/* Every way to append, over every size at which the memory grows. */
static void text_grows_terminated(void **state)
{
	auto_str struct str s = STR_INIT;
	char expected[1200];
	size_t len = 0;

	while (len + 4 < sizeof(expected)) {
		str_add_char(&s, 'a');
		str_add(&s, "b");
		str_add_mem(&s, "cX", 1);
		str_addf(&s, "%c", 'd');
		memcpy(expected + len, "abcd", 5);
		len += 4;
		assert_int_equal(s.len, len);
		assert_string_equal(s.buf, expected);
	}
}

static void zero_bytes_are_kept(void **state)
{
	auto_str struct str s = STR_INIT;

	str_add_mem(&s, "a\0b", 3);
	str_add_char(&s, '\0');
	assert_int_equal(s.len, 4);
	assert_memory_equal(s.buf, "a\0b\0", 5);
}

static void long_formats_are_whole(void **state)
{
	auto_str struct str s = STR_INIT;

	str_addf(&s, "%05000d|%s", 7, "end");
	assert_int_equal(s.len, 5004);
	assert_string_equal(s.buf + 4999, "7|end");
}

static void clear_keeps_memory(void **state)
{
	auto_str struct str s = STR_INIT;
	size_t cap;

	str_clear(&s);
	str_addf(&s, "%0500d", 0);
	cap = s.cap;
	str_clear(&s);
	assert_string_equal(s.buf, "");
	assert_int_equal(s.len, 0);
	assert_int_equal(s.cap, cap);
	str_add(&s, "new");
	assert_string_equal(s.buf, "new");
}

static void given_away_is_empty_again(void **state)
{
	auto_str struct str s = STR_INIT;
	auto_free char *first = NULL;

	str_add(&s, "first");
	first = str_detach(&s);
	assert_null(s.buf);
	str_add(&s, "second");
	assert_string_equal(first, "first");
	assert_string_equal(s.buf, "second");

	str_done(&s);
	assert_null(s.buf);
	str_add(&s, "third");
	assert_string_equal(s.buf, "third");
}

/* At every limit: the whole text, or as much of it as fits before the dots, in whole characters. */
static void cuts_keep_characters_whole(void **state)
{
	static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x92\xbb"
				   "b\xf0\x9f\x92\xbb\xe2\x82\xac";

	for (size_t max = 3; max < sizeof(text) + 2; max++) {
		auto_str struct str s = STR_INIT;

		str_add(&s, text);
		str_cut(&s, max);
		assert_int_equal(s.len, strlen(s.buf));
		assert_true(s.len <= max && utf8_valid(s.buf, s.len));
		if (max >= strlen(text)) {
			assert_string_equal(s.buf, text);
			continue;
		}
		assert_string_equal(s.buf + s.len - 3, "...");
		assert_memory_equal(s.buf, text, s.len - 3);
		assert_true(s.len + 4 > max); /* a character more would not have fit */
	}
}

static struct distance_case {
	const char *name;
	const char *a;
	const char *b;
	size_t distance;
} distances[] = {
	{ "equal", "claim", "claim", 0 },
	{ "a letter less", "clam", "claim", 1 },
	{ "two letters changed, one more", "relaesed", "release", 3 },
	{ "nothing in common", "top", "claim", 5 },
	{ "too long for a name", "claim", "a-name-that-is-longer-than-names-of-flags-are",
	  SIZE_MAX },
};

static void distance_is(void **state)
{
	const struct distance_case *c = suite_row(state);

	assert_int_equal(str_distance(c->a, c->b), c->distance);
	assert_int_equal(str_distance(c->b, c->a), c->distance);
}

static struct pair_case {
	const char *name;
	const char *a;
	const char *b;
	bool equal;
	bool match;
} pairs[] = {
	{ "the same text", "eth0", "eth0", true, true },
	{ "two empty texts", "", "", true, true },
	{ "another text", "eth0", "eth1", false, false },
	{ "the start of it", "eth", "eth0", false, false },
	{ "one is not there", "", NULL, false, false },
	{ "neither is there", NULL, NULL, true, false },
};

static void pair_is(void **state)
{
	const struct pair_case *c = suite_row(state);
	auto_free char *copy = xstrdup_or_null(c->a);

	assert_int_equal(str_equal(copy, c->b), c->equal);
	assert_int_equal(str_equal(c->b, copy), c->equal);
	assert_int_equal(str_match(copy, c->b), c->match);
	assert_int_equal(str_match(c->b, copy), c->match);
}

static void a_text_may_be_missing(void **state)
{
	auto_free char *cleaned = str_clean("a\tlong text", 8);

	assert_string_equal(str_or_empty(NULL), "");
	assert_string_equal(str_or_empty("a"), "a");
	assert_int_equal(str_compare(NULL, ""), 0);
	assert_true(str_compare(NULL, "a") < 0);
	assert_true(str_compare("b", "a") > 0);
	assert_null(str_clean(NULL, 8));
	assert_string_equal(cleaned, "a\\x09...");
}

static void base_names(void **state)
{
	(void)state;
	assert_string_equal(str_base_name("../../bus/pci/drivers/vfio-pci"), "vfio-pci");
	assert_string_equal(str_base_name("c"), "c");
	assert_string_equal(str_base_name("/a/"), "");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, distances, distance_is);
	suite_rows(&suite, pairs, pair_is);
	suite_add(&suite, "a text may be missing", a_text_may_be_missing, NULL);
	suite_add(&suite, "the last name of a path", base_names, NULL);

	suite_rows(&suite, cleans, clean_matches_table);
	suite_add(&suite, "clean text is UTF-8 without controls", clean_is_clean, NULL);
	suite_add(&suite, "cut text ends in dots after a whole character",
		  cuts_keep_characters_whole, NULL);
	suite_add(&suite, "an empty text is not NULL", empty_text_is_not_null, NULL);
	suite_add(&suite, "text grows and is always terminated", text_grows_terminated, NULL);
	suite_add(&suite, "zero bytes are kept", zero_bytes_are_kept, NULL);
	suite_add(&suite, "a long formatted text is whole", long_formats_are_whole, NULL);
	suite_add(&suite, "clearing keeps the memory", clear_keeps_memory, NULL);
	suite_add(&suite, "a text given away leaves an empty one", given_away_is_empty_again, NULL);
	return suite_run(&suite, "str");
}
