#include "base/timefmt.h"

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

	if (!gmtime_r(&seconds, &tm))
		memset(&tm, 0, sizeof(tm));
	n = strftime(buf, TIMEFMT_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	if (digits == 3)
		snprintf(buf + n, TIMEFMT_MAX - n, ".%03dZ", ms);
	else if (digits == 6)
		snprintf(buf + n, TIMEFMT_MAX - n, ".%03d000Z", ms);
	else
		snprintf(buf + n, TIMEFMT_MAX - n, "Z");
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

/* "Z", "+hh:mm" or "-hh:mm" to the end of @s, as milliseconds east. */
static bool parse_offset(const char *s, int64_t *ret_ms)
{
	int hours;
	int minutes;
	char sign = s[0];

	if (strcmp(s, "Z") == 0) {
		*ret_ms = 0;
		return true;
	}
	if ((sign != '+' && sign != '-') || strlen(s) != 6 || s[3] != ':')
		return false;
	if (!isdigit((unsigned char)s[1]) || !isdigit((unsigned char)s[2]) ||
	    !isdigit((unsigned char)s[4]) || !isdigit((unsigned char)s[5]))
		return false;
	hours = (s[1] - '0') * 10 + (s[2] - '0');
	minutes = (s[4] - '0') * 10 + (s[5] - '0');
	*ret_ms = (int64_t)(hours * 60 + minutes) * 60000 * (sign == '-' ? -1 : 1);
	return true;
}

bool timefmt_parse(const char *s, int64_t *ret_wall_ms)
{
	struct tm tm = { 0 };
	int64_t east_ms;
	int64_t ms = 0;
	const char *rest;

	if (!s || !(rest = strptime(s, "%Y-%m-%dT%H:%M:%S", &tm)))
		return false;
	if (*rest == '.') {
		int64_t scale = 100;

		for (rest++; isdigit((unsigned char)*rest); rest++, scale /= 10)
			ms += (*rest - '0') * scale;
	}
	if (!parse_offset(rest, &east_ms))
		return false;
	*ret_wall_ms = (int64_t)timegm(&tm) * 1000 + ms - east_ms;
	return true;
}
