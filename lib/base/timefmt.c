#include "base/timefmt.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int64_t timefmt_wall_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

uint64_t timefmt_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static const char *format(int64_t wall_ms, int digits, char buf[TIMEFMT_MAX])
{
	time_t seconds = (time_t)(wall_ms / 1000);
	int ms = (int)(wall_ms % 1000);
	struct tm tm;
	size_t n;
	int used;

	/* Round down for times before the epoch. */
	if (ms < 0) {
		seconds--;
		ms += 1000;
	}
	if (!gmtime_r(&seconds, &tm))
		memset(&tm, 0, sizeof(tm));
	n = strftime(buf, TIMEFMT_MAX, "%4Y-%m-%dT%H:%M:%S", &tm);
	if (digits > 0)
		used = snprintf(buf + n, TIMEFMT_MAX - n, ".%03d%.*sZ", ms, digits - 3, "000");
	else
		used = snprintf(buf + n, TIMEFMT_MAX - n, "Z");
	assert(used > 0 && n + (size_t)used < TIMEFMT_MAX);
	return buf;
}

const char *timefmt_rfc3339(int64_t wall_ms, char buf[TIMEFMT_MAX])
{
	return format(wall_ms, 0, buf);
}

const char *timefmt_rfc3339_ms(int64_t wall_ms, char buf[TIMEFMT_MAX])
{
	return format(wall_ms, 3, buf);
}

const char *timefmt_rfc3339_micro(int64_t wall_ms, char buf[TIMEFMT_MAX])
{
	return format(wall_ms, 6, buf);
}

/* Parse the digits of @form ('0' stands for a digit, other characters for themselves) at *@s
 * into the numbers between them; advances *@s. */
static bool parse_form(const char **s, const char *form, int *ret_numbers)
{
	const char *at = *s;
	int number = 0;

	for (; *form; form++, at++) {
		if (*form == '0' ? !isdigit((unsigned char)*at) : *at != *form)
			return false;
		number = *form == '0' ? number * 10 + (*at - '0') : 0;
		if (*form == '0' && form[1] != '0')
			*ret_numbers++ = number;
	}
	*s = at;
	return true;
}

/* Parse an optional ".digits" at *@s, truncated to milliseconds; advances *@s. */
static bool parse_fraction(const char **s, int64_t *ret_ms)
{
	const char *at = *s;
	int64_t ms = 0;

	if (*at == '.') {
		if (!isdigit((unsigned char)*++at))
			return false;
		for (int64_t scale = 100; isdigit((unsigned char)*at); at++, scale /= 10)
			ms += (*at - '0') * scale;
	}
	*s = at;
	*ret_ms = ms;
	return true;
}

/* Parse "Z", "+hh:mm" or "-hh:mm" up to the end of @s, as milliseconds east of UTC. */
static bool parse_offset(const char *s, int64_t *ret_ms)
{
	int sign = *s == '-' ? -1 : 1;
	int parts[2] = { 0 }; /* hours, minutes */

	if (strcmp(s, "Z") == 0) {
		*ret_ms = 0;
		return true;
	}
	if (!parse_form(&s, sign < 0 ? "-00:00" : "+00:00", parts) || *s)
		return false;
	if (parts[0] > 23 || parts[1] > 59)
		return false;
	*ret_ms = (int64_t)(parts[0] * 60 + parts[1]) * 60000 * sign;
	return true;
}

/* Convert year, month, day, hour, minute and second to seconds since the epoch; false if there
 * is no such date or time. Second 60 is a leap second and equals the following second. */
static bool calendar_seconds(const int parts[6], int64_t *ret_seconds)
{
	struct tm tm = {
		.tm_year = parts[0] - 1900,
		.tm_mon = parts[1] - 1,
		.tm_mday = parts[2],
	};
	time_t midnight;

	if (parts[1] < 1 || parts[1] > 12 || parts[3] > 23 || parts[4] > 59 || parts[5] > 60)
		return false;
	midnight = timegm(&tm);
	if (tm.tm_mday != parts[2])
		return false; /* the month is shorter, and timegm() has continued into the next */
	*ret_seconds =
		(int64_t)midnight + parts[3] * INT64_C(3600) + parts[4] * INT64_C(60) + parts[5];
	return true;
}

bool timefmt_parse(const char *s, int64_t *ret_wall_ms)
{
	int parts[6] = { 0 };
	int64_t seconds;
	int64_t east_ms;
	int64_t ms;

	if (!s || !parse_form(&s, "0000-00-00T00:00:00", parts))
		return false;
	if (!parse_fraction(&s, &ms) || !parse_offset(s, &east_ms))
		return false;
	if (!calendar_seconds(parts, &seconds))
		return false;
	*ret_wall_ms = seconds * 1000 + ms - east_ms;
	return true;
}
