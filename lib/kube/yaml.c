#include "kube/yaml.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include <yaml.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "base/utf8.h"

/* --- reading --- */

/* A finished node that an alias may refer to. Borrowed from the tree. */
struct anchor {
	char *name;
	json_t *value;
	size_t nodes;
};

struct reader {
	yaml_parser_t parser;
	const char *name;
	ARRAY(struct anchor) anchors;
	size_t nodes;
	unsigned depth;
	struct err *err;
};

static int read_node(struct reader *r, yaml_event_t *event, json_t **ret_value);

static int fail_at(struct reader *r, const yaml_mark_t *mark, int code, const char *what)
{
	return err_set(r->err, ERR_INVALID, code, "%s:%zu: %s", r->name, mark->line + 1, what);
}

static int next_event(struct reader *r, yaml_event_t *event)
{
	const yaml_mark_t *mark = &r->parser.problem_mark;
	const char *problem;

	if (yaml_parser_parse(&r->parser, event))
		return 0;
	problem = r->parser.problem ? r->parser.problem : "not YAML";
	if (r->parser.error == YAML_READER_ERROR)
		return err_set(r->err, ERR_INVALID, -EINVAL, "%s: %s (byte %zu)", r->name, problem,
			       r->parser.problem_offset);
	return fail_at(r, mark, -EINVAL, problem);
}

static int count_nodes(struct reader *r, const yaml_mark_t *mark, size_t more)
{
	r->nodes += more;
	if (r->nodes > YAML_NODES_MAX)
		return fail_at(r, mark, -EFBIG,
			       "too many values (aliases count as what they name)");
	return 0;
}

/* [+-] digits [. digits] [e [+-] digits], with a digit before or after the point. */
static bool is_real(const char *text)
{
	size_t whole;
	size_t part = 0;

	text += *text == '+' || *text == '-';
	whole = strspn(text, "0123456789");
	text += whole;
	if (*text == '.') {
		part = strspn(text + 1, "0123456789");
		text += 1 + part;
	}
	if (whole + part == 0)
		return false;
	if (*text == 'e' || *text == 'E') {
		text += text[1] == '+' || text[1] == '-' ? 2 : 1;
		if (!*text)
			return false;
		text += strspn(text, "0123456789");
	}
	return !*text;
}

static json_t *plain_number(const char *text)
{
	const char *digits = text + strspn(text, "+-");
	int64_t whole;

	if (str_to_i64(*text == '+' ? text + 1 : text, &whole)) {
		/* Some parsers read a leading zero as octal, others as a string: keep the text. */
		return digits[0] == '0' && digits[1] ? NULL : json_integer(whole);
	}
	if (!is_real(text) || !strpbrk(text, ".eE"))
		return NULL;
	return json_real(strtod(text, NULL)); /* NULL when infinite */
}

/* The value of a plain (unquoted) scalar; NULL if it is a string. */
static json_t *plain_value(const char *text)
{
	static const char *const nulls[] = { "", "~", "null", "Null", "NULL" };
	static const char *const yes[] = { "true", "True", "TRUE" };
	static const char *const no[] = { "false", "False", "FALSE" };

	for (size_t i = 0; i < ARRAY_LEN(nulls); i++) {
		if (strcmp(text, nulls[i]) == 0)
			return json_null();
	}
	for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
		if (strcmp(text, yes[i]) == 0)
			return json_true();
		if (strcmp(text, no[i]) == 0)
			return json_false();
	}
	return plain_number(text);
}

static int read_scalar(struct reader *r, const yaml_event_t *event, json_t **ret_value)
{
	const char *text = (const char *)event->data.scalar.value;
	size_t len = event->data.scalar.length;
	json_t *value = NULL;

	if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	    event->data.scalar.plain_implicit)
		value = plain_value(text);
	if (!value)
		value = json_stringn(text, len);
	if (!value)
		return fail_at(r, &event->start_mark, -EINVAL, "text that is not UTF-8");
	*ret_value = value;
	return 0;
}

