#include "base/num.h"

#include <inttypes.h>

#include "unit/suite.h"

static struct u64_case {
	const char *name;
	const char *text;
	bool ok;
	uint64_t value;
} decimals[] = {
	{ "decimal: zero", "0", true, 0 },
	{ "decimal: leading zeroes are no octal", "010", true, 10 },
	{ "decimal: the largest", "18446744073709551615", true, UINT64_MAX },
	{ "decimal: one more does not fit", "18446744073709551616", false, 0 },
	{ "decimal: a hundred digits do not fit",
	  "1000000000000000000000000000000000000000000000000000000000000000", false, 0 },
	{ "decimal: the empty text", "", false, 0 },
	{ "decimal: NULL", NULL, false, 0 },
	{ "decimal: a minus sign", "-1", false, 0 },
	{ "decimal: a plus sign", "+1", false, 0 },
	{ "decimal: a blank before", " 1", false, 0 },
	{ "decimal: a newline after", "1\n", false, 0 },
	{ "decimal: a letter after", "1k", false, 0 },
	{ "decimal: hexadecimal digits", "ff", false, 0 },
	{ "decimal: a hexadecimal prefix", "0x10", false, 0 },
	{ "decimal: a fraction", "1.5", false, 0 },
}, hexes[] = {
	{ "hex: as sysfs writes a vendor", "0x8086", true, 0x8086 },
	{ "hex: without a prefix", "10de", true, 0x10de },
	{ "hex: capitals", "0XABCDEF", true, 0xabcdef },
	{ "hex: the largest", "0xffffffffffffffff", true, UINT64_MAX },
	{ "hex: one more does not fit", "0x10000000000000000", false, 0 },
	{ "hex: a prefix alone", "0x", false, 0 },
	{ "hex: two prefixes", "0x0x10", false, 0 },
	{ "hex: the empty text", "", false, 0 },
	{ "hex: NULL", NULL, false, 0 },
	{ "hex: a minus sign", "-0x10", false, 0 },
	{ "hex: a minus sign after the prefix", "0x-10", false, 0 },
	{ "hex: a letter that is no digit", "0x10g", false, 0 },
	{ "hex: a newline after", "0x10\n", false, 0 },
}, durations[] = {
	{ "duration: milliseconds", "250ms", true, 250 },
	{ "duration: seconds", "30s", true, 30000 },
	{ "duration: minutes", "5m", true, 300000 },
	{ "duration: hours and minutes", "1h30m", true, 5400000 },
	{ "duration: minutes and milliseconds", "1m1ms", true, 60001 },
	{ "duration: a bare number is seconds", "15", true, 15000 },
	{ "duration: zero", "0", true, 0 },
	{ "duration: the longest", "4294967295s", true, 4294967295000 },
	{ "duration: longer than that", "4294967296s", false, 0 },
	{ "duration: a bare number longer than that", "4294967296", false, 0 },
	{ "duration: parts whose sum wraps around",
	  "999999999999h999999999999h999999999999h999999999999h999999999999h999999999999h", false,
	  0 },
	{ "duration: many digits", "10000000000000000000000s", false, 0 },
	{ "duration: a number without its unit at the end", "1h30", false, 0 },
	{ "duration: an unknown unit", "3d", false, 0 },
	{ "duration: a unit that goes on", "3sec", false, 0 },
	{ "duration: a unit alone", "s", false, 0 },
	{ "duration: a blank", "1h 30m", false, 0 },
	{ "duration: a minus sign", "-5s", false, 0 },
	{ "duration: the empty text", "", false, 0 },
	{ "duration: NULL", NULL, false, 0 },
};

static void parse_matches_row(bool (*parse)(const char *, uint64_t *), const struct u64_case *c)
{
	uint64_t value = 4711;

	assert_int_equal(parse(c->text, &value), c->ok);
	assert_int_equal(value, c->ok ? c->value : 4711);
}

static void decimal_matches_table(void **state)
{
	parse_matches_row(str_to_u64, *state);
}

static void hex_matches_table(void **state)
{
	parse_matches_row(str_to_hex, *state);
}

static void duration_matches_table(void **state)
{
	parse_matches_row(str_to_duration_ms, *state);
}

