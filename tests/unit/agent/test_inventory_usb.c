/* inventory_usb: each line of a scan as the USBDevice that the API server gets, whole. */
#include "agent/inventory/inventory_usb.h"

#include "api/json_map.h"
#include "api/object.h"
#include "api/usbdevice.h"
#include "base/str.h"
#include "unit/agent/world.h"
#include "unit/schema.h"

#define STICK                                                                            \
	"{\"kind\":\"usb\",\"name\":\"1-2\",\"bus\":1,\"device\":5,\"vendor\":\"0951\"," \
	"\"product\":\"1666\""
#define UAS_STICK STICK ",\"interfaces\":[{\"driver\":\"uas\"},{\"driver\":\"uas\"}]}"
#define MOUNTED(port, detail) \
	"{\"kind\":\"use\",\"usb\":\"" port "\",\"reason\":\"Mounted\",\"detail\":\"" detail "\"}"
#define CONDITION(status, reason, message)                                                       \
	"\"conditions\":[{\"type\":\"Claimable\",\"status\":\"" status "\",\"reason\":\"" reason \
	"\",\"message\":\"" message "\",\"lastTransitionTime\":\"1970-01-12T13:46:40Z\"}]"
#define AVAILABLE CONDITION("True", "Available", "may be claimed")

static struct usb_case {
	const char *name;
	const char *lines[5]; /* the first is the device looked at */
	const char *object;
	const char *status;
} cases[] = {
	{ "a stick with all that can be said of it",
	  { STICK ",\"class\":\"00\",\"speed\":480,\"manufacturer\":\"Kingston\","
		  "\"productName\":\"DataTraveler 3.0\",\"serial\":\"E0D5\","
		  "\"pciAddress\":\"0000:00:14.0\",\"interfaces\":[{\"class\":\"08\","
		  "\"subclass\":\"06\",\"protocol\":\"50\",\"driver\":\"usb-storage\"}]}",
	    "{\"kind\":\"name\",\"id\":\"usb:0951:1666\",\"vendor\":\"Kingston Technology\","
	    "\"product\":\"DataTraveler 100\"}" },
	  "node1-0951-1666-001005",
	  "{\"vendorID\":\"0951\",\"productID\":\"1666\",\"nodeName\":\"node1\","
	  "\"resourceName\":\"kubevirt.io/node1-0951-1666-001005\","
	  "\"devicePath\":\"/dev/bus/usb/001/005\","
	  "\"description\":\"DataTraveler 100 (Kingston Technology) [DataTraveler 3.0]\","
	  "\"pciAddress\":\"0000:00:14.0\",\"classType\":\"Mass Storage\",\"enabled\":false,"
	  "\"portPath\":\"1-2\",\"serialNumber\":\"E0D5\",\"speedMbps\":480,"
	  "\"interfaces\":[{\"class\":\"08\",\"subclass\":\"06\",\"protocol\":\"50\","
	  "\"driver\":\"usb-storage\"}],\"holder\":\"driver usb-storage\"," AVAILABLE "}" },
	{ "a device of which only the port could be read",
	  { "{\"kind\":\"usb\",\"name\":\"1-2\"}" },
	  "node1-0000-0000-000000",
	  "{\"vendorID\":\"\",\"productID\":\"\",\"nodeName\":\"node1\","
	  "\"resourceName\":\"kubevirt.io/node1-0000-0000-000000\",\"devicePath\":\"\","
	  "\"description\":\"Unknown 0000:0000\",\"pciAddress\":\"\","
	  "\"classType\":\"\",\"enabled\":false,"
	  "\"portPath\":\"1-2\"," AVAILABLE "}" },
	{ "the class of the device counts before its first interface's",
	  { STICK ",\"class\":\"ef\",\"interfaces\":[{\"class\":\"0e\"}]}" },
	  "node1-0951-1666-001005",
	  "{\"vendorID\":\"0951\",\"productID\":\"1666\",\"nodeName\":\"node1\","
	  "\"resourceName\":\"kubevirt.io/node1-0951-1666-001005\","
	  "\"devicePath\":\"/dev/bus/usb/001/005\",\"description\":\"Unknown 0951:1666\","
	  "\"pciAddress\":\"\",\"classType\":\"Miscellaneous\",\"enabled\":false,"
	  "\"portPath\":\"1-2\",\"interfaces\":[{\"class\":\"0e\",\"subclass\":\"\","
	  "\"protocol\":\"\"}]," AVAILABLE "}" },
	{ "who holds it is told once each, uses first",
	  { UAS_STICK, MOUNTED("1-2", "sdb at /m"), MOUNTED("1-2", "sdb at /m"),
	    MOUNTED("1-3", "other"), "{\"kind\":\"use\",\"usb\":\"1-2\",\"reason\":\"Admired\"}" },
	  "node1-0951-1666-001005",
	  "{\"vendorID\":\"0951\",\"productID\":\"1666\",\"nodeName\":\"node1\","
	  "\"resourceName\":\"kubevirt.io/node1-0951-1666-001005\","
	  "\"devicePath\":\"/dev/bus/usb/001/005\",\"description\":\"Unknown 0951:1666\","
	  "\"pciAddress\":\"\",\"classType\":\"\",\"enabled\":false,"
	  "\"portPath\":\"1-2\",\"holder\":\"sdb at /m, driver uas\","
	  "\"interfaces\":[{\"class\":\"\",\"subclass\":\"\",\"protocol\":\"\",\"driver\":\"uas\"},"
	  "{\"class\":\"\",\"subclass\":\"\",\"protocol\":\"\",\"driver\":\"uas\"}]," CONDITION(
		  "False", "InUse", "sdb at /m") "}" },
	{ "what the schema does not take is dropped or cut, the rest is told",
	  { "{\"kind\":\"usb\",\"name\":\"1-2-3\",\"bus\":-1,\"device\":-2,\"vendor\":\"951\","
	    "\"product\":\"1666\",\"speed\":-3,\"serial\":\"\\u001b[2J\",\"pciAddress\":\"0:0\","
	    "\"interfaces\":[{\"class\":\"8\",\"subclass\":\"XY\",\"protocol\":\"500\"}]}" },
	  "node1-0951-1666-000000",
	  "{\"vendorID\":\"\",\"productID\":\"1666\",\"nodeName\":\"node1\","
	  "\"resourceName\":\"kubevirt.io/node1-0951-1666-000000\",\"devicePath\":\"\","
	  "\"description\":\"Unknown 0000:1666\",\"pciAddress\":\"\","
	  "\"classType\":\"\",\"enabled\":false,"
	  "\"serialNumber\":\"\\\\x1b[2J\",\"interfaces\":[{\"class\":\"\",\"subclass\":\"\","
	  "\"protocol\":\"\"}]," AVAILABLE "}" },
};

