/* ascii: character classes that do not depend on the locale, as those of <ctype.h> do. */
#pragma once

#include <stdbool.h>

static inline bool ascii_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool ascii_is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static inline bool ascii_is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

static inline bool ascii_is_letter(char c)
{
	return ascii_is_lower(c) || ascii_is_upper(c);
}

static inline bool ascii_is_alnum(char c)
{
	return ascii_is_letter(c) || ascii_is_digit(c);
}

static inline bool ascii_is_lower_alnum(char c)
{
	return ascii_is_lower(c) || ascii_is_digit(c);
}

/* "0" to "9", "a" to "f". */
static inline bool ascii_is_lower_hex(char c)
{
	return ascii_is_digit(c) || (c >= 'a' && c <= 'f');
}

static inline char ascii_to_lower(char c)
{
	return ascii_is_upper(c) ? (char)(c - 'A' + 'a') : c;
}

static inline char ascii_to_upper(char c)
{
	return ascii_is_lower(c) ? (char)(c - 'a' + 'A') : c;
}

/* The value of a hexadecimal digit; -1: it is none. */
static inline int ascii_hex_value(char c)
{
	if (ascii_is_digit(c))
		return c - '0';
	c = ascii_to_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
