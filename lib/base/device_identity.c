#include "base/device_identity.h"

#include <string.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/mem.h"
#include "base/str.h"

enum { VALUE_MAX = 48 };

/* By weight; the first two belong to the device, the others to its slot. */
static const char *const keys[] = { "nvme", "mac", "slot", "index", "label" };
enum { OWN_KEYS = 2 };

struct value {
	const char *text; /* NULL: missing */
	size_t len;
};

static bool is_plain(char c)
{
	return ascii_is_alnum(c) || (c != '\0' && strchr("._:+-", c));
}

static struct value find_value(const char *text, const char *key)
{
	size_t key_len = strlen(key);

	while (text && *text) {
		size_t len = strcspn(text, ",");

		if (len > key_len && text[key_len] == '=' && memcmp(text, key, key_len) == 0)
			return (struct value){ text + key_len + 1, len - key_len - 1 };
		text += len + (text[len] == ',');
	}
	return (struct value){ NULL, 0 };
}

static void append(struct str *out, const char *key, const struct value *value)
{
	if (value->len == 0 || out->len + strlen(key) + value->len + 2 > DEVICE_IDENTITY_MAX)
		return;
	str_addf(out, "%s%s=", out->len > 0 ? "," : "", key);
	for (size_t i = 0; i < value->len; i++)
		str_add_char(out, is_plain(value->text[i]) ? value->text[i] : '_');
}

void device_identity_add(struct str *out, const char *key, const char *value)
{
	struct value cut = { value, 0 };

	while (*cut.text == ' ')
		cut.text++;
	cut.len = strnlen(cut.text, VALUE_MAX);
	while (cut.len > 0 && cut.text[cut.len - 1] == ' ')
		cut.len--;
	append(out, key, &cut);
}

void device_identity_merge(struct str *out, const char *known, const char *seen)
{
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		struct value value = find_value(known, keys[i]);

		if (!value.text)
			value = find_value(seen, keys[i]);
		append(out, keys[i], &value);
	}
}

bool device_identity_valid(const char *text, size_t len)
{
	if (len == 0 || len > DEVICE_IDENTITY_MAX)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!is_plain(text[i]) && text[i] != ',' && text[i] != '=')
			return false;
	}
	return true;
}

enum device_identity_match device_identity_compare(const char *left, const char *right)
{
	enum device_identity_match match = DEVICE_IDENTITY_UNKNOWN;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		struct value a = find_value(left, keys[i]);
		struct value b = find_value(right, keys[i]);

		if (!a.text || !b.text)
			continue;
		if (a.len != b.len || memcmp(a.text, b.text, a.len) != 0)
			return DEVICE_IDENTITY_OTHER;
		match = DEVICE_IDENTITY_SAME;
		if (i < OWN_KEYS)
			return match;
	}
	return match;
}
