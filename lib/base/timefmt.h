/* timefmt: clocks, and RFC 3339 as in Kubernetes. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { TIMEFMT_MAX = 40 };

/* Milliseconds since the Unix epoch; jumps when the clock is set. For timestamps only. */
int64_t timefmt_wall_ms(void);

/* Monotonic milliseconds; for every timer and deadline. */
uint64_t timefmt_now_ms(void);

/* Write "2026-01-02T03:04:05Z" (metav1.Time), ".678Z" or ".678901Z" (metav1.MicroTime) to @buf
 * and return it. */
const char *timefmt_rfc3339(int64_t wall_ms, char buf[TIMEFMT_MAX]);
const char *timefmt_rfc3339_ms(int64_t wall_ms, char buf[TIMEFMT_MAX]);
const char *timefmt_rfc3339_micro(int64_t wall_ms, char buf[TIMEFMT_MAX]);

/* Parse RFC 3339 with "Z" or an offset and any fraction. False if @s is not valid. */
bool timefmt_parse(const char *s, int64_t *ret_wall_ms);
