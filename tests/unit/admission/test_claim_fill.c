/* claim_fill: what is filled into claims, and that nothing that is there is touched. */
#include "unit/admission/cluster.h"

#define NIC "node1-000001000"

/* clang-format off */
#define OWNER_OF(kind, name) "{'apiVersion':'devices.harvesterhci.io/v1beta1','kind':'" kind "','name':'" name "','uid':'u-" name "'}"
#define ADD_OWNERS "{'op':'add','path':'/metadata/ownerReferences','value':[]},"
#define ADD_OWNER(kind, name) "{'op':'add','path':'/metadata/ownerReferences/-','value':" OWNER_OF(kind, name) "}"
#define SPEC(address, node, user) "{'op':'add','path':'/spec','value':{'address':'" address "','nodeName':'" node "','userName':'" user "'}},"
#define FIELD(key, value) "{'op':'add','path':'/spec/" key "','value':'" value "'},"
#define OWNED "'ownerReferences':[" OWNER_OF("PCIDevice", NIC) "]"
#define CLAIM(meta, rest) "{'metadata':{'name':'" NIC "'" meta "}" rest "}"

static struct fill_case {
	const char *name;
	enum admission_operation operation;
	const char *resource;
	const char *object;
	const char *old;
	const char *patch;
} fills[] = {
	{ "nothing is said", ADMISSION_CREATE, "pcideviceclaims", CLAIM("", ""), NULL,
	  "[" SPEC("0000:01:00.0", "node1", "alice") ADD_OWNERS ADD_OWNER("PCIDevice", NIC) "]" },
	{ "null and empty texts are nothing", ADMISSION_CREATE, "pcideviceclaims",
	  CLAIM(",'ownerReferences':null", ",'spec':{'address':null,'nodeName':''}"), NULL,
	  "[" FIELD("address", "0000:01:00.0") FIELD("nodeName", "node1") FIELD("userName", "alice") ADD_OWNERS ADD_OWNER("PCIDevice", NIC) "]" },
	{ "a spec of null is none", ADMISSION_CREATE, "pcideviceclaims", CLAIM("," OWNED, ",'spec':null"), NULL,
	  "[{'op':'add','path':'/spec','value':{'address':'0000:01:00.0','nodeName':'node1','userName':'alice'}}]" },
	{ "what is said stays, right or wrong", ADMISSION_CREATE, "pcideviceclaims",
	  CLAIM("," OWNED, ",'spec':{'address':'x','nodeName':'y','userName':'bob'}"), NULL, "" },
	{ "an owner of another kind is joined", ADMISSION_CREATE, "pcideviceclaims",
	  CLAIM(",'ownerReferences':[{'kind':'VGPUDevice'}]", ",'spec':{'address':'x','nodeName':'y','userName':'bob'}"), NULL,
	  "[" ADD_OWNER("PCIDevice", NIC) "]" },
	{ "of a device that is not known only the user", ADMISSION_CREATE, "pcideviceclaims", "{'metadata':{'name':'z'}}", NULL,
	  "[{'op':'add','path':'/spec','value':{'userName':'alice'}}]" },
	{ "who changes a claim is not its user", ADMISSION_UPDATE, "pcideviceclaims", CLAIM("," OWNED, ",'spec':{'address':'x','nodeName':'y'}"),
	  CLAIM("", ""), "" },
	{ "who it was for is kept", ADMISSION_UPDATE, "pcideviceclaims", CLAIM("," OWNED, ",'spec':{}"),
	  CLAIM("", ",'spec':{'address':'0000:01:00.0','nodeName':'node1','userName':'bob'}"),
	  "[" FIELD("address", "0000:01:00.0") FIELD("nodeName", "node1") "{'op':'add','path':'/spec/userName','value':'bob'}]" },
	{ "what it had counts before what the device has", ADMISSION_UPDATE, "pcideviceclaims", CLAIM("," OWNED, ",'spec':{'nodeName':'y'}"),
	  CLAIM("", ",'spec':{'address':'0000:09:00.0'}"), "[{'op':'add','path':'/spec/address','value':'0000:09:00.0'}]" },
	{ "one that is being deleted gets no owner", ADMISSION_UPDATE, "pcideviceclaims",
	  CLAIM(",'deletionTimestamp':'2026-01-01T00:00:00Z'", ",'spec':{'address':'x','nodeName':'y'}"), CLAIM("", ""), "" },
	{ "a spec of another type is the schema's", ADMISSION_CREATE, "pcideviceclaims", CLAIM("," OWNED, ",'spec':7"), NULL, "" },
	{ "fields of another type too", ADMISSION_CREATE, "pcideviceclaims",
	  CLAIM("," OWNED, ",'spec':{'address':1,'nodeName':[],'userName':{}}"), NULL, "" },
	{ "owners of another type too", ADMISSION_CREATE, "pcideviceclaims",
	  CLAIM(",'ownerReferences':'x'", ",'spec':{'address':'x','nodeName':'y','userName':'bob'}"), NULL, "" },
	{ "no metadata", ADMISSION_CREATE, "pcideviceclaims", "{'metadata':[],'spec':{'userName':'bob'}}", NULL, "" },
	{ "a USB claim", ADMISSION_CREATE, "usbdeviceclaims", "{'metadata':{'name':'" STICK "'}}", NULL,
	  "[{'op':'add','path':'/spec','value':{'userName':'alice'}}," ADD_OWNERS ADD_OWNER("USBDevice", STICK) "]" },
	{ "a USB claim that says all", ADMISSION_CREATE, "usbdeviceclaims",
	  "{'metadata':{'name':'" STICK "','ownerReferences':[{'kind':'USBDevice'}]},'spec':{'userName':'bob'}}", NULL, "" },
	{ "other kinds are left alone", ADMISSION_CREATE, "sriovnetworkdevices", "{'metadata':{'name':'x'}}", NULL, "" },
};
/* clang-format on */

static void filled_as_the_table_says(void **state)
{
	const struct fill_case *row = suite_row(state);
	auto_json json_t *patch = *row->patch ? cluster_json(row->patch) : NULL;
	struct cluster_case ask = { .operation = row->operation,
				    .resource = row->resource,
				    .object = row->object,
				    .old = row->old };
	struct admission_answer answer;
	struct cluster *cluster = *state;

	cluster_ask(cluster, &ask, rules_mutate, &answer);
	assert_true(answer.allowed);
	assert_int_equal(answer.warnings.len, 0);
	if (answer.patch && !patch) {
		auto_free char *text = json_map_text(answer.patch);

		fail_msg("%s", text);
	}
	if (patch && !json_equal(patch, answer.patch)) {
		auto_free char *text = answer.patch ? json_map_text(answer.patch) : NULL;

		fail_msg("%s", text ? text : "no patch");
	}
	admission_answer_done(&answer);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &cluster_fixture);
	suite_rows(&suite, fills, filled_as_the_table_says);
	return suite_run(&suite, "claim_fill");
}
