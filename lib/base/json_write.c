#include "base/json_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"

enum { SHORT_MAX = 64 };

/* True for printable ASCII without the two characters that JSON escapes, which is nearly all
 * output. */
static bool is_plain(const char *text, size_t *ret_len)
{
	const char *s = text;

	while (*s >= ' ' && *s < 0x7f && *s != '"' && *s != '\\')
		s++;
	*ret_len = (size_t)(s - text);
	return *s == '\0';
}

static void add_quoted(struct str *out, const char *text)
{
	auto_str struct str clean = STR_INIT;
	const char *s;
	size_t len;

	if (is_plain(text, &len) && len < SHORT_MAX) {
		char quoted[SHORT_MAX + 2];

		quoted[0] = '"';
		memcpy(quoted + 1, text, len);
		quoted[len + 1] = '"';
		str_add_mem(out, quoted, len + 2);
		return;
	}
	str_add_clean(&clean, text, strlen(text));
	str_add_char(out, '"');
	for (s = str_cstr(&clean); *s; s++) {
		if (*s == '"' || *s == '\\')
			str_add_char(out, '\\');
		str_add_char(out, *s);
	}
	str_add_char(out, '"');
}

static void value_begin(struct str *out, const char *key)
{
	if (out->len > 0 && !strchr("{[\n", out->buf[out->len - 1]))
		str_add_char(out, ',');
	if (!key)
		return;
	add_quoted(out, key);
	str_add_char(out, ':');
}

void json_write_open(struct str *out, const char *key, char bracket)
{
	value_begin(out, key);
	str_add_char(out, bracket);
}

void json_write_close(struct str *out, char bracket)
{
	str_add_char(out, bracket);
}

void json_write_str(struct str *out, const char *key, const char *value)
{
	value_begin(out, key);
	if (value)
		add_quoted(out, value);
	else
		str_add(out, "null");
}

void json_write_int(struct str *out, const char *key, int64_t value)
{
	char text[24];

	value_begin(out, key);
	(void)snprintf(text, sizeof(text), "%" PRId64, value);
	str_add(out, text);
}

void json_write_bool(struct str *out, const char *key, bool value)
{
	value_begin(out, key);
	str_add(out, value ? "true" : "false");
}
