#include "base/num.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static bool parse_unsigned(const char *s, int base, uint64_t *ret_value)
{
	uintmax_t value;
	char *end;

	if (!s || !isxdigit((unsigned char)s[0]))
		return false;
	errno = 0;
	value = strtoumax(s, &end, base);
	if (errno || *end || value > UINT64_MAX)
		return false;
	*ret_value = value;
	return true;
}

bool str_to_u64(const char *s, uint64_t *ret_value)
{
	return parse_unsigned(s, 10, ret_value);
}

bool str_to_i64(const char *s, int64_t *ret_value)
{
	intmax_t value;
	char *end;

	if (!s || !(isdigit((unsigned char)s[0]) || (s[0] == '-' && isdigit((unsigned char)s[1]))))
		return false;
	errno = 0;
	value = strtoimax(s, &end, 10);
	if (errno || *end || value > INT64_MAX || value < INT64_MIN)
		return false;
	*ret_value = value;
	return true;
}

bool str_to_hex(const char *s, uint64_t *ret_value)
{
	/* strtoumax accepts the prefix; if no digit follows it, the 'x' remains unparsed. */
	return parse_unsigned(s, 16, ret_value);
}

uint16_t str_to_hex16(const char *s)
{
	uint64_t value = 0;

	(void)str_to_hex(s, &value);
	return (uint16_t)value;
}

bool str_to_bool(const char *s, bool *ret_value)
{
	static const char *const yes[] = { "true", "yes", "1" };
	static const char *const no[] = { "false", "no", "0" };

	if (!s)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
		if (strcmp(s, yes[i]) == 0 || strcmp(s, no[i]) == 0) {
			*ret_value = strcmp(s, yes[i]) == 0;
			return true;
		}
	}
	return false;
}

/* About 136 years, so that sums of parts and "now plus a duration" cannot overflow. */
#define DURATION_MAX_MS (UINT32_MAX * UINT64_C(1000))

/* Parse one "<digits><unit>" at *@s and advance it. */
static bool duration_part(const char **s, uint64_t *total)
{
	static const struct {
		const char *name;
		uint64_t ms;
	} units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 } };
	size_t digits = strspn(*s, "0123456789");
	uint64_t value = 0;

	if (digits == 0 || digits > 12)
		return false;
	for (size_t i = 0; i < digits; i++)
		value = value * 10 + (uint64_t)((*s)[i] - '0');
	*s += digits;
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		size_t len = strlen(units[i].name);

		if (strncmp(*s, units[i].name, len) != 0 || isalpha((unsigned char)(*s)[len]))
			continue;
		*total += value * units[i].ms;
		*s += len;
		return true;
	}
	return false;
}

bool str_to_duration_ms(const char *s, uint64_t *ret_ms)
{
	uint64_t value;
	uint64_t total = 0;

	if (str_to_u64(s, &value)) {
		if (value > DURATION_MAX_MS / 1000)
			return false;
		*ret_ms = value * 1000;
		return true;
	}
	if (!s || !*s)
		return false;
	while (*s) {
		if (!duration_part(&s, &total) || total > DURATION_MAX_MS)
			return false;
	}
	*ret_ms = total;
	return true;
}
