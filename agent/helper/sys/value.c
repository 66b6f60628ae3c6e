#include "agent/helper/sys/value.h"

#include <string.h>

#include "base/ascii.h"

enum { DRIVER_MAX = 63, NAME_MAX_LEN = 253, GROUP_MAX = 10 };

/* Letters, digits and the characters of @others, at least one, at most @max. */
static bool is_word(const char *text, size_t len, size_t max, const char *others)
{
	if (len == 0 || len > max)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (ascii_is_letter(text[i]) || ascii_is_digit(text[i]))
			continue;
		if (text[i] == '\0' || !strchr(others, text[i]))
			return false;
	}
	return true;
}

/* 'x' in @form stands for a hexadecimal digit. */
static bool has_form(const char *text, size_t len, const char *form)
{
	if (len != strlen(form))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (form[i] == 'x' ? !ascii_is_lower_hex(text[i]) : text[i] != form[i])
			return false;
	}
	return true;
}

bool value_is_driver(const char *text, size_t len)
{
	return is_word(text, len, DRIVER_MAX, "_-");
}

bool value_is_native(const char *text, size_t len)
{
	return len == 0 || value_is_driver(text, len);
}

bool value_is_release(const char *text, size_t len)
{
	return len == strlen("none") && memcmp(text, "none", len) == 0;
}

bool value_is_id(const char *text, size_t len)
{
	return has_form(text, len, "xxxx:xxxx");
}

bool value_is_serial(const char *text, size_t len)
{
	return has_form(text, len, "xx-xx-xx-xx-xx-xx-xx-xx");
}

bool value_is_name(const char *text, size_t len)
{
	return is_word(text, len, NAME_MAX_LEN, "._-");
}

bool value_is_group(const char *text, size_t len)
{
	if (len == 1 && text[0] == '-')
		return true;
	if (len == 0 || len > GROUP_MAX || (text[0] == '0' && len > 1))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!ascii_is_digit(text[i]))
			return false;
	}
	return true;
}

bool value_is_uuid(const char *text, size_t len)
{
	return has_form(text, len, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx");
}

bool value_is_entry(const char *text, size_t len)
{
	return is_word(text, len, NAME_MAX_LEN, "._-:,+@") && text[0] != '.';
}

bool value_is_one(const char *text, size_t len)
{
	return len == 1 && text[0] == '1';
}
