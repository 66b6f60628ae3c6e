#include "base/json_read.h"

#include <stdint.h>
#include <string.h>

#include "base/ascii.h"
#include "base/utf8.h"

/* Every failing call ends here: the position moves to the end of the text. */
static bool read_fail(struct json_read *r)
{
	r->failed = true;
	r->at = r->end;
	return false;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Skip blanks and return the next byte, '\0' at the end. */
static char next_char(struct json_read *r)
{
	while (r->at < r->end && is_space(*r->at))
		r->at++;
	return r->at < r->end ? *r->at : '\0';
}

static bool take_char(struct json_read *r, char c)
{
	if (r->at == r->end || *r->at != c)
		return read_fail(r);
	r->at++;
	return true;
}

struct json_read json_read_start(const char *text, size_t len)
{
	return (struct json_read){ .at = text, .end = text + len, .first = true };
}

char json_read_peek(struct json_read *r)
{
	return next_char(r);
}

bool json_read_open(struct json_read *r, char bracket)
{
	if (next_char(r) != bracket || r->depth == JSON_READ_DEPTH)
		return read_fail(r);
	r->at++;
	r->depth++;
	r->first = true;
	return true;
}

/* True if another member or element follows; skips the comma or the closing bracket. */
static bool has_next(struct json_read *r, char bracket)
{
	char c = next_char(r);

	if (r->depth == 0)
		return read_fail(r);
	if (c == bracket) {
		r->at++;
		r->depth--;
		r->first = false;
		return false;
	}
	if (!r->first) {
		if (c != ',')
			return read_fail(r);
		r->at++;
	}
	r->first = false;
	return true;
}

static bool read_key(struct json_read *r, struct json_text *ret_key)
{
	bool ok;

	r->in_key = true;
	ok = json_read_string(r, ret_key);
	r->in_key = false;
	return ok;
}

bool json_read_member(struct json_read *r, struct json_text *ret_key)
{
	struct json_text key;

	if (!has_next(r, '}') || !read_key(r, &key))
		return false;
	if (next_char(r) != ':')
		return read_fail(r);
	r->at++;
	*ret_key = key;
	return true;
}

bool json_read_item(struct json_read *r)
{
	if (!has_next(r, ']'))
		return false;
	return json_read_peek(r) != '\0' || read_fail(r);
}

/* The value of four hex digits; -1 if there are none. */
static int hex4(struct json_read *r)
{
	int value = 0;

	if (r->end - r->at < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char c = *r->at++;

		if (ascii_is_digit(c))
			value = value * 16 + (c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			value = value * 16 + ((c | 0x20) - 'a' + 10);
		else
			return -1;
	}
	return value;
}

/* Skip the code point after "\u"; false for half of a surrogate pair. */
static bool skip_unicode(struct json_read *r)
{
	int unit = hex4(r);

	if (unit < 0 || (unit == 0 && r->in_key) || (unit >= 0xdc00 && unit <= 0xdfff))
		return read_fail(r);
	if (unit < 0xd800 || unit > 0xdbff)
		return true;
	if (!take_char(r, '\\') || !take_char(r, 'u'))
		return false;
	unit = hex4(r);
	return (unit >= 0xdc00 && unit <= 0xdfff) || read_fail(r);
}

static bool skip_escape(struct json_read *r)
{
	char c;

	r->at++;
	if (r->at == r->end)
		return read_fail(r);
	c = *r->at++;
	if (c == 'u')
		return skip_unicode(r);
	return (c != '\0' && strchr("\"\\/bfnrt", c)) || read_fail(r);
}

static bool skip_other(struct json_read *r)
{
	size_t n;

	if (*r->at == '\\')
		return skip_escape(r);
	n = (unsigned char)*r->at < 0x20 ? 0 : utf8_sequence(r->at, (size_t)(r->end - r->at));
	r->at += n;
	return n > 0 || read_fail(r);
}

bool json_read_string(struct json_read *r, struct json_text *ret_string)
{
	const char *start;

	if (next_char(r) != '"')
		return read_fail(r);
	start = ++r->at;
	while (r->at < r->end && *r->at != '"') {
		unsigned char c = (unsigned char)*r->at;

		if (c >= 0x20 && c < 0x80 && c != '\\')
			r->at++;
		else if (!skip_other(r))
			return false;
	}
	if (r->at == r->end)
		return read_fail(r);
	*ret_string = (struct json_text){ .text = start, .len = (size_t)(r->at - start) };
	r->at++;
	return true;
}

/* @fit: the number of digits that always fit into the reader's integer type. */
static bool skip_digits(struct json_read *r, ptrdiff_t fit)
{
	const char *start = r->at;

	while (r->at < r->end && ascii_is_digit(*r->at))
		r->at++;
	r->large_number |= r->at - start > fit;
	return r->at > start || read_fail(r);
}

static bool skip_number(struct json_read *r)
{
	const char *digits;

	if (*r->at == '-')
		r->at++;
	digits = r->at;
	if (!skip_digits(r, 18) || (*digits == '0' && r->at - digits > 1))
		return read_fail(r);
	if (r->at < r->end && *r->at == '.') {
		r->at++;
		if (!skip_digits(r, PTRDIFF_MAX))
			return false;
	}
	if (r->at < r->end && (*r->at | 0x20) == 'e') {
		r->at++;
		if (r->at < r->end && (*r->at == '+' || *r->at == '-'))
			r->at++;
		return skip_digits(r, 2);
	}
	return true;
}

static bool skip_word(struct json_read *r, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(r->end - r->at) < len || memcmp(r->at, word, len) != 0)
		return read_fail(r);
	r->at += len;
	return true;
}

/* Skip a value that is not an object or array. */
static bool skip_scalar(struct json_read *r, char c)
{
	struct json_text ignored;

	switch (c) {
	case '"':
		return json_read_string(r, &ignored);
	case 't':
		return skip_word(r, "true");
	case 'f':
		return skip_word(r, "false");
	case 'n':
		return skip_word(r, "null");
	default:
		return ascii_is_digit(c) || c == '-' ? skip_number(r) : read_fail(r);
	}
}

/* Move to the next value inside the object or array (one bit of @objects per level tells which);
 * leave it at its end. */
static bool skip_step(struct json_read *r, bool in_object)
{
	struct json_text key;

	return in_object ? json_read_member(r, &key) : json_read_item(r);
}

/* Without recursion, because the nesting depth comes from outside. */
static bool skip_nested(struct json_read *r)
{
	bool objects[JSON_READ_DEPTH + 1];
	unsigned base = r->depth;

	do {
		char c = next_char(r);

		if (c == '{' || c == '[') {
			if (!json_read_open(r, c))
				return false;
			objects[r->depth] = c == '{';
		} else if (!skip_scalar(r, c)) {
			return false;
		}
		while (r->depth > base && !skip_step(r, objects[r->depth])) {
			if (r->failed)
				return false;
		}
	} while (r->depth > base);
	return true;
}

bool json_read_value(struct json_read *r, struct json_text *ret_value)
{
	char c = next_char(r);
	const char *start = r->at;
	bool ok = c == '{' || c == '[' ? skip_nested(r) : skip_scalar(r, c);

	if (ok && ret_value)
		*ret_value = (struct json_text){ .text = start, .len = (size_t)(r->at - start) };
	return ok;
}

bool json_read_end(struct json_read *r)
{
	next_char(r);
	return !r->failed && r->depth == 0 && r->at == r->end;
}

bool json_text_is(const struct json_text *text, const char *word)
{
	return strncmp(text->text, word, text->len) == 0 && word[text->len] == '\0';
}
