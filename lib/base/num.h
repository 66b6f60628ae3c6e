/* num: numbers from text, whole or not at all. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Each reads the whole of @s (no blanks, no sign for unsigned) and returns false, leaving @ret_value
 * untouched, if it is not such a number or does not fit. NULL is not a number. */
bool str_to_u64(const char *s, uint64_t *ret_value);
bool str_to_i64(const char *s, int64_t *ret_value);

/* Hexadecimal with or without "0x". */
bool str_to_hex(const char *s, uint64_t *ret_value);

/* "true", "false", "yes", "no", "1", "0". */
bool str_to_bool(const char *s, bool *ret_value);

/* Go's form of a duration, as Kubernetes users write it: "250ms", "30s", "5m", "1h30m"; a bare
 * number is seconds. The result is in milliseconds, and longer than 2^32 seconds is no duration. */
bool str_to_duration_ms(const char *s, uint64_t *ret_ms);
