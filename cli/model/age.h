/* age: the time since something, in kubectl's format: "5s", "3m10s", "47h", "12d". Pure. */
#pragma once

#include <stdint.h>

enum { AGE_MAX = 24 };

/* The age of an RFC 3339 time: "" if @since is invalid or NULL, "0s" if it is in the future.
 * Fills @buf and returns it. */
const char *age_text(const char *since, int64_t now_wall_ms, char buf[AGE_MAX]);
