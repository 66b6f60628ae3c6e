#include "api/names.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

enum {
	HASH_LEN = 16,
	SUFFIX_MAX = 64, /* an address is 12 to 17 bytes; whatever else comes is cut */
};

static bool is_lower_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alnum(char c)
{
	return is_lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

static char to_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* One part of a DNS subdomain, @len bytes long. */
static bool is_dns_label(const char *text, size_t len)
{
	if (len == 0 || !is_lower_alnum(text[0]) || !is_lower_alnum(text[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!is_lower_alnum(text[i]) && text[i] != '-')
			return false;
	}
	return true;
}

static bool is_subdomain(const char *text, size_t len)
{
	size_t start = 0;

	if (len > NAMES_OBJECT_MAX)
		return false;
	for (size_t i = 0; i <= len; i++) {
		if (i < len && text[i] != '.')
			continue;
		if (!is_dns_label(text + start, i - start))
			return false;
		start = i + 1;
	}
	return true;
}

bool names_valid_object(const char *name)
{
	return is_subdomain(name, strlen(name));
}

static bool is_name_part(const char *text)
{
	size_t len = strlen(text);

	if (len == 0 || len > NAMES_LABEL_MAX || !is_alnum(text[0]) || !is_alnum(text[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!is_alnum(text[i]) && !strchr("._-", text[i]))
			return false;
	}
	return true;
}

bool names_valid_label(const char *value)
{
	return value[0] == '\0' || is_name_part(value);
}

bool names_valid_resource(const char *name)
{
	const char *slash = strchr(name, '/');

	return slash && is_subdomain(name, (size_t)(slash - name)) && is_name_part(slash + 1);
}

/* FNV-1a with the parameters for 64 bits. */
static uint64_t hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3;
	return h;
}

/*
 * Append at most @max bytes that stand for @text: as much of it as leaves room for the hash of the
 * whole, with '-' for each byte that @keep does not take.
 */
static void add_cut(struct str *out, const char *text, size_t max, bool (*keep)(char c))
{
	size_t room = max - HASH_LEN - 1;
	auto_str struct str part = STR_INIT;

	for (const char *s = text; *s && part.len < room; s++) {
		if (part.len > 0 || is_alnum(*s))
			str_add_char(&part, keep(*s) ? *s : '-');
	}
	while (part.len > 0 && !is_alnum(part.buf[part.len - 1]))
		part.len--;
	if (part.len > 0) {
		str_add_mem(out, part.buf, part.len);
		str_add_char(out, '-');
	}
	str_addf(out, "%016llx", (unsigned long long)hash(text));
}

static bool in_subdomain(char c)
{
	return is_lower_alnum(c) || c == '.' || c == '-';
}

static bool in_label(char c)
{
	return is_alnum(c) || c == '.' || c == '_' || c == '-';
}

/* "<node>-<suffix>" within the limit of an object name. */
static char *object_name(const char *node, const char *suffix)
{
	struct str name = STR_INIT;
	size_t max = NAMES_OBJECT_MAX - 1 - strlen(suffix);
	auto_str struct str lower = STR_INIT;

	for (const char *s = node; *s; s++)
		str_add_char(&lower, to_lower(*s));

	if (!names_valid_object(str_cstr(&lower)))
		add_cut(&name, str_cstr(&lower), max, is_lower_alnum);
	else if (lower.len > max)
		add_cut(&name, lower.buf, max, in_subdomain);
	else
		str_add(&name, lower.buf);
	str_addf(&name, "-%s", suffix);
	return str_detach(&name);
}

char *names_pcidevice(const char *node, const char *address)
{
	auto_str struct str suffix = STR_INIT;

	for (const char *s = address; *s && suffix.len < SUFFIX_MAX; s++) {
		char c = to_lower(*s);

		if (is_lower_alnum(c))
			str_add_char(&suffix, c);
	}
	if (suffix.len == 0)
		str_add_char(&suffix, '0'); /* no address at all: still a name */
	return object_name(node, str_cstr(&suffix));
}

char *names_usbdevice(const char *node, uint16_t vendor, uint16_t product, unsigned bus,
		      unsigned device)
{
	auto_free char *suffix =
		xasprintf("%04x-%04x-%03u%03u", (unsigned)vendor, (unsigned)product, bus, device);

	return object_name(node, suffix);
}

char *names_label_value(const char *text)
{
	struct str value = STR_INIT;

	if (names_valid_label(text))
		return xstrdup(text);
	add_cut(&value, text, NAMES_LABEL_MAX, in_label);
	return str_detach(&value);
}
