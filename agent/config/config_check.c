#include "agent/config/config_check.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "agent/config/config.h"
#include "api/names.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

enum {
	SHOWN_MAX = 64, /* of a text that is wrong */
	PCI_IDS_LEN = 9,
	LABEL_KEY_MAX = NAMES_OBJECT_MAX + 1 + NAMES_LABEL_MAX,
};

static int wrong(struct err *err, const char *what, const char *text, const char *rule)
{
	auto_str struct str shown = STR_INIT;

	if (!text || !*text)
		return err_set(err, ERR_INVALID, -EINVAL, "%s is missing: %s", what, rule);
	str_add_clean(&shown, text, strnlen(text, SHOWN_MAX + 1));
	str_cut(&shown, SHOWN_MAX);
	return err_set(err, ERR_INVALID, -EINVAL, "%s '%s': %s", what, str_cstr(&shown), rule);
}

int config_check_resource(const char *text, struct err *err)
{
	if (text && names_valid_offered_resource(text))
		return 0;
	return wrong(
		err, "resourceName", text,
		"must be DOMAIN/NAME, with a domain outside kubernetes.io and a name of at most "
		"63 letters, digits, '.', '-' or '_'");
}

static bool is_hex(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!isxdigit((unsigned char)text[i]))
			return false;
	}
	return len > 0;
}

int config_check_pci_ids(const char *text, uint16_t *ret_vendor, uint16_t *ret_device,
			 struct err *err)
{
	char vendor[5] = { 0 };
	uint64_t v = 0;
	uint64_t d = 0;

	if (!text || strlen(text) != PCI_IDS_LEN || text[4] != ':' || !is_hex(text, 4) ||
	    !is_hex(text + 5, 4))
		return wrong(err, "pciVendorSelector", text,
			     "must be vendor and device, four hexadecimal digits each, such as "
			     "8086:10d3");
	memcpy(vendor, text, 4);
	(void)str_to_hex(vendor, &v);
	(void)str_to_hex(text + 5, &d);
	*ret_vendor = (uint16_t)v;
	*ret_device = (uint16_t)d;
	return 0;
}

int config_check_usb_id(const char *what, const char *text, uint16_t *ret_id, struct err *err)
{
	uint64_t id = 0;

	if (!text || strlen(text) > 4 || !is_hex(text, strlen(text)) || !str_to_hex(text, &id))
		return wrong(err, what, text, "must be up to four hexadecimal digits");
	*ret_id = (uint16_t)id;
	return 0;
}

/* The digits at the beginning of @text. */
static size_t digits(const char *text)
{
	return strspn(text, "0123456789");
}

int config_check_port_path(const char *text, struct err *err)
{
	const char *at = text;
	size_t len;

	if (!text)
		return 0;
	len = digits(at);
	at += len;
	if (len == 0 || *at++ != '-' || strlen(text) > CONFIG_TEXT_MAX)
		return wrong(err, "portPath", text, "must be a bus and its ports, such as 1-2.3");
	while ((len = digits(at)) > 0 && at[len] == '.')
		at += len + 1;
	if (len == 0 || at[len])
		return wrong(err, "portPath", text, "must be a bus and its ports, such as 1-2.3");
	return 0;
}

static bool is_printable(const char *text)
{
	for (const char *c = text; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 127)
			return false;
	}
	return true;
}

/* Does @path have a part that is "", "." or ".."? */
static bool has_odd_part(const char *path)
{
	for (const char *at = path; at;) {
		const char *part = at + 1;
		size_t len;

		at = strchr(part, '/');
		len = at ? (size_t)(at - part) : strlen(part);
		if (len == 0 || (part[0] == '.' && (len == 1 || (len == 2 && part[1] == '.'))))
			return true;
	}
	return false;
}

int config_check_path(const char *what, const char *text, struct err *err)
{
	if (text && text[0] == '/' && strlen(text) <= CONFIG_PATH_MAX && is_printable(text) &&
	    !has_odd_part(text))
		return 0;
	return wrong(err, what, text,
		     "must be an absolute path without '..' and '//', of at most 255 bytes");
}

int config_check_text(const char *what, const char *text, struct err *err)
{
	if (text && *text && strlen(text) <= CONFIG_TEXT_MAX && is_printable(text))
		return 0;
	return wrong(err, what, text, "must be printable text of at most 255 bytes");
}

int config_check_permissions(const char *text, struct err *err)
{
	bool r = text && strchr(text, 'r');
	bool w = text && strchr(text, 'w');
	bool m = text && strchr(text, 'm');

	if (text && *text && strlen(text) == (size_t)r + (size_t)w + (size_t)m)
		return 0;
	return wrong(err, "permissions", text, "must be some of the letters r, w and m");
}

int config_check_count(int64_t count, unsigned *ret_count, struct err *err)
{
	if (count < 0 || count > CONFIG_COUNT_MAX)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "count %lld: a resource has 1 to %d units", (long long)count,
			       CONFIG_COUNT_MAX);
	*ret_count = count ? (unsigned)count : CONFIG_COUNT_DEFAULT;
	return 0;
}

int config_check_labels(const struct json_pairs *labels, struct err *err)
{
	if (labels->len > CONFIG_LABELS_MAX)
		return err_set(err, ERR_INVALID, -E2BIG,
			       "nodeSelector has %zu labels, more than %d", labels->len,
			       CONFIG_LABELS_MAX);
	for (size_t i = 0; i < labels->len; i++) {
		if (!labels->items[i].key[0] || strlen(labels->items[i].key) > LABEL_KEY_MAX)
			return wrong(err, "nodeSelector", labels->items[i].key,
				     "must be the key of a label");
		if (!names_valid_label(labels->items[i].value))
			return wrong(err, "nodeSelector", labels->items[i].value,
				     "a label can have no such value");
	}
	return 0;
}

int config_check_dra(const char *mode, bool external, bool on_demand, enum config_dra *ret_dra,
		     struct err *err)
{
	enum config_dra dra = CONFIG_DRA_OFF;

	if (mode && strcmp(mode, "Claimed") == 0)
		dra = CONFIG_DRA_CLAIMED;
	else if (mode && strcmp(mode, "OnDemand") == 0)
		dra = CONFIG_DRA_ON_DEMAND;
	else if (mode && strcmp(mode, "Off") != 0)
		return wrong(err, "dra.mode", mode,
			     on_demand ? "must be Off, Claimed or OnDemand"
				       : "must be Off or Claimed");
	if (dra == CONFIG_DRA_ON_DEMAND && !on_demand)
		return err_set(err, ERR_INVALID, -EOPNOTSUPP,
			       "dra.mode OnDemand: only entries of pciHostDevices can have it; set "
			       "Claimed");
	if (dra != CONFIG_DRA_OFF && external)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "dra.mode %s: another device plugin serves the entry "
			       "(externalResourceProvider): remove one of the two fields",
			       mode);
	*ret_dra = dra;
	return 0;
}

int config_check_type(const char *text, char **ret_type, struct err *err)
{
	char *type;
	size_t len;

	text = text ? text + strspn(text, " ") : "";
	if (config_check_text("type", text, err) < 0)
		return err->code;
	len = strlen(text);
	while (len > 0 && text[len - 1] == ' ')
		len--;
	type = xstrndup(text, len);
	for (char *c = type; *c; c++) {
		if (*c == ' ')
			*c = '_';
	}
	*ret_type = type;
	return 0;
}
