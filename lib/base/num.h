/* num: parses numbers strictly. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Each parses all of @s (no blanks; no sign for unsigned). They return false and leave
 * @ret_value untouched if @s is not a number, does not fit or is NULL. */
bool str_to_u64(const char *s, uint64_t *ret_value);
bool str_to_i64(const char *s, int64_t *ret_value);

/* Hexadecimal with or without "0x". */
bool str_to_hex(const char *s, uint64_t *ret_value);
/* The low 16 bits of such a number, for example of a vendor ID; 0 if @s is not a number or NULL. */
uint16_t str_to_hex16(const char *s);

/* "true", "false", "yes", "no", "1", "0". */
bool str_to_bool(const char *s, bool *ret_value);

/* A duration in Go's format, as in Kubernetes: "250ms", "30s", "5m", "1h30m"; a number without
 * unit is in seconds. The result is in milliseconds; more than 2^32 seconds is an error. */
bool str_to_duration_ms(const char *s, uint64_t *ret_ms);
