#include "agent/helper/sys/value.h"

#include <string.h>

#include "unit/suite.h"

typedef bool value_fn(const char *text, size_t len);

#define X63  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X64  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X253 X63 X63 X63 X64
#define X254 X253 "x"

/* clang-format off */
static const char x253[] = X253;
static const char x254[] = X254;

static struct value_case {
	const char *name;
	value_fn *is_valid;
	const char *good[6];
	const char *bad[10];
} cases[] = {
	{ "drivers", value_is_driver,
	  { "vfio-pci", "e1000e", "snd_hda_intel", "8139cp", X63 },
	  { "", X64, "a/b", "..", "vfio pci", "a\n", "a=b", "\xc3\xa4", "a," } },
	{ "a driver to go back to may be none", value_is_native,
	  { "", "e1000e" }, { "/", "a b", X64 } },
	{ "identifiers", value_is_id,
	  { "8086:10d3", "ffff:0000" },
	  { "", "8086", "8086:10D3", "8086:10d", "8086:10d3a", "8086-10d3", "808g:10d3", " 8086:10d3" } },
	{ "serials", value_is_serial,
	  { "00-11-22-33-44-55-66-ff" },
	  { "", "00-11-22-33-44-55-66", "00-11-22-33-44-55-66-FF", "00-11-22-33-44-55-66-ff-", "0011-22-33-44-55-66-ff0" } },
	{ "names and uids", value_is_name,
	  { "vm1-000001000", "0f8fad5b-d9cb-469f-a165-70867728950e", "a.b_c", X253 },
	  { "", X254, "a/b", "a b", "a\"", "a\\", "a\n", "\x7f" } },
	{ "UUIDs", value_is_uuid,
	  { "83b8f4f2-509f-382f-3c1e-e6bfe0fa1001", "00000000-0000-0000-0000-000000000000" },
	  { "", "83B8F4F2-509f-382f-3c1e-e6bfe0fa1001", "83b8f4f2-509f-382f-3c1e-e6bfe0fa100",
	    "83b8f4f2-509f-382f-3c1e-e6bfe0fa10011", "83b8f4f2509f382f3c1ee6bfe0fa1001", "../x", "." } },
	{ "entries of folders in sysfs", value_is_entry,
	  { "0000:3b:00.0", "mtty", "i915-GVTg_V5_4", "nvidia-222", "vfio_ap-passthrough", x253 },
	  { "", ".", "..", ".hidden", "a/b", "a b", "a\n", "a\"", "a\\", x254 } },
	{ "groups", value_is_group,
	  { "0", "12", "2147483647", "-" },
	  { "", "01", "00", "-1", "--", "12345678901", "1/2", "1 ", "..", "a" } },
};
/* clang-format on */

static void value_matches_table(void **state)
{
	const struct value_case *c = *state;

	for (size_t i = 0; i < ARRAY_LEN(c->good) && c->good[i]; i++) {
		if (!c->is_valid(c->good[i], strlen(c->good[i])))
			fail_msg("'%s' is refused", c->good[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(c->bad) && c->bad[i]; i++) {
		if (c->is_valid(c->bad[i], strlen(c->bad[i])))
			fail_msg("'%s' is taken", c->bad[i]);
	}
}

/* A value from JSON is not terminated, and may hold a NUL. */
static void the_length_counts(void **state)
{
	assert_true(value_is_driver("e1000e/x", 6));
	assert_false(value_is_driver("e1000e\0x", 8));
	assert_false(value_is_name("\0", 1));
	assert_true(value_is_group("12x", 2));
	assert_true(value_is_id("8086:10d3\"", 9));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, value_matches_table);
	suite_add(&suite, "the length counts, not a terminator", the_length_counts, NULL);
	return suite_run(&suite, "value");
}
