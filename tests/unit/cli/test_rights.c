#include "unit/suite.h"

#include <string.h>

#include "api/json_values.h"
#include "base/err.h"
#include "cli/client/rights.h"
#include "unit/cli/made.h"

#define RULE(verbs, groups, resources, names) \
	"{'verbs':[" verbs "],'apiGroups':[" groups "],'resources':[" resources "]" names "}"
#define REVIEW(more, rules) "{'status':{" more "'resourceRules':[" rules "]}}"
#define GROUP               "'devices.harvesterhci.io'"
#define ONE                 RULE("'get','claim'", GROUP, "'pcidevices'", ",'resourceNames':['n1-a']")

static struct rights_case {
	const char *name;
	const char *review;
	bool allowed; /* to claim pcidevices/n1-a */
	const char *names;
} cases[] = {
	{ "no rule", REVIEW("", ""), false, "" },
	{ "a rule of this name", REVIEW("", ONE), true, "n1-a " },
	{ "a rule of another name",
	  REVIEW("", RULE("'claim'", GROUP, "'pcidevices'", ",'resourceNames':['n1-b']")), false,
	  "n1-b " },
	{ "a rule of all names", REVIEW("", RULE("'claim'", GROUP, "'pcidevices'", "")), true, "" },
	{ "a rule of everything", REVIEW("", RULE("'*'", "'*'", "'*'", "")), true, "" },
	{ "another verb", REVIEW("", RULE("'get'", GROUP, "'pcidevices'", "")), false, "" },
	{ "another group", REVIEW("", RULE("'claim'", "''", "'pcidevices'", "")), false, "" },
	{ "another kind", REVIEW("", RULE("'claim'", GROUP, "'usbdevices'", "")), false, "" },
	{ "rules that are not all", REVIEW("'incomplete':true,", ""), true, "" },
	{ "no review", "{}", false, "" },
};

static void rules_decide(void **state)
{
	const struct rights_case *c = *state;
	auto_free char *json = made_json(c->review);
	auto_str struct str names = STR_INIT;
	struct json_strs list = { 0 };
	struct rights *rights = NULL;

	assert_int_equal(rights_parse(json, strlen(json), &rights, NULL), 0);
	assert_int_equal(rights_allow(rights, "pcidevices", "n1-a", "claim"), c->allowed);
	rights_names(rights, "pcidevices", "claim", &list);
	for (size_t i = 0; i < list.len; i++)
		str_addf(&names, "%s ", list.items[i]);
	assert_string_equal(str_cstr(&names), c->names);
	json_strs_done(&list);
	rights_free(rights);
}

#define CLAIM(names) RULE("'claim'", GROUP, "'pcidevices'", ",'resourceNames':[" names "]")
#define CLAIM_GROUP(names) \
	RULE("'claim-group'", GROUP, "'pcidevices'", ",'resourceNames':[" names "]")

static struct how_case {
	const char *name;
	const char *rules;
	const char *rest; /* NULL: the device alone */
	const char *how;
} hows[] = {
	{ "a device alone", CLAIM("'n1-a'"), NULL, "Claim it: kubectl hostdev claim n1-a" },
	{ "without the verb claim", CLAIM("'n1-b'"), NULL,
	  "Ask an administrator for the verb claim on n1-a, which you do not have." },
	{ "a group", CLAIM("'n1-a'") "," CLAIM_GROUP("'n1-a'"), "n1-b n1-c",
	  "Unless another user has claimed a part of it, claim its whole IOMMU group: kubectl hostdev claim n1-a "
	  "--include-group" },
	{ "a group without the verb claim-group", CLAIM("'n1-a','n1-b','n1-c'"), "n1-b n1-c",
	  "Claim the functions of its IOMMU group together: kubectl hostdev claim n1-a n1-b n1-c" },
	{ "a group of which one may not be claimed", CLAIM("'n1-a','n1-b'"), "n1-b n1-c",
	  "Ask an administrator for the verb claim on n1-b n1-c, which you do not have." },
	{ "a group whose functions are not known", CLAIM("'n1-a'"), "",
	  "Ask an administrator for the verb claim-group on n1-a, which you do not have." },
};

static void the_way_to_claim_is_by_rights(void **state)
{
	const struct how_case *c = *state;
	auto_free char *review = xasprintf("{'status':{'resourceRules':[%s,%s]}}", c->rules,
					   RULE("'create'", GROUP, "'pcideviceclaims'", ""));
	auto_free char *json = made_json(review);
	auto_free char *how = NULL;
	struct rights *rights = NULL;

	assert_int_equal(rights_parse(json, strlen(json), &rights, NULL), 0);
	how = rights_how(rights, DEVICE_PCI, "n1-a", c->rest);
	assert_string_equal(how, c->how);
	rights_free(rights);
}

static void who_may_not_create_claims_needs_the_role(void **state)
{
	auto_free char *json = made_json(REVIEW("", CLAIM("'n1-a'")));
	auto_free char *how = NULL;
	struct rights *rights = NULL;

	(void)state;
	assert_int_equal(rights_parse(json, strlen(json), &rights, NULL), 0);
	how = rights_how(rights, DEVICE_PCI, "n1-a", NULL);
	assert_string_equal(how,
			    "Ask an administrator for the role hostdev-user, without which you may "
			    "create no pcideviceclaims.");
	rights_free(rights);
}

static void what_is_not_known_is_allowed(void **state)
{
	struct rights *rights = NULL;

	(void)state;
	assert_true(rights_allow(NULL, "pcidevices", "n1-a", "claim"));
	assert_true(rights_parse("{", 1, &rights, NULL) < 0);
	assert_null(rights);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, rules_decide);
	suite_rows(&suite, hows, the_way_to_claim_is_by_rights);
	suite_add(&suite, "who may not create claims needs the role",
		  who_may_not_create_claims_needs_the_role, NULL);
	suite_add(&suite, "what is not known is allowed", what_is_not_known_is_allowed, NULL);
	return suite_run(&suite, "rights");
}
