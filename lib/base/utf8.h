/* utf8: recognises well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates, up to
 * U+10FFFF). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Length (1 to 4) of the sequence at the start of @data, 0 if it is not valid. @len may be 0. */
size_t utf8_sequence(const char *data, size_t len);

bool utf8_valid(const char *data, size_t len);

/* The code point of the valid sequence of @len bytes at @data. */
unsigned utf8_code_point(const char *data, size_t len);
