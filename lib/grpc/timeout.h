/* timeout: the value of a grpc-timeout header: at most eight digits and a unit, "1500m", "2S". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GRPC_TIMEOUT_SIZE = 10 }; /* including the NUL */

/* False if @text is not valid. Fractions of a millisecond are rounded up. */
bool grpc_timeout_parse(const char *text, uint64_t *ret_ms);

/* Write @ms to @buf and return it: in the smallest unit that fits, rounded up; limited to eight
 * digits of hours. */
const char *grpc_timeout_format(uint64_t ms, char buf[GRPC_TIMEOUT_SIZE]);
