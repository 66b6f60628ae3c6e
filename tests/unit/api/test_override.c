/* override: which reasons a claim's annotation lifts. */
#include "api/override.h"

#include "api/json_values.h"
#include "api/meta.h"
#include "api/names.h"
#include "unit/suite.h"

static struct override_case {
	const char *name;
	const char *value; /* of the annotation; NULL: there is none */
	const char *reason;
	bool given;
} cases[] = {
	{ "what the node needs", "true", "HostNetwork", true },
	{ "a group with what the node needs", "true", "GroupHostCritical", true },
	{ "what may be in use", "true", "UseUnknown", true },
	{ "what KubeVirt cannot parse", "true", "WideDomain", true },
	{ "no annotation", NULL, "HostNetwork", false },
	{ "another value", "True", "HostNetwork", false },
	{ "an empty value", "", "HostNetwork", false },
	{ "what cannot be offered at all", "true", "NoIOMMU", false },
	{ "what other devices hang on", "true", "HostBridge", false },
	{ "what has virtual functions", "true", "VirtualFunctionsActive", false },
	{ "what passes", "true", "InUse", false },
	{ "no reason", "true", NULL, false },
};

static void given_as_the_table_says(void **state)
{
	const struct override_case *row = *state;
	struct api_meta meta = { 0 };

	if (row->value)
		json_pairs_set(&meta.annotations, NAMES_ANNOTATION_OVERRIDE, row->value);
	assert_int_equal(override_applies(&meta, row->reason), row->given);
	json_pairs_done(&meta.annotations);
}

static void of_usb_devices_only_what_is_not_known(void **state)
{
	assert_true(override_lifts_usb("UseUnknown"));
	assert_false(override_lifts_usb("HostFilesystem"));
	assert_false(override_lifts_usb(NULL));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, given_as_the_table_says);
	suite_add(&suite, "of USB devices only what is not known",
		  of_usb_devices_only_what_is_not_known, NULL);
	return suite_run(&suite, "override");
}
