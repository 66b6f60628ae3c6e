/* timeout: the value of a grpc-timeout header: at most eight digits and a unit, "1500m", "2S". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GRPC_TIMEOUT_SIZE = 10 }; /* with the NUL */

/* False if @text is not one. Parts of a millisecond count as a whole one. */
bool grpc_timeout_parse(const char *text, uint64_t *ret_ms);

/* Into @buf, which is returned: in the finest unit that holds it, rounded up; what is longer than
 * eight digits of hours becomes that. */
const char *grpc_timeout_format(uint64_t ms, char buf[GRPC_TIMEOUT_SIZE]);
