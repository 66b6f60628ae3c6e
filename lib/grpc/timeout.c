#include "grpc/timeout.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/num.h"

enum { DIGITS_MAX = 8, VALUE_MAX = 99999999 };

/* A unit is @times milliseconds, or 1/@parts of a millisecond. */
static const struct unit {
	char letter;
	uint64_t times;
	uint64_t parts;
} units[] = {
	{ 'n', 0, 1000000 }, { 'u', 0, 1000 },  { 'm', 1, 1 },
	{ 'S', 1000, 1 },    { 'M', 60000, 1 }, { 'H', 3600000, 1 },
};

static uint64_t divide_up(uint64_t value, uint64_t by)
{
	return value / by + (value % by != 0);
}

bool grpc_timeout_parse(const char *text, uint64_t *ret_ms)
{
	size_t len = strlen(text);
	char digits[DIGITS_MAX + 1];
	uint64_t value = 0;

	if (len < 2 || len > DIGITS_MAX + 1)
		return false;
	memcpy(digits, text, len - 1);
	digits[len - 1] = '\0';
	if (!str_to_u64(digits, &value))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		const struct unit *u = &units[i];

		if (u->letter != text[len - 1])
			continue;
		*ret_ms = u->times ? value * u->times : divide_up(value, u->parts);
		return true;
	}
	return false;
}

const char *grpc_timeout_format(uint64_t ms, char buf[GRPC_TIMEOUT_SIZE])
{
	for (size_t i = 2; i < ARRAY_LEN(units); i++) {
		uint64_t value = divide_up(ms, units[i].times);
		bool last = i + 1 == ARRAY_LEN(units);

		if (value > VALUE_MAX && !last)
			continue;
		if (value > VALUE_MAX)
			value = VALUE_MAX;
		(void)snprintf(buf, GRPC_TIMEOUT_SIZE, "%u%c", (unsigned)value, units[i].letter);
		break;
	}
	return buf;
}
