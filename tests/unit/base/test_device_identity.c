/* device_identity: what tells a device from its twin. */
#include "base/device_identity.h"

#include <string.h>

#include "base/str.h"
#include "unit/suite.h"

/* clang-format off */
static struct compare_case {
	const char *name;
	const char *left, *right;
	enum device_identity_match match;
} compares[] = {
	{ "nothing is known", NULL, NULL, DEVICE_IDENTITY_UNKNOWN },
	{ "of one side only", "slot=3", NULL, DEVICE_IDENTITY_UNKNOWN },
	{ "of either side something else", "slot=3", "label=eno1", DEVICE_IDENTITY_UNKNOWN },
	{ "the same slot", "slot=3", "slot=3", DEVICE_IDENTITY_SAME },
	{ "another slot", "slot=3", "slot=30", DEVICE_IDENTITY_OTHER },
	{ "another slot, whatever its label", "slot=3,label=eno1", "slot=4,label=eno1", DEVICE_IDENTITY_OTHER },
	{ "another label in the same slot", "slot=3,label=eno1", "slot=3,label=eno2", DEVICE_IDENTITY_OTHER },
	{ "a card that was moved to another slot", "mac=52:54:00:00:00:01,slot=3", "mac=52:54:00:00:00:01,slot=4",
	  DEVICE_IDENTITY_SAME },
	{ "another card in the same slot", "mac=52:54:00:00:00:01,slot=3", "mac=52:54:00:00:00:02,slot=3",
	  DEVICE_IDENTITY_OTHER },
	{ "a card that does not tell its address now, in its slot", "mac=52:54:00:00:00:01,slot=3", "slot=3",
	  DEVICE_IDENTITY_SAME },
	{ "a key that ends like another", "xslot=3", "slot=4", DEVICE_IDENTITY_UNKNOWN },
	{ "disks", "nvme=S1", "nvme=S2", DEVICE_IDENTITY_OTHER },
};
/* clang-format on */

static void compare_matches_table(void **state)
{
	const struct compare_case *c = *state;

	assert_int_equal(device_identity_compare(c->left, c->right), c->match);
	assert_int_equal(device_identity_compare(c->right, c->left), c->match);
}

static void texts_are_cleaned(void **state)
{
	auto_str struct str out = STR_INIT;
	char big[300];

	memset(big, 'x', sizeof(big) - 1);
	big[sizeof(big) - 1] = '\0';
	device_identity_add(&out, "nvme", "  S4,\"x=\n\\1   ");
	device_identity_add(&out, "mac", "");
	device_identity_add(&out, "slot", "   ");
	assert_string_equal(str_cstr(&out), "nvme=S4__x___1");
	assert_true(device_identity_valid(out.buf, out.len));
	for (int i = 0; i < 9; i++)
		device_identity_add(&out, "label", big);
	assert_in_range(out.len, 200, DEVICE_IDENTITY_MAX);
	assert_true(device_identity_valid(out.buf, out.len));
	assert_false(device_identity_valid("", 0));
	assert_false(device_identity_valid("a b", 3));
	assert_false(device_identity_valid(big, sizeof(big) - 1));
}

static void what_is_known_stays(void **state)
{
	auto_str struct str out = STR_INIT;

	device_identity_merge(&out, "mac=52:54:00:00:00:01,label=a", "slot=3,label=b");
	assert_string_equal(str_cstr(&out), "mac=52:54:00:00:00:01,slot=3,label=a");
	str_clear(&out);
	device_identity_merge(&out, NULL, "slot=3");
	assert_string_equal(str_cstr(&out), "slot=3");
	str_clear(&out);
	device_identity_merge(&out, NULL, NULL);
	assert_string_equal(str_cstr(&out), "");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, compares, compare_matches_table);
	suite_add(&suite, "texts are cut and cleaned", texts_are_cleaned, NULL);
	suite_add(&suite, "what is known stays", what_is_known_stays, NULL);
	return suite_run(&suite, "device_identity");
}
