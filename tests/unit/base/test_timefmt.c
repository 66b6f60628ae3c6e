#include "base/timefmt.h"

#include <string.h>

#include "unit/suite.h"

static struct format_case {
	const char *name;
	int64_t wall_ms;
	const char *seconds, *ms, *micro;
} formats[] = {
	{ "the epoch", 0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000Z",
	  "1970-01-01T00:00:00.000000Z" },
	{ "a time of our days", 1767323045678, "2026-01-02T03:04:05Z", "2026-01-02T03:04:05.678Z",
	  "2026-01-02T03:04:05.678000Z" },
	{ "a leap day", 1709251199001, "2024-02-29T23:59:59Z", "2024-02-29T23:59:59.001Z",
	  "2024-02-29T23:59:59.001000Z" },
	{ "a clock before the epoch", -1, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.999Z",
	  "1969-12-31T23:59:59.999000Z" },
	{ "Go's zero time", -62135596800000, "0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z",
	  "0001-01-01T00:00:00.000000Z" },
	{ "the last second of RFC 3339", 253402300799999, "9999-12-31T23:59:59Z",
	  "9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999000Z" },
};

static void format_matches_table(void **state)
{
	const struct format_case *c = *state;
	char buf[TIMEFMT_MAX];

	assert_ptr_equal(timefmt_rfc3339(c->wall_ms, buf), buf);
	assert_string_equal(buf, c->seconds);
	assert_string_equal(timefmt_rfc3339_ms(c->wall_ms, buf), c->ms);
	assert_string_equal(timefmt_rfc3339_micro(c->wall_ms, buf), c->micro);
}

static struct parse_case {
	const char *name;
	const char *text;
	bool ok;
	int64_t wall_ms;
} parses[] = {
	{ "parse: Z", "2026-01-02T03:04:05Z", true, 1767323045000 },
	{ "parse: microseconds are cut", "2026-01-02T03:04:05.678999Z", true, 1767323045678 },
	{ "parse: one digit of a fraction is tenths", "2026-01-02T03:04:05.6Z", true,
	  1767323045600 },
	{ "parse: nanoseconds", "2026-01-02T03:04:05.000000001Z", true, 1767323045000 },
	{ "parse: an offset to the east", "2026-01-02T05:04:05+02:00", true, 1767323045000 },
	{ "parse: an offset to the west", "2026-01-01T21:34:05-05:30", true, 1767323045000 },
	{ "parse: a leap second", "2016-12-31T23:59:60Z", true, 1483228800000 },
	{ "parse: Go's zero time", "0001-01-01T00:00:00Z", true, -62135596800000 },
	{ "parse: 29 February of a leap year", "2024-02-29T00:00:00Z", true, 1709164800000 },
	{ "parse: 29 February of another year", "2025-02-29T00:00:00Z", false, 0 },
	{ "parse: day 31 of April", "2026-04-31T00:00:00Z", false, 0 },
	{ "parse: day 0", "2026-01-00T00:00:00Z", false, 0 },
	{ "parse: month 0", "2026-00-01T00:00:00Z", false, 0 },
	{ "parse: month 13", "2026-13-01T00:00:00Z", false, 0 },
	{ "parse: hour 24", "2026-01-01T24:00:00Z", false, 0 },
	{ "parse: minute 60", "2026-01-01T00:60:00Z", false, 0 },
	{ "parse: second 61", "2026-01-01T00:00:61Z", false, 0 },
	{ "parse: an offset of 24 hours", "2026-01-01T00:00:00+24:00", false, 0 },
	{ "parse: an offset of 60 minutes", "2026-01-01T00:00:00+00:60", false, 0 },
	{ "parse: an offset without a colon", "2026-01-01T00:00:00+0200", false, 0 },
	{ "parse: no offset", "2026-01-02T03:04:05", false, 0 },
	{ "parse: single digits", "2026-1-2T3:4:5Z", false, 0 },
	{ "parse: blanks for zeroes", "2026- 1- 2T03:04:05Z", false, 0 },
	{ "parse: a blank for the T", "2026-01-02 03:04:05Z", false, 0 },
	{ "parse: a year of five digits", "12026-01-02T03:04:05Z", false, 0 },
	{ "parse: a sign before the year", "-026-01-02T03:04:05Z", false, 0 },
	{ "parse: a fraction without digits", "2026-01-02T03:04:05.Z", false, 0 },
	{ "parse: text after it", "2026-01-02T03:04:05Z ", false, 0 },
	{ "parse: a date alone", "2026-01-02", false, 0 },
	{ "parse: the empty text", "", false, 0 },
	{ "parse: NULL", NULL, false, 0 },
};

