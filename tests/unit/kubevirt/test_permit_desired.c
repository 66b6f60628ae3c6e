#include "controller/kubevirt/permit_desired.h"

#include "api/hostdeviceconfig.h"
#include "api/json_map_read.h"
#include "api/object.h"
#include "base/str.h"
#include "unit/cache/stage.h"
#include "unit/kubevirt/permits_text.h"

#define NIC "\"status\":{\"resourceName\":\"i.com/x\",\"vendorId\":\"8086\",\"deviceId\":\"10d3\"}"
#define OVERRIDE(name) \
	"\"annotations\":{\"pcidevice.harvesterhci.io/override-resource-name\":\"" name "\"}"

/* An object; kind VIEW_KINDS ends the list. */
struct put {
	enum view_kind kind;
	const char *name;
	const char *meta;
	const char *rest;
};

static struct lent_case {
	const char *name;
	struct put puts[6];
	const char *config; /* spec of the HostDeviceConfig, with ' for " ; NULL: none */
	const char *keys;   /* each ends in a blank */
} cases[] = {
	{ "nothing", { { VIEW_KINDS, NULL, NULL, NULL } }, NULL, "" },
	{ "a device that nobody claims",
	  { { VIEW_PCIDEVICE, "n-1", "", NIC }, { VIEW_KINDS, NULL, NULL, NULL } },
	  NULL,
	  "" },
	{ "a claim without a device",
	  { { VIEW_PCICLAIM, "n-1", "", "" }, { VIEW_KINDS, NULL, NULL, NULL } },
	  NULL,
	  "" },
	{ "a claim, before its agent has seen it",
	  { { VIEW_PCIDEVICE, "n-1", "", NIC },
	    { VIEW_PCICLAIM, "n-1", "", "" },
	    { VIEW_KINDS, NULL, NULL, NULL } },
	  NULL,
	  "pciHostDevices:8086:10d3=i.com/x " },
	{ "a claim until it is gone",
	  { { VIEW_PCIDEVICE, "n-1", "", NIC },
	    { VIEW_PCICLAIM, "n-1", "\"deletionTimestamp\":\"2026-01-02T03:04:05Z\"", "" },
	    { VIEW_KINDS, NULL, NULL, NULL } },
	  NULL,
	  "pciHostDevices:8086:10d3=i.com/x " },
	{ "two of one model are one entry",
	  { { VIEW_PCIDEVICE, "n-1", "", NIC },
	    { VIEW_PCICLAIM, "n-1", "", "" },
	    { VIEW_PCIDEVICE, "n-2", "", NIC },
	    { VIEW_PCICLAIM, "n-2", "", "" },
	    { VIEW_KINDS, NULL, NULL, NULL } },
	  NULL,
	  "pciHostDevices:8086:10d3=i.com/x " },
	{ "without pooling and with a name of its own",
	  { { VIEW_PCIDEVICE, "n-1", "", NIC },
	    { VIEW_PCICLAIM, "n-1", "", "\"spec\":{\"disableResourcePooling\":true}" },
	    { VIEW_PCIDEVICE, "n-2", OVERRIDE("a.com/own"), NIC },
	    { VIEW_PCICLAIM, "n-2", "", "" },
	    { VIEW_KINDS, NULL, NULL, NULL } },
	  NULL,
	  "pciHostDevices:8086:10d3=a.com/own pciHostDevices:8086:10d3=i.com/n-1 " },
	{ "a device that does not say what it is yet",
	  { { VIEW_PCIDEVICE, "n-1", "", "" },
	    { VIEW_PCICLAIM, "n-1", "", "" },
	    { VIEW_KINDS, NULL, NULL, NULL } },
	  NULL,
	  "" },
	{ "a USB device that is claimed and one that is not",
	  { { VIEW_USBDEVICE, "s", "",
	      "\"status\":{\"resourceName\":\"k.io/s\",\"vendorID\":\"0951\",\"productID\":\"1666\"}" },
	    { VIEW_USBCLAIM, "s", "", "" },
	    { VIEW_USBDEVICE, "t", "",
	      "\"status\":{\"resourceName\":\"k.io/t\",\"vendorID\":\"0951\",\"productID\":\"1666\"}" },
	    { VIEW_KINDS, NULL, NULL, NULL } },
	  NULL,
	  "usb:k.io/s " },
	{ "mediated devices that are lent",
	  { { VIEW_MEDIATEDDEVICE, "m", "",
	      "\"status\":{\"resourceName\":\"n.com/T4-1B\",\"type\":\"nvidia-222\",\"typeName\":\"T4-1B\"}" },
	    { VIEW_MEDIATEDDEVICE, "o", "", "\"status\":{\"typeName\":\"T4-2B\"}" },
	    { VIEW_KINDS, NULL, NULL, NULL } },
	  NULL,
	  "mediatedDevices:T4-1B=n.com/T4-1B " },
	{ "the configuration's, but not what another plugin serves",
	  { { VIEW_PCIDEVICE, "n-1", "", NIC },
	    { VIEW_PCICLAIM, "n-1", "", "" },
	    { VIEW_KINDS, NULL, NULL, NULL } },
	  "{'pciHostDevices':[{'resourceName':'i.com/x','pciVendorSelector':'8086:10D3'},"
	  "{'resourceName':'t.com/x','pciVendorSelector':'8086:10d3','externalResourceProvider':true}],"
	  "'mediatedDevices':[{'resourceName':'n.com/a','mdevNameSelector':'A'},"
	  "{'resourceName':'t.com/b','mdevNameSelector':'B','externalResourceProvider':true}],"
	  "'usb':[{'resourceName':'k.io/b','selectors':[{'vendor':'1','product':'2','serial':'x'}]},"
	  "{'resourceName':'t.com/c','selectors':[],'externalResourceProvider':true}]}",
	  "pciHostDevices:8086:10d3=i.com/x mediatedDevices:A=n.com/a usb:k.io/b " },
};

