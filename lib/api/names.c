#include "api/names.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "base/str.h"

enum {
	HASH_LEN = 16,
	SUFFIX_MAX = 64, /* an address has 12 to 17 bytes; anything longer is cut */
};

/* One part of a DNS subdomain, @len bytes long. */
static bool is_dns_label(const char *text, size_t len)
{
	if (len == 0 || !ascii_is_lower_alnum(text[0]) || !ascii_is_lower_alnum(text[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!ascii_is_lower_alnum(text[i]) && text[i] != '-')
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

	if (len == 0 || len > NAMES_LABEL_MAX || !ascii_is_alnum(text[0]) ||
	    !ascii_is_alnum(text[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!ascii_is_alnum(text[i]) && !strchr("._-", text[i]))
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

/* IsExtendedResourceName in pkg/apis/core/v1/helper, which checks the name with "requests."
 * prepended. */
bool names_valid_offered_resource(const char *name)
{
	static const char before[] = "requests.";
	size_t len = strlen(before);

	return names_valid_resource(name) && strcspn(name, "/") <= NAMES_OBJECT_MAX - len &&
	       !strstr(name, "kubernetes.io/") && strncmp(name, before, len) != 0;
}

bool names_kubevirts_resource(const char *name)
{
	static const char domain[] = "devices.kubevirt.io/";

	return strncmp(name, domain, strlen(domain)) == 0;
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
 * Append at most @max bytes: @text, cut to leave room for the hash of @whole, with '-' for each
 * byte not in @keep.
 */
static void add_cut_of(struct str *out, const char *text, const char *whole, size_t max,
		       bool (*keep)(char c))
{
	size_t room = max - HASH_LEN - 1;
	auto_str struct str part = STR_INIT;

	for (const char *s = text; *s && part.len < room; s++) {
		if (part.len > 0 || ascii_is_alnum(*s))
			str_add_char(&part, keep(*s) ? *s : '-');
	}
	while (part.len > 0 && !ascii_is_alnum(part.buf[part.len - 1]))
		part.len--;
	if (part.len > 0) {
		str_add_mem(out, part.buf, part.len);
		str_add_char(out, '-');
	}
	str_addf(out, "%016llx", (unsigned long long)hash(whole));
}

static void add_cut(struct str *out, const char *text, size_t max, bool (*keep)(char c))
{
	add_cut_of(out, text, text, max, keep);
}

static bool in_subdomain(char c)
{
	return ascii_is_lower_alnum(c) || c == '.' || c == '-';
}

static bool in_label(char c)
{
	return ascii_is_alnum(c) || c == '.' || c == '_' || c == '-';
}

/* "<node>-<suffix>" within the limit of an object name. */
static char *object_name(const char *node, const char *suffix)
{
	struct str name = STR_INIT;
	size_t max = NAMES_OBJECT_MAX - 1 - strlen(suffix);
	auto_str struct str lower = STR_INIT;

	for (const char *s = node; *s; s++)
		str_add_char(&lower, ascii_to_lower(*s));

	if (!names_valid_object(str_cstr(&lower)))
		add_cut(&name, str_cstr(&lower), max, ascii_is_lower_alnum);
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
		char c = ascii_to_lower(*s);

		if (ascii_is_lower_alnum(c))
			str_add_char(&suffix, c);
	}
	if (suffix.len == 0)
		str_add_char(&suffix, '0'); /* no address: still make a valid name */
	return object_name(node, str_cstr(&suffix));
}

enum { BUS_TO_FUNCTION = 5, DOMAIN_MIN = 4, DOMAIN_MAX = 8 }; /* digits */

int names_pcidevice_address(const char *node, const char *name,
			    char ret_address[NAMES_ADDRESS_SIZE])
{
	const char *dash = strrchr(name, '-');
	const char *digits = dash ? dash + 1 : name;
	size_t len = strlen(digits);
	auto_free char *address = NULL;
	auto_free char *again = NULL;
	const char *rest;

	if (len < DOMAIN_MIN + BUS_TO_FUNCTION || len > DOMAIN_MAX + BUS_TO_FUNCTION ||
	    strspn(digits, "0123456789abcdef") != len)
		return -EINVAL;
	rest = digits + len - BUS_TO_FUNCTION; /* "bbddf": bus, device, function */
	if (rest[2] > '1' || rest[4] > '7')
		return -EINVAL;
	address = xasprintf("%.*s:%.2s:%.2s.%c", (int)(rest - digits), digits, rest, rest + 2,
			    rest[4]);
	again = names_pcidevice(node, address);
	if (strcmp(again, name) != 0)
		return -EINVAL;
	memcpy(ret_address, address, strlen(address) + 1);
	return 0;
}

char *names_usbdevice(const char *node, uint16_t vendor, uint16_t product, unsigned bus,
		      unsigned device)
{
	auto_free char *suffix =
		xasprintf("%04x-%04x-%03u%03u", (unsigned)vendor, (unsigned)product, bus, device);

	return object_name(node, suffix);
}

enum { INTERFACE_MAX = 48 }; /* the kernel has at most 15 */

/* With a dash in the interface name, "b-eth0" of node n1 and "eth0" of node n1-b would have the
 * same name. */
static bool is_plain(const char *interface)
{
	return strlen(interface) <= INTERFACE_MAX && names_valid_object(interface) &&
	       !strchr(interface, '-');
}

char *names_sriovnetworkdevice(const char *node, const char *interface)
{
	auto_str struct str lower = STR_INIT;
	auto_str struct str suffix = STR_INIT;

	for (const char *s = interface; *s; s++)
		str_add_char(&lower, ascii_to_lower(*s));
	if (is_plain(str_cstr(&lower)))
		str_add(&suffix, lower.buf);
	else
		add_cut(&suffix, str_cstr(&lower), INTERFACE_MAX, ascii_is_lower_alnum);
	return object_name(node, str_cstr(&suffix));
}

char *names_mediateddevice(const char *node, const char *uuid)
{
	return object_name(node, uuid);
}

char *names_mediateddeviceparent(const char *node, const char *parent)
{
	return names_pcidevice(node, parent);
}

char *names_label_value(const char *text)
{
	struct str value = STR_INIT;

	if (names_valid_label(text))
		return xstrdup(text);
	add_cut(&value, text, NAMES_LABEL_MAX, in_label);
	return str_detach(&value);
}

char *names_devicepool(const char *resource)
{
	auto_str struct str lower = STR_INIT;
	struct str name = STR_INIT;

	for (const char *s = resource; *s; s++)
		str_add_char(&lower, ascii_to_lower(*s));
	add_cut_of(&name, str_cstr(&lower), resource, NAMES_OBJECT_MAX, ascii_is_lower_alnum);
	return str_detach(&name);
}

char *names_dra_device(const char *type, const char *id)
{
	char *name = xasprintf("%s-%s", type, id);
	size_t len = strlen(name);

	for (char *c = name; *c; c++)
		*c = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '-';
	if (len <= NAMES_LABEL_MAX && name[len - 1] != '-')
		return name;
	free(name);
	return NULL;
}
