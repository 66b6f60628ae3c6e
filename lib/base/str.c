#include "base/str.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

static void reserve(struct str *s, size_t more)
{
	size_t cap = s->cap ? s->cap : 64;

	if (s->buf && s->len + more + 1 <= s->cap)
		return;
	while (cap < s->len + more + 1)
		cap *= 2;
	s->buf = xreallocarray(s->buf, cap, 1);
	s->cap = cap;
	s->buf[s->len] = '\0';
}

void str_add_mem(struct str *s, const void *data, size_t len)
{
	reserve(s, len);
	if (len)
		memcpy(s->buf + s->len, data, len);
	s->len += len;
	s->buf[s->len] = '\0';
}

void str_add(struct str *s, const char *text)
{
	str_add_mem(s, text, strlen(text));
}

void str_add_char(struct str *s, char c)
{
	str_add_mem(s, &c, 1);
}

void str_addf(struct str *s, const char *fmt, ...)
{
	va_list args;
	char *text = NULL;
	int n;

	va_start(args, fmt);
	n = vasprintf(&text, fmt, args);
	va_end(args);
	if (n < 0)
		abort();
	str_add_mem(s, text, (size_t)n);
	free(text);
}

/* C0, DEL and C1 (U+0080 to U+009F): terminals interpret "\xc2\x9b" like "\x1b[", and YAML does
 * not allow it. */
static bool is_control(const char *data, size_t len)
{
	unsigned char first = (unsigned char)data[0];

	if (len == 1)
		return first < ' ' || first == 0x7f;
	return first == 0xc2 && (unsigned char)data[1] < 0xa0;
}

void str_add_clean(struct str *s, const char *data, size_t len)
{
	size_t at = 0;

	while (at < len) {
		size_t n = utf8_sequence(data + at, len - at);

		if (n == 0 || is_control(data + at, n)) {
			str_addf(s, "\\x%02x", (unsigned char)data[at]);
			at++;
			continue;
		}
		str_add_mem(s, data + at, n);
		at += n;
	}
}

void str_cut(struct str *s, size_t max)
{
	if (s->len <= max)
		return;

	/* Back to the start of a character: all its other bytes are 10xxxxxx. */
	s->len = max - 3;
	while (s->len > 0 && ((unsigned char)s->buf[s->len] & 0xc0) == 0x80)
		s->len--;
	str_add(s, "...");
}

void str_clear(struct str *s)
{
	s->len = 0;
	if (s->buf)
		s->buf[0] = '\0';
}

const char *str_cstr(struct str *s)
{
	reserve(s, 0);
	return s->buf;
}

char *str_detach(struct str *s)
{
	char *text;

	reserve(s, 0);
	text = s->buf;
	*s = STR_INIT;
	return text;
}

void str_done(struct str *s)
{
	free(s->buf);
	*s = STR_INIT;
}

char *str_clean(const char *text, size_t max)
{
	struct str out = STR_INIT;

	if (!text)
		return NULL;
	str_add_clean(&out, text, strlen(text));
	str_cut(&out, max);
	return str_detach(&out);
}

bool str_equal(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

bool str_match(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

bool str_ends_in(const char *text, const char *end)
{
	size_t len = strlen(text);
	size_t end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

const char *str_or_empty(const char *text)
{
	return text ? text : "";
}

int str_compare(const char *a, const char *b)
{
	return strcmp(str_or_empty(a), str_or_empty(b));
}

const char *str_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

void str_set(char **member, const char *text)
{
	char *copy = xstrdup_or_null(text);

	free(*member);
	*member = copy;
}

void str_set_nonempty(char **member, const char *text)
{
	str_set(member, text && *text ? text : NULL);
}

size_t str_distance(const char *a, const char *b)
{
	enum { NAME_MAX_LEN = 40 };
	size_t row[NAME_MAX_LEN + 1];
	size_t len = strlen(b);

	if (len > NAME_MAX_LEN || strlen(a) > NAME_MAX_LEN)
		return SIZE_MAX;
	for (size_t j = 0; j <= len; j++)
		row[j] = j;
	for (size_t i = 0; a[i]; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < len; j++) {
			size_t change = diagonal + (a[i] != b[j]);
			size_t least = row[j] < row[j + 1] ? row[j] + 1 : row[j + 1] + 1;

			diagonal = row[j + 1];
			row[j + 1] = change < least ? change : least;
		}
	}
	return row[len];
}

size_t str_far(const char *name)
{
	return strlen(name) / 3 + 2;
}
