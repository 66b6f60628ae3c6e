/* plugin_offers: which resources devices make up. */
#include "agent/plugin/plugin_offers.h"

#include "agent/plugin/plugins.h"
#include "base/str.h"
#include "unit/suite.h"

static const struct device_type pci;
static struct str was_set = STR_INIT;

/* In place of agent/plugin/plugins.c: "a: 1 2; b, claimed: 3". */
void plugins_set(struct plugins *plugins, const struct device_type *type, void *type_arg,
		 const struct plugin_resource *resources, size_t len)
{
	assert_null(plugins);
	assert_ptr_equal(type, &pci);
	assert_ptr_equal(type_arg, &was_set);
	str_clear(&was_set);
	for (size_t i = 0; i < len; i++) {
		str_addf(&was_set, "%s%s%s:", i ? "; " : "", resources[i].name,
			 resources[i].claimed ? ", claimed" : "");
		for (size_t k = 0; k < resources[i].ndevices; k++)
			str_addf(&was_set, " %s", resources[i].devices[k].id);
	}
}

static struct offers_case {
	const char *name;
	struct plugin_offer offers[4];
	size_t len;
	const char *set;
} cases[] = {
	{ "no devices, no resources", .set = "" },
	{ "devices of one resource stay in their order",
	  { { "a", .device.id = "2" }, { "a", .device.id = "1" } },
	  2,
	  "a: 2 1" },
	{ "resources come in the order of their first devices",
	  { { "b", .device.id = "1" }, { "a", .device.id = "2" }, { "b", .device.id = "3" } },
	  3,
	  "b: 1 3; a: 2" },
	{ "one claimed device makes its resource claimed, and no other",
	  { { "a", .device.id = "1" },
	    { "b", .device.id = "2" },
	    { "a", true, { .id = "3" } },
	    { "a", .device.id = "4" } },
	  4,
	  "a, claimed: 1 3 4; b: 2" },
};

static void case_matches_table(void **state)
{
	const struct offers_case *c = *state;

	plugin_offers_set(NULL, &pci, &was_set, c->offers, c->len);
	assert_string_equal(str_cstr(&was_set), c->set);
	str_done(&was_set);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, case_matches_table);
	return suite_run(&suite, "plugin_offers");
}