static const struct usbdevice *first_of(const struct world *world)
{
	return world->inventory->sets[INVENTORY_USB].objects[0];
}

static void assert_json(json_t *is, const char *should)
{
	auto_json json_t *wanted = json_loads(should, 0, NULL);
	auto_free char *text = json_map_text(is);

	assert_non_null(wanted);
	if (!json_equal(is, wanted))
		fail_msg("%s\nis not\n%s", text, should);
}

static void assert_in_schema(json_t *object)
{
	auto_json json_t *schema = schema_load("devices.harvesterhci.io_usbdevices.yaml");
	auto_str struct str problem = STR_INIT;

	if (!schema_takes(schema, object, "", &problem))
		fail_msg("%s", problem.buf);
}

static void object_matches_table(void **state)
{
	const struct usb_case *c = suite_row(state);
	auto_json json_t *json = NULL;
	json_t *meta;
	struct world *world = *state;

	world_of(world, c->lines, ARRAY_LEN(c->lines));
	json = api_object_encode(&usbdevice_kind, first_of(world));
	meta = json_object_get(json, "metadata");
	assert_string_equal(json_string_value(json_object_get(meta, "name")), c->object);
	assert_json(json_object_get(meta, "labels"), "{\"nodename\":\"node1\"}");
	assert_json(json_object_get(json, "status"), c->status);
	assert_in_schema(json);
}

/* "bbb..." of @len bytes. The caller frees. */
static char *long_text(int len)
{
	char *text = xasprintf("%0*d", len, 0);

	memset(text, 'b', (size_t)len);
	return text;
}

static void long_text_is_cut(void **state)
{
	auto_free char *text = long_text(2000);
	auto_str struct str line = STR_INIT;
	const struct usbdevice_status *status;
	auto_json json_t *json = NULL;
	struct world *world = *state;

	str_addf(&line, STICK ",\"speed\":2000000,\"serial\":\"%s\",\"productName\":\"%s\"", text,
		 text);
	str_addf(&line, ",\"interfaces\":[{\"driver\":\"%s\"}", text);
	for (int i = 1; i < 40; i++)
		str_add(&line, ",{\"class\":\"03\"}");
	str_add(&line, "]}");
	world_of(world, (const char *[]){ line.buf }, 1);
	status = &first_of(world)->status;
	assert_int_equal(strlen(status->serial_number), 384);
	assert_int_equal(strlen(status->description), 1024);
	assert_int_equal(strlen(status->holder), 1024);
	assert_int_equal(status->interfaces.len, 32);
	assert_int_equal(strlen(status->interfaces.items[0].driver), 255);
	assert_int_equal(status->speed_mbps, 0);
	json = api_object_encode(&usbdevice_kind, first_of(world));
	assert_in_schema(json);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &world_fixture);
	suite_rows(&suite, cases, object_matches_table);
	suite_add(&suite, "text from outside is cut to what the schema takes", long_text_is_cut,
		  NULL);
	return suite_run(&suite, "inventory_usb");
}