static struct i64_case {
	const char *name;
	const char *text;
	bool ok;
	int64_t value;
} integers[] = {
	{ "integer: no NUMA node", "-1", true, -1 },
	{ "integer: the largest", "9223372036854775807", true, INT64_MAX },
	{ "integer: the smallest", "-9223372036854775808", true, INT64_MIN },
	{ "integer: one more does not fit", "9223372036854775808", false, 0 },
	{ "integer: one less does not fit", "-9223372036854775809", false, 0 },
	{ "integer: a minus sign alone", "-", false, 0 },
	{ "integer: two minus signs", "--1", false, 0 },
	{ "integer: a blank after the sign", "- 1", false, 0 },
	{ "integer: a plus sign", "+1", false, 0 },
	{ "integer: text after", "1 ", false, 0 },
	{ "integer: the empty text", "", false, 0 },
	{ "integer: NULL", NULL, false, 0 },
};

static void integer_matches_table(void **state)
{
	const struct i64_case *c = *state;
	int64_t value = 4711;

	assert_int_equal(str_to_i64(c->text, &value), c->ok);
	assert_int_equal(value, c->ok ? c->value : 4711);
}

static struct bool_case {
	const char *name;
	const char *text;
	bool ok;
	bool value;
} bools[] = {
	{ "bool: true", "true", true, true },
	{ "bool: yes", "yes", true, true },
	{ "bool: 1", "1", true, true },
	{ "bool: false", "false", true, false },
	{ "bool: no", "no", true, false },
	{ "bool: 0", "0", true, false },
	{ "bool: a capital", "True", false, 0 },
	{ "bool: another number", "2", false, 0 },
	{ "bool: the empty text", "", false, 0 },
	{ "bool: NULL", NULL, false, 0 },
	{ "bool: text after", "true ", false, 0 },
};

static void bool_matches_table(void **state)
{
	const struct bool_case *c = *state;

	for (int before = 0; before < 2; before++) {
		bool value = before;

		assert_int_equal(str_to_bool(c->text, &value), c->ok);
		assert_int_equal(value, c->ok ? c->value : before);
	}
}

/* What is printed reads back. */
static void printed_numbers_read_back(void **state)
{
	uint64_t seed = 2;

	for (int round = 0; round < 5000; round++) {
		uint64_t number = suite_random(&seed) >> (suite_random(&seed) % 64);
		auto_free char *decimal = xasprintf("%" PRIu64, number);
		auto_free char *hex = xasprintf("0x%" PRIx64, number);
		auto_free char *integer_text = xasprintf("%" PRId64, (int64_t)number);
		uint64_t value = 0;
		int64_t integer = 0;

		assert_true(str_to_u64(decimal, &value));
		assert_int_equal(value, number);
		assert_true(str_to_hex(hex, &value));
		assert_int_equal(value, number);
		assert_true(str_to_hex(hex + 2, &value));
		assert_int_equal(value, number);
		assert_true(str_to_i64(integer_text, &integer));
		assert_int_equal(integer, (int64_t)number);
	}
}

static void one_byte_spoils_a_number(void **state)
{
	for (int c = 1; c < 256; c++) {
		const char before[] = { (char)c, '7', '\0' };
		const char after[] = { '7', (char)c, '\0' };
		bool digit = c >= '0' && c <= '9';
		uint64_t value;

		assert_int_equal(str_to_u64(before, &value), digit);
		assert_int_equal(str_to_u64(after, &value), digit);
	}
}

static void a_hex_id_has_16_bits(void **state)
{
	(void)state;
	assert_int_equal(str_to_hex16("10de"), 0x10de);
	assert_int_equal(str_to_hex16("0x1ffff"), 0xffff);
	assert_int_equal(str_to_hex16("none"), 0);
	assert_int_equal(str_to_hex16(NULL), 0);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, decimals, decimal_matches_table);
	suite_rows(&suite, hexes, hex_matches_table);
	suite_rows(&suite, durations, duration_matches_table);
	suite_rows(&suite, integers, integer_matches_table);
	suite_rows(&suite, bools, bool_matches_table);
	suite_add(&suite, "a hexadecimal ID has 16 bits", a_hex_id_has_16_bits, NULL);
	suite_add(&suite, "printed numbers read back", printed_numbers_read_back, NULL);
	suite_add(&suite, "one more byte makes it no number", one_byte_spoils_a_number, NULL);
	return suite_run(&suite, "num");
}