static void parse_matches_table(void **state)
{
	const struct parse_case *c = *state;
	int64_t wall_ms = 4711;

	assert_int_equal(timefmt_parse(c->text, &wall_ms), c->ok);
	assert_int_equal(wall_ms, c->ok ? c->wall_ms : 4711);
}

/* Any time of the years 0001 to 9999 reads back as it was written. */
static void written_times_read_back(void **state)
{
	const int64_t first = -62135596800000;
	const int64_t last = 253402300799999;
	uint64_t seed = 4;

	for (int round = 0; round < 50000; round++) {
		int64_t ms = first + (int64_t)(suite_random(&seed) % (uint64_t)(last - first + 1));
		int64_t floor_ms = ms - (ms % 1000 + 1000) % 1000;
		char buf[TIMEFMT_MAX];
		int64_t read = 0;

		assert_true(timefmt_parse(timefmt_rfc3339_ms(ms, buf), &read));
		assert_int_equal(read, ms);
		assert_true(timefmt_parse(timefmt_rfc3339_micro(ms, buf), &read));
		assert_int_equal(read, ms);
		assert_true(timefmt_parse(timefmt_rfc3339(ms, buf), &read));
		assert_int_equal(read, floor_ms);
	}
}

static void any_number_fits_the_buffer(void **state)
{
	static const int64_t extremes[] = { INT64_MIN, INT64_MIN + 1, INT64_MAX - 1, INT64_MAX };

	for (size_t i = 0; i < ARRAY_LEN(extremes); i++) {
		char buf[TIMEFMT_MAX];

		assert_true(strlen(timefmt_rfc3339_micro(extremes[i], buf)) < TIMEFMT_MAX);
		assert_int_equal(buf[strlen(buf) - 1], 'Z');
	}
}

/* Every text that is one byte away from a time either is a time or leaves the result alone. */
static void one_byte_away(void **state)
{
	static const char good[] = "2026-01-02T03:04:05.678Z";

	for (size_t i = 0; i + 1 < sizeof(good); i++) {
		for (int c = 0; c < 256; c++) {
			char text[sizeof(good)];
			int64_t wall_ms = 4711;

			memcpy(text, good, sizeof(good));
			text[i] = (char)c;
			if (timefmt_parse(text, &wall_ms))
				assert_true(c == good[i] || (c >= '0' && c <= '9'));
			else
				assert_int_equal(wall_ms, 4711);
		}
	}
}

static void clocks_run(void **state)
{
	uint64_t before = timefmt_now_ms();

	assert_true(timefmt_wall_ms() > 1700000000000);
	assert_true(timefmt_now_ms() >= before);
	assert_true(before > 0);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, formats, format_matches_table);
	suite_rows(&suite, parses, parse_matches_table);
	suite_add(&suite, "what was written reads back", written_times_read_back, NULL);
	suite_add(&suite, "any number fits the buffer", any_number_fits_the_buffer, NULL);
	suite_add(&suite, "one byte away from a time", one_byte_away, NULL);
	suite_add(&suite, "the clocks run", clocks_run, NULL);
	return suite_run(&suite, "timefmt");
}
