/* Which types a node is to have: kubevirt's inputs, and what they come to. */
#include "agent/mdev/mdev_plan.h"

#include <string.h>

#include "base/str.h"
#include "unit/mdev/mdev_config.h"

#define NODES(entries) "\"nodeMediatedDeviceTypes\":[" entries "]"
#define NODE(selector, types) \
	"{\"nodeSelector\":{" selector "},\"mediatedDeviceTypes\":[" types "]}"
#define ALL(types) "\"mediatedDeviceTypes\":[" types "]"

/* The node's labels are gpu=t4 and zone=a. */
/* clang-format off */
static struct desired_case {
	const char *name;
	const char *types;   /* mediatedDevicesConfiguration, without its braces */
	const char *devices; /* mediatedDevices, without its brackets            */
	const char *desired;    /* "on: wanted / kept" */
} cases[] = {
	{ "no configuration at all wants nothing", "", "", "on: /" },
	{ "the cluster's list, in the user's order", ALL("\"B\",\"A\",\"C\""), "", "on: B A C /" },
	{ "a type that is named twice counts once", ALL("\"B\",\"A\",\"B\""), "", "on: B A /" },
	{ "kubevirt-contract 2 (inputs: desired list): a node's entry overrides the cluster's",
	  ALL("\"A\"") "," NODES(NODE("\"gpu\":\"t4\"", "\"B\"")), "", "on: B /" },
	{ "kubevirt-contract 2 (inputs: desired list): entries that take the node are united, in their order",
	  ALL("\"A\"") "," NODES(NODE("\"gpu\":\"t4\"", "\"D\",\"C\"") "," NODE("\"zone\":\"a\"", "\"B\",\"D\"")),
	  "", "on: D C B /" },
	{ "kubevirt-contract 2 (inputs: nodeSelector): it wants all of its labels",
	  ALL("\"A\"") "," NODES(NODE("\"gpu\":\"t4\",\"zone\":\"b\"", "\"B\"")), "", "on: A /" },
	{ "kubevirt-contract 2 (inputs: nodeSelector): it wants exact values",
	  ALL("\"A\"") "," NODES(NODE("\"gpu\":\"t\"", "\"B\"")), "", "on: A /" },
	{ "kubevirt-contract 2 (inputs: desired list): entries for other nodes leave the cluster's",
	  ALL("\"A\"") "," NODES(NODE("\"gpu\":\"a100\"", "\"B\"")), "", "on: A /" },
	{ "blanks in a type's name are underscores", ALL("\"GRID T4-1Q\""), "", "on: GRID_T4-1Q /" },
	{ "kubevirt-contract 2 (inputs: enabled): false switches making and removing off",
	  "\"enabled\":false," ALL("\"A\""), "", "off: /" },
	{ "kubevirt-contract 2 (inputs: enabled): true is what absence means", "\"enabled\":true," ALL("\"A\""), "", "on: A /" },
	{ "kubevirt-contract 2 (inputs: keep-list): a type of another provider is kept",
	  ALL("\"A\""),
	  "{\"resourceName\":\"x.com/b\",\"mdevNameSelector\":\"B\",\"externalResourceProvider\":true}",
	  "on: A / B" },
	{ "a type that we lend ourselves is not kept for that",
	  ALL("\"A\""), "{\"resourceName\":\"x.com/b\",\"mdevNameSelector\":\"B\"}", "on: A /" },
};
/* clang-format on */

static struct config *config_of(const struct desired_case *c)
{
	auto_free char *spec = xasprintf(
		"'mediatedDevicesConfiguration':{%s},'mediatedDevices':[%s]", c->types, c->devices);

	return config_of_spec(spec);
}

static void add_list(struct str *text, const struct json_strs *list)
{
	for (size_t i = 0; i < list->len; i++)
		str_addf(text, " %s", list->items[i]);
}

static void assert_desired(const struct mdev_desired *desired, const char *expected)
{
	auto_str struct str text = STR_INIT;

	str_add(&text, desired->enabled ? "on:" : "off:");
	add_list(&text, &desired->types);
	str_add(&text, " /");
	add_list(&text, &desired->kept);
	assert_string_equal(str_cstr(&text), expected);
}

static struct json_pairs labels_of_node(void)
{
	struct json_pairs labels = { 0 };

	json_pairs_set(&labels, "gpu", "t4");
	json_pairs_set(&labels, "zone", "a");
	return labels;
}

static void desired_matches_table(void **state)
{
	const struct desired_case *c = *state;
	struct config *config = config_of(c);
	struct json_pairs labels = labels_of_node();
	struct mdev_desired desired;

	mdev_desired_make(config, &labels, &desired);
	assert_desired(&desired, c->desired);
	mdev_desired_done(&desired);
	json_pairs_done(&labels);
	config_free(config);
}

static void what_is_not_known_yet_wants_nothing_to_be_done(void **state)
{
	struct config *config = config_of(&cases[1]);
	struct json_pairs labels = labels_of_node();
	struct mdev_desired desired;

	mdev_desired_make(NULL, &labels, &desired);
	assert_desired(&desired, "off: /");
	mdev_desired_done(&desired);
	mdev_desired_make(config, NULL, &desired);
	assert_desired(&desired, "off: /");
	mdev_desired_done(&desired);
	json_pairs_done(&labels);
	config_free(config);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, desired_matches_table);
	suite_add(&suite, "before config and labels are known nothing is made or removed",
		  what_is_not_known_yet_wants_nothing_to_be_done, NULL);
	return suite_run(&suite, "mdev_desired");
}