static int read_key(struct reader *r, const yaml_event_t *event, json_t *object, char **ret_key)
{
	const char *key = (const char *)event->data.scalar.value;

	if (event->type != YAML_SCALAR_EVENT)
		return fail_at(r, &event->start_mark, -EINVAL, "a key that is not a string");
	if (strlen(key) != event->data.scalar.length)
		return fail_at(r, &event->start_mark, -EINVAL, "a key with a NUL in it");
	if (strcmp(key, "<<") == 0)
		return fail_at(r, &event->start_mark, -EINVAL, "merge keys are not supported");
	if (json_object_get(object, key))
		return err_set(r->err, ERR_INVALID, -EINVAL, "%s:%zu: key '%s' is there twice",
			       r->name, event->start_mark.line + 1, key);
	*ret_key = xstrdup(key);
	return count_nodes(r, &event->start_mark, 1);
}

/* One "key: value" whose key is @event. */
static int read_member(struct reader *r, const yaml_event_t *event, json_t *object)
{
	auto_free char *key = NULL;
	json_t *value = NULL;
	yaml_event_t next;
	int result;

	result = read_key(r, event, object, &key);
	if (result < 0)
		return result;
	result = next_event(r, &next);
	if (result < 0)
		return result;
	result = read_node(r, &next, &value);
	yaml_event_delete(&next);
	if (result < 0)
		return result;
	if (json_object_set_new(object, key, value) < 0)
		return fail_at(r, &r->parser.mark, -EINVAL, "a key that is not UTF-8");
	return 0;
}

static int read_item(struct reader *r, yaml_event_t *event, json_t *array)
{
	json_t *value = NULL;
	int result;

	result = read_node(r, event, &value);
	if (result == 0)
		json_array_append_new(array, value);
	return result;
}

/* The members of a mapping or the items of a sequence, up to the event @last. */
static int read_children(struct reader *r, yaml_event_type_t last, json_t *into)
{
	for (;;) {
		yaml_event_t event;
		int result;

		result = next_event(r, &event);
		if (result < 0)
			return result;
		if (event.type == last) {
			yaml_event_delete(&event);
			return 0;
		}
		result = json_is_object(into) ? read_member(r, &event, into)
					      : read_item(r, &event, into);
		yaml_event_delete(&event);
		if (result < 0)
			return result;
	}
}

static int read_collection(struct reader *r, const yaml_event_t *event, json_t **ret_value)
{
	bool mapping = event->type == YAML_MAPPING_START_EVENT;
	json_t *value;
	int result;

	if (r->depth >= YAML_DEPTH_MAX)
		return fail_at(r, &event->start_mark, -EFBIG, "nested too deeply");
	value = mapping ? json_object() : json_array();
	r->depth++;
	result =
		read_children(r, mapping ? YAML_MAPPING_END_EVENT : YAML_SEQUENCE_END_EVENT, value);
	r->depth--;
	if (result < 0)
		json_decref(value);
	else
		*ret_value = value;
	return result;
}

static int read_alias(struct reader *r, const yaml_event_t *event, json_t **ret_value)
{
	const char *name = (const char *)event->data.alias.anchor;

	/* The newest anchor of that name wins. */
	for (size_t i = r->anchors.len; i > 0; i--) {
		const struct anchor *anchor = &r->anchors.items[i - 1];
		int result;

		if (strcmp(anchor->name, name) != 0)
			continue;
		result = count_nodes(r, &event->start_mark, anchor->nodes);
		if (result == 0)
			*ret_value = json_deep_copy(anchor->value);
		return result;
	}
	return fail_at(r, &event->start_mark, -EINVAL, "alias of an anchor that is not complete");
}

static const char *anchor_of(const yaml_event_t *event)
{
	const yaml_char_t *name = NULL;

	if (event->type == YAML_SCALAR_EVENT)
		name = event->data.scalar.anchor;
	else if (event->type == YAML_MAPPING_START_EVENT)
		name = event->data.mapping_start.anchor;
	else if (event->type == YAML_SEQUENCE_START_EVENT)
		name = event->data.sequence_start.anchor;
	return (const char *)name;
}

