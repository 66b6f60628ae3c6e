#include "cli/model/age.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/timefmt.h"

/* As k8s.io/apimachinery/pkg/util/duration: two units for short times, otherwise one. */
const char *age_text(const char *since, int64_t now_wall_ms, char buf[AGE_MAX])
{
	int64_t then_ms;
	int64_t s;

	buf[0] = '\0';
	if (!since || !timefmt_parse(since, &then_ms))
		return buf;
	s = now_wall_ms > then_ms ? (now_wall_ms - then_ms) / 1000 : 0;
	if (s < 120)
		(void)snprintf(buf, AGE_MAX, "%" PRId64 "s", s);
	else if (s < 600 && s % 60 != 0)
		(void)snprintf(buf, AGE_MAX, "%" PRId64 "m%" PRId64 "s", s / 60, s % 60);
	else if (s < INT64_C(3) * 3600)
		(void)snprintf(buf, AGE_MAX, "%" PRId64 "m", s / 60);
	else if (s < INT64_C(8) * 3600 && s / 60 % 60 != 0)
		(void)snprintf(buf, AGE_MAX, "%" PRId64 "h%" PRId64 "m", s / 3600, s / 60 % 60);
	else if (s < INT64_C(48) * 3600)
		(void)snprintf(buf, AGE_MAX, "%" PRId64 "h", s / 3600);
	else
		(void)snprintf(buf, AGE_MAX, "%" PRId64 "d", s / 86400);
	return buf;
}
