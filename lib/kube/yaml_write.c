#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "kube/yaml.h"

/* A quoted key may be up to six times as long. */
enum { KEY_PLAIN_MAX = 160 };

static void write_value(json_t *value, unsigned indent, struct str *out);

static void add_indent(struct str *out, unsigned indent)
{
	for (unsigned i = 0; i < indent; i++)
		str_add_char(out, ' ');
}

/* Words that some YAML parser reads as null, bool or number. */
static bool is_word(const char *text)
{
	static const char *const words[] = { "~",  "null", "true", "false", "yes",  "no",
					     "on", "off",  "y",    "n",     ".inf", ".nan" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcasecmp(text, words[i]) == 0)
			return true;
	}
	return false;
}

/* Numbers, dates, times and addresses like 12:30:45 begin with a digit or a sign: quote every
 * string that does so and consists only of their characters. */
static bool is_like_number(const char *text)
{
	const char *digits = text + strspn(text, "+-.");

	if (*digits < '0' || *digits > '9')
		return false;
	return !digits[strspn(digits, "0123456789abcdefABCDEFxXoO_.:+-TZ")];
}

static bool is_plain(const char *text, size_t len)
{
	if (len == 0 || is_word(text) || is_like_number(text) || strlen(text) != len)
		return false;
	if (strchr("-?:,[]{}#&*!|>'\"%@` =<", text[0]) &&
	    !(text[0] == '-' && text[1] > ' ' && text[1] != '-'))
		return false;
	if (text[len - 1] == ' ' || text[len - 1] == ':' || strstr(text, ": ") ||
	    strstr(text, " #"))
		return false;
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)text[i] < ' ' || (unsigned char)text[i] >= 0x7f)
			return false;
	}
	return true;
}

/* The code point of the valid UTF-8 sequence of @n bytes at @text. */
static unsigned code_point(const char *text, size_t n)
{
	static const unsigned char first_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	unsigned code = (unsigned char)text[0] & first_bits[n];

	for (size_t i = 1; i < n; i++)
		code = code << 6 | ((unsigned char)text[i] & 0x3f);
	return code;
}

/* Characters that YAML 1.1 section 5.1 does not allow unescaped, and those that count as line
 * breaks there. */
static bool must_escape(unsigned code)
{
	return code < ' ' || (code >= 0x7f && code <= 0x9f) || code == 0x2028 || code == 0x2029 ||
	       code == 0xfeff || code == 0xfffe || code == 0xffff;
}

/* In double quotes. Values from jansson are UTF-8. */
static void write_quoted(const char *text, size_t len, struct str *out)
{
	static const char escapes[0x80] = {
		['"'] = '"',  ['\\'] = '\\', ['\n'] = 'n', ['\t'] = 't',
		['\r'] = 'r', ['\b'] = 'b',  ['\f'] = 'f',
	};

	str_add_char(out, '"');
	for (size_t at = 0; at < len;) {
		size_t n = utf8_sequence(text + at, len - at);
		unsigned code = n ? code_point(text + at, n) : 0xfffd;

		if (code < 0x80 && escapes[code])
			str_addf(out, "\\%c", escapes[code]);
		else if (must_escape(code))
			str_addf(out, "\\u%04x", code);
		else
			str_add_mem(out, text + at, n);
		at += n ? n : 1;
	}
	str_add_char(out, '"');
}

/* Numbers, true, false and null are written as in JSON. */
static void write_json(const json_t *value, struct str *out)
{
	auto_free char *text = json_dumps(value, JSON_ENCODE_ANY);

	str_add(out, text ? text : "null");
}

/* Several lines of printable text are written as a literal block. */
static bool is_block(const char *text, size_t len)
{
	if (!memchr(text, '\n', len) || text[0] == '\n' || text[0] == ' ' || strlen(text) != len)
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if ((c < ' ' && c != '\n') || c >= 0x7f || (c == ' ' && text[i + 1] == '\n'))
			return false;
	}
	return text[len - 1] != ' ' && !(len > 1 && text[len - 1] == '\n' && text[len - 2] == '\n');
}

static void write_block(const char *text, size_t len, unsigned indent, struct str *out)
{
	const char *end = text + len;

	str_add(out, text[len - 1] == '\n' ? "|\n" : "|-\n");
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t n = (size_t)((newline ? newline : end) - text);

		if (n > 0)
			add_indent(out, indent);
		str_add_mem(out, text, n);
		str_add_char(out, '\n');
		text += n + 1;
	}
}

static void write_string(const json_t *value, unsigned indent, struct str *out)
{
	const char *text = json_string_value(value);
	size_t len = json_string_length(value);

	if (is_block(text, len)) {
		write_block(text, len, indent > 0 ? indent : 2, out);
		return;
	}
	if (is_plain(text, len))
		str_add_mem(out, text, len);
	else
		write_quoted(text, len, out);
	str_add_char(out, '\n');
}

static int compare_keys(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A key longer than a parser's lookahead (1024 characters) needs the "? " form. */
static void write_key(const char *key, unsigned indent, struct str *out)
{
	size_t len = strlen(key);
	bool is_long = len > KEY_PLAIN_MAX;

	if (is_long)
		str_add(out, "? ");
	if (is_plain(key, len))
		str_add(out, key);
	else
		write_quoted(key, len, out);
	if (is_long) {
		str_add_char(out, '\n');
		add_indent(out, indent);
	}
}

static void write_member(const char *key, json_t *value, unsigned indent, struct str *out)
{
	bool nested = json_is_object(value) && json_object_size(value) > 0;
	bool list = json_is_array(value) && json_array_size(value) > 0;

	write_key(key, indent, out);
	str_add_char(out, ':');
	if (!nested && !list) {
		str_add_char(out, ' ');
		write_value(value, indent + 2, out);
		return;
	}
	str_add_char(out, '\n');
	if (nested)
		add_indent(out, indent + 2);
	else
		add_indent(out, indent);
	write_value(value, nested ? indent + 2 : indent, out);
}

/* The caller has written the indent of the first line. */
static void write_object(json_t *object, unsigned indent, struct str *out)
{
	ARRAY(const char *) keys = { 0 };
	const char *key;
	json_t *value;

	json_object_foreach (object, key, value)
		*array_add(&keys) = key;
	if (keys.items)
		qsort(keys.items, keys.len, sizeof(*keys.items), compare_keys);
	for (size_t i = 0; i < keys.len; i++) {
		if (i > 0)
			add_indent(out, indent);
		write_member(keys.items[i], json_object_get(object, keys.items[i]), indent, out);
	}
	array_done(&keys);
}

static void write_array(const json_t *array, unsigned indent, struct str *out)
{
	for (size_t i = 0; i < json_array_size(array); i++) {
		if (i > 0)
			add_indent(out, indent);
		str_add(out, "- ");
		write_value(json_array_get(array, i), indent + 2, out);
	}
}

static void write_value(json_t *value, unsigned indent, struct str *out)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		if (json_object_size(value) > 0)
			write_object(value, indent, out);
		else
			str_add(out, "{}\n");
		return;
	case JSON_ARRAY:
		if (json_array_size(value) > 0)
			write_array(value, indent, out);
		else
			str_add(out, "[]\n");
		return;
	case JSON_STRING:
		write_string(value, indent, out);
		return;
	case JSON_INTEGER:
	case JSON_REAL:
	case JSON_TRUE:
	case JSON_FALSE:
	case JSON_NULL:
		write_json(value, out);
		str_add_char(out, '\n');
		return;
	}
}

void yaml_write(json_t *value, struct str *out)
{
	write_value(value, 0, out);
}
