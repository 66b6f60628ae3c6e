#include "base/utf8.h"

#include "unit/suite.h"

#define BYTES(s) (s), sizeof(s) - 1

static struct text_case {
	const char *name;
	const char *data;
	size_t len;
	bool valid;
} texts[] = {
	{ "the empty text is UTF-8", BYTES(""), true },
	{ "ASCII is UTF-8, zero bytes included", BYTES("a\0b"), true },
	{ "characters of every length together", BYTES("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x92\xbb"),
	  true },
	{ "the last code point", BYTES("\xf4\x8f\xbf\xbf"), true },
	{ "one after the last code point", BYTES("\xf4\x90\x80\x80"), false },
	{ "a latin-1 letter is not", BYTES("caf\xe9"), false },
	{ "a continuation without a beginning is not", BYTES("\x80"), false },
	{ "a character cut at the end is not", BYTES("a\xe2\x82"), false },
	{ "an overlong form of two bytes is not", BYTES("\xc1\xbf"), false },
	{ "an overlong form of three bytes is not", BYTES("\xe0\x9f\xbf"), false },
	{ "an overlong form of four bytes is not", BYTES("\xf0\x8f\xbf\xbf"), false },
	{ "a surrogate is not", BYTES("\xed\xa0\x80"), false },
	{ "the code point before the surrogates is", BYTES("\xed\x9f\xbf"), true },
	{ "good text after a bad byte does not help",
	  BYTES("\xff"
		"abc"),
	  false },
};

static void text_matches_table(void **state)
{
	const struct text_case *c = *state;

	assert_int_equal(utf8_valid(c->data, c->len), c->valid);
}

/* By the definition: decode, then ask for range, surrogates and the shortest form. */
static size_t reference_sequence(const unsigned char *s, size_t len)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc0 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
	uint32_t point;

	if (n < 2)
		return n;
	if (s[0] >= 0xf8 || n > len)
		return 0;
	point = s[0] & (0x7fU >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (s[i] & 0x3f);
	}
	if (point < smallest[n] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return 0;
	return n;
}

/* All first and second bytes, the edges of the third and fourth, and every length. */
static void sequences_follow_the_definition(void **state)
{
	static const unsigned char edges[] = { 0x00, 0x7f, 0x80, 0x9f, 0xbf, 0xc0, 0xff };
	enum { EDGES = sizeof(edges), ALL = 256 * 256 * EDGES * EDGES };

	for (unsigned i = 0; i < ALL; i++) {
		const unsigned char s[4] = { (unsigned char)(i & 0xff),
					     (unsigned char)(i >> 8 & 0xff),
					     edges[(i >> 16) % EDGES], edges[(i >> 16) / EDGES] };

		for (size_t len = 1; len <= sizeof(s); len++)
			if (utf8_sequence((const char *)s, len) != reference_sequence(s, len))
				fail_msg("%02x %02x %02x %02x, %zu bytes of them", s[0], s[1], s[2],
					 s[3], len);
	}
}

static void nothing_is_no_sequence(void **state)
{
	assert_int_equal(utf8_sequence("a", 0), 0);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, texts, text_matches_table);
	suite_add(&suite, "every sequence follows the definition", sequences_follow_the_definition,
		  NULL);
	suite_add(&suite, "nothing is no sequence", nothing_is_no_sequence, NULL);
	return suite_run(&suite, "utf8");
}