static void fill(struct stage *stage, const struct put *puts)
{
	for (; puts->kind != VIEW_KINDS; puts++)
		stage_put_meta(stage, puts->kind, puts->name, puts->meta, puts->rest);
}

static struct hostdeviceconfig *config_of(const char *spec)
{
	auto_json json_t *json = json_of("{'metadata':{'name':'default'}}");
	struct hostdeviceconfig *config = api_object_new(&hostdeviceconfig_kind);
	struct err err = { 0 };

	json_object_set_new(json, "spec", json_of(spec));
	if (json_map_decode(hostdeviceconfig_kind.map, json, config, &err) < 0)
		fail_msg("%s", err.msg);
	return config;
}

static void lent_matches_table(void **state)
{
	const struct lent_case *c = suite_row(state);
	struct hostdeviceconfig *config = c->config ? config_of(c->config) : NULL;
	auto_str struct str keys = STR_INIT;
	struct permit_desired desired = { 0 };
	struct stage *stage = *state;

	fill(stage, c->puts);
	permit_desired_compute(stage->seen, config, &desired);
	for (int i = 0; i < PERMIT_LISTS; i++) {
		for (size_t j = 0; j < desired.lists[i].len; j++) {
			const struct permit_entry *entry = &desired.lists[i].items[j];

			assert_true(json_is_true(
				json_object_get(entry->json, "externalResourceProvider")));
			str_addf(&keys, "%s:%s ", permit_list_name((enum permit_list)i),
				 entry->key);
		}
	}
	assert_string_equal(str_cstr(&keys), c->keys);
	permit_desired_done(&desired);
	if (config)
		api_object_free(&hostdeviceconfig_kind, config);
}

static void a_bundle_has_a_selector_for_each_device(void **state)
{
	struct hostdeviceconfig *config = config_of(
		"{'usb':[{'resourceName':'k.io/b','selectors':[{'vendor':'1','product':'2','serial':"
		"'x'},{'vendor':'3','product':'4'}]}]}");
	auto_json json_t *want =
		json_of("{'externalResourceProvider':true,'resourceName':'k.io/b','selectors':["
			"{'vendor':'1','product':'2'},{'vendor':'3','product':'4'}]}");
	struct permit_desired desired = { 0 };
	struct stage *stage = *state;

	permit_desired_compute(stage->seen, config, &desired);
	assert_int_equal(desired.lists[PERMIT_USB].len, 1);
	assert_true(json_equal(desired.lists[PERMIT_USB].items[0].json, want));
	permit_desired_done(&desired);
	api_object_free(&hostdeviceconfig_kind, config);
}

/* --- changes ---------------------------------------------------------------------------------- */

struct listener {
	struct stage stage;
	bool changed;
};

static void hear(void *arg, enum view_kind kind, const char *name, const struct entry *before,
		 const struct entry *after)
{
	struct listener *l = arg;

	l->changed = permit_desired_changed(l->stage.seen, kind, name, before, after);
}

static bool put_changes(struct listener *l, enum view_kind kind, const char *name, const char *rest)
{
	l->changed = false;
	stage_put(&l->stage, kind, name, rest);
	return l->changed;
}

static bool remove_changes(struct listener *l, enum view_kind kind, const char *name)
{
	l->changed = false;
	stage_remove(&l->stage, kind, name);
	return l->changed;
}

static void only_what_is_lent_changes_anything(void **state)
{
	struct listener l = { .changed = false };

	stage_open(&l.stage);
	l.stage.hear = hear;
	l.stage.arg = &l;
	assert_false(put_changes(&l, VIEW_PCIDEVICE, "n-1", NIC));
	assert_true(put_changes(&l, VIEW_PCICLAIM, "n-1", ""));
	assert_false(put_changes(&l, VIEW_PCICLAIM, "n-1", "\"status\":{\"nodeName\":\"n\"}"));
	assert_true(put_changes(&l, VIEW_PCICLAIM, "n-1",
				"\"spec\":{\"disableResourcePooling\":true}"));
	assert_true(put_changes(&l, VIEW_PCIDEVICE, "n-1", "\"status\":{\"vendorId\":\"1\"}"));
	assert_true(put_changes(&l, VIEW_PCIDEVICE, "n-1", NIC));
	assert_false(put_changes(&l, VIEW_PCIDEVICE, "n-1", NIC ",\"x\":1"));
	assert_true(remove_changes(&l, VIEW_PCIDEVICE, "n-1"));
	assert_true(remove_changes(&l, VIEW_PCICLAIM, "n-1"));
	assert_false(put_changes(&l, VIEW_USBDEVICE, "s", ""));
	assert_true(put_changes(&l, VIEW_USBCLAIM, "s", ""));
	assert_true(
		put_changes(&l, VIEW_USBDEVICE, "s", "\"status\":{\"resourceName\":\"k.io/s\"}"));
	assert_true(put_changes(&l, VIEW_MEDIATEDDEVICE, "m", ""));
	assert_true(put_changes(&l, VIEW_MEDIATEDDEVICE, "m", "\"status\":{\"typeName\":\"T\"}"));
	assert_true(remove_changes(&l, VIEW_MEDIATEDDEVICE, "m"));
	stage_close(&l.stage);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "only what is lent changes anything", only_what_is_lent_changes_anything,
		  NULL);
	suite_fixture(&suite, &stage_fixture);
	suite_rows(&suite, cases, lent_matches_table);
	suite_add(&suite, "a bundle has a selector for each device",
		  a_bundle_has_a_selector_for_each_device, NULL);
	return suite_run(&suite, "permit_desired");
}
