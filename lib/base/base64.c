#include "base/base64.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static int digit_value(char c)
{
	const char *at = c ? strchr(alphabet, c) : NULL;

	return at ? (int)(at - alphabet) : -1;
}

/* Copy the digits without line breaks and padding; @ret_pads is the number of padding
 * characters. */
static bool collect_digits(const char *text, size_t len, char *digits, size_t *ret_n,
			   size_t *ret_pads)
{
	size_t n = 0;
	size_t pads = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\n' || text[i] == '\r')
			continue;
		if (text[i] == '=') {
			pads++;
			continue;
		}
		if (pads > 0 || digit_value(text[i]) < 0)
			return false;
		digits[n++] = text[i];
	}
	*ret_n = n;
	*ret_pads = pads;
	return true;
}

bool base64_decode(const char *text, size_t len, char **ret_data, size_t *ret_len)
{
	auto_free char *digits = xmalloc(len);
	auto_free char *data = NULL;
	uint32_t bits = 0;
	size_t out = 0;
	size_t pads;
	size_t n;

	if (!collect_digits(text, len, digits, &n, &pads) || pads > 2 || (n + pads) % 4 != 0)
		return false;
	data = xmalloc(n / 4 * 3 + 4);
	for (size_t i = 0; i < n; i++) {
		bits = bits << 6 | (uint32_t)digit_value(digits[i]);
		if (i % 4 == 0)
			continue;
		data[out++] = (char)(uint8_t)(bits >> (6 - 2 * (i % 4)));
	}
	data[out] = '\0';
	*ret_len = out;
	*ret_data = take_ptr(data);
	return true;
}

char *base64_encode(const void *data, size_t len)
{
	const uint8_t *bytes = data;
	char *text = xmalloc((len + 2) / 3 * 4 + 1);
	size_t out = 0;

	for (size_t i = 0; i < len; i += 3) {
		uint32_t bits = (uint32_t)bytes[i] << 16;

		if (i + 1 < len)
			bits |= (uint32_t)bytes[i + 1] << 8;
		if (i + 2 < len)
			bits |= bytes[i + 2];
		text[out++] = alphabet[bits >> 18];
		text[out++] = alphabet[bits >> 12 & 63];
		text[out++] = i + 1 < len ? alphabet[bits >> 6 & 63] : '=';
		text[out++] = i + 2 < len ? alphabet[bits & 63] : '=';
	}
	text[out] = '\0';
	return text;
}
