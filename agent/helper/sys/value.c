#include "agent/helper/sys/value.h"

#include <string.h>

enum { DRIVER_MAX = 63, NAME_MAX_LEN = 253, GROUP_MAX = 10 };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_lower_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f');
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Letters, digits and the characters of @others, at least one, at most @max. */
static bool is_word(const char *text, size_t len, size_t max, const char *others)
{
	if (len == 0 || len > max)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (is_letter(text[i]) || is_digit(text[i]))
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
		if (form[i] == 'x' ? !is_lower_hex(text[i]) : text[i] != form[i])
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
		if (!is_digit(text[i]))
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