static int check_tag(struct reader *r, const yaml_event_t *event)
{
	const yaml_char_t *tag = NULL;

	if (event->type == YAML_SCALAR_EVENT)
		tag = event->data.scalar.tag;
	else if (event->type == YAML_MAPPING_START_EVENT)
		tag = event->data.mapping_start.tag;
	else if (event->type == YAML_SEQUENCE_START_EVENT)
		tag = event->data.sequence_start.tag;
	if (!tag ||
	    (event->type == YAML_SCALAR_EVENT && strcmp((const char *)tag, YAML_STR_TAG) == 0))
		return 0;
	return fail_at(r, &event->start_mark, -EINVAL, "tags are not supported");
}

static int read_node(struct reader *r, yaml_event_t *event, json_t **ret_value)
{
	size_t before = r->nodes;
	int result;

	if (event->type == YAML_ALIAS_EVENT)
		return read_alias(r, event, ret_value);
	result = check_tag(r, event);
	if (result == 0)
		result = count_nodes(r, &event->start_mark, 1);
	if (result < 0)
		return result;
	result = event->type == YAML_SCALAR_EVENT ? read_scalar(r, event, ret_value)
						  : read_collection(r, event, ret_value);
	if (result == 0 && anchor_of(event))
		*array_add(&r->anchors) = (struct anchor){
			.name = xstrdup(anchor_of(event)),
			.value = json_incref(*ret_value),
			.nodes = r->nodes - before,
		};
	return result;
}

static int skip_event(struct reader *r, yaml_event_type_t *ret_type)
{
	yaml_event_t event;
	int result = next_event(r, &event);

	if (result == 0) {
		*ret_type = event.type;
		yaml_event_delete(&event);
	}
	return result;
}

/* After the value: end of the document, then end of the stream. */
static int read_end(struct reader *r)
{
	yaml_event_type_t type = YAML_NO_EVENT;
	int result = skip_event(r, &type);

	if (result == 0)
		result = skip_event(r, &type);
	if (result == 0 && type != YAML_STREAM_END_EVENT)
		return fail_at(r, &r->parser.mark, -EINVAL, "a second document; only one is read");
	return result;
}

static int read_document(struct reader *r, json_t **ret_value)
{
	yaml_event_type_t type = YAML_NO_EVENT;
	yaml_event_t event;
	int result;

	result = skip_event(r, &type); /* start of the stream */
	if (result == 0)
		result = skip_event(r, &type); /* start of the document */
	if (result < 0)
		return result;
	if (type == YAML_STREAM_END_EVENT) {
		*ret_value = json_null();
		return 0;
	}
	result = next_event(r, &event);
	if (result < 0)
		return result;
	result = read_node(r, &event, ret_value);
	yaml_event_delete(&event);
	return result < 0 ? result : read_end(r);
}

static void reader_done(struct reader *r)
{
	for (size_t i = 0; i < r->anchors.len; i++) {
		free(r->anchors.items[i].name);
		json_decref(r->anchors.items[i].value);
	}
	array_done(&r->anchors);
	yaml_parser_delete(&r->parser);
}

int yaml_parse(const char *name, const char *text, size_t len, json_t **ret_value, struct err *err)
{
	struct reader r = { .name = name, .err = err };
	json_t *value = NULL;
	int result;

	if (len > YAML_TEXT_MAX)
		return err_set(err, ERR_INVALID, -EFBIG, "%s:1: more than %d bytes of YAML", name,
			       YAML_TEXT_MAX);
	if (!yaml_parser_initialize(&r.parser))
		abort();
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, len);
	result = read_document(&r, &value);
	reader_done(&r);
	if (result < 0) {
		json_decref(value);
		return result;
	}
	*ret_value = value;
	return 0;
}

/* --- writing --- */

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
		unsigned code = n ? utf8_code_point(text + at, n) : 0xfffd;

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
