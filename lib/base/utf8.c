#include "base/utf8.h"

/* The second byte's range depends on the first (Unicode 15, table 3-7). */
static const struct {
	unsigned char first_min, first_max;
	unsigned char second_min, second_max;
	unsigned char len;
} forms[] = {
	{ 0x00, 0x7f, 0, 0, 1 },       { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
	{ 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
	{ 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
};

static bool continues(const unsigned char *s, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		if (s[i] < 0x80 || s[i] > 0xbf)
			return false;
	}
	return true;
}

size_t utf8_sequence(const char *data, size_t len)
{
	const unsigned char *s = (const unsigned char *)data;

	if (len == 0)
		return 0;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (s[0] < forms[i].first_min || s[0] > forms[i].first_max)
			continue;
		if (forms[i].len == 1)
			return 1;
		if (len < forms[i].len || s[1] < forms[i].second_min || s[1] > forms[i].second_max)
			return 0;
		return continues(s, 2, forms[i].len) ? forms[i].len : 0;
	}
	return 0;
}

bool utf8_valid(const char *data, size_t len)
{
	size_t at = 0;

	while (at < len) {
		size_t n = utf8_sequence(data + at, len - at);

		if (n == 0)
			return false;
		at += n;
	}
	return true;
}

unsigned utf8_code_point(const char *data, size_t len)
{
	static const unsigned char first_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	unsigned code = (unsigned char)data[0] & first_bits[len];

	for (size_t i = 1; i < len; i++)
		code = code << 6 | ((unsigned char)data[i] & 0x3f);
	return code;
}
