/* age: how long ago something was, as kubectl says it: "5s", "3m10s", "47h", "12d". Pure. */
#pragma once

#include <stdint.h>

enum { AGE_MAX = 24 };

/* Of an RFC 3339 time; "" if @since is none (or NULL), and "0s" if it is yet to come. Fills @buf and
 * returns it. */
const char *age_text(const char *since, int64_t now_wall_ms, char buf[AGE_MAX]);
