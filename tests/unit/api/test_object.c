#include "api/object.h"

#include <errno.h>
#include <string.h>

#include "api/event.h"
#include "api/lease.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/status.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "base/err.h"
#include "unit/suite.h"

#define GROUP "\"apiVersion\":\"devices.harvesterhci.io/v1beta1\","
#define NAMED "\"metadata\":{\"name\":\"n\"}"

/* What decodes (@in) and what is written of it (@out; NULL: the same). */
static struct text_case {
	const char *name;
	const struct api_kind *kind;
	const char *in;
	const char *out;
} texts[] = {
	{ "a PCIDevice of Harvester's", &pcidevice_kind,
	  "{" GROUP "\"kind\":\"PCIDevice\",\"metadata\":{\"name\":\"janus-000004000\",\"labels\":{"
	  "\"nodename\":\"janus\"},\"annotations\":{\"harvesterhci.io/pcideviceDriver\":\"\"}},"
	  "\"spec\":{},\"status\":{\"address\":\"0000:04:00.0\",\"vendorId\":\"10de\",\"deviceId\":"
	  "\"20b0\",\"classId\":\"0302\",\"iommuGroup\":\"\",\"nodeName\":\"janus\","
	  "\"resourceName\":"
	  "\"nvidia.com/GA100\",\"description\":\"3D controller: x\",\"kernelDriverInUse\":"
	  "\"vfio-pci\"}}",
	  "{" GROUP "\"kind\":\"PCIDevice\",\"metadata\":{\"name\":\"janus-000004000\",\"labels\":{"
	  "\"nodename\":\"janus\"},\"annotations\":{\"harvesterhci.io/pcideviceDriver\":\"\"}},"
	  "\"status\":{\"address\":\"0000:04:00.0\",\"vendorId\":\"10de\",\"deviceId\":"
	  "\"20b0\",\"classId\":\"0302\",\"iommuGroup\":\"\",\"nodeName\":\"janus\","
	  "\"resourceName\":"
	  "\"nvidia.com/GA100\",\"description\":\"3D controller: x\",\"kernelDriverInUse\":"
	  "\"vfio-pci\"}}" },
	{ "a PCIDevice of nulls", &pcidevice_kind,
	  "{" NAMED
	  ",\"spec\":null,\"status\":{\"address\":null,\"iommuGroup\":null,\"vendorId\":\"8086\","
	  "\"kernelDriverInUse\":null}}",
	  "{" GROUP "\"kind\":\"PCIDevice\"," NAMED
	  ",\"status\":{\"address\":\"\",\"vendorId\":\"8086\","
	  "\"deviceId\":\"\",\"classId\":\"\",\"iommuGroup\":\"\",\"nodeName\":\"\","
	  "\"resourceName\":\"\","
	  "\"description\":\"\"}}" },
	{ "a PCIDevice with all that we add", &pcidevice_kind,
	  "{" GROUP "\"kind\":\"PCIDevice\"," NAMED ",\"status\":{\"address\":\"0000:04:00.1\","
	  "\"vendorId\":\"8086\",\"deviceId\":\"10ca\",\"classId\":\"0200\",\"iommuGroup\":\"12\","
	  "\"nodeName\":\"node1\",\"resourceName\":\"r\",\"description\":\"d\",\"numaNode\":0,"
	  "\"subsystemVendorId\":\"8086\",\"subsystemDeviceId\":\"a03c\",\"revision\":\"01\","
	  "\"bridges\":[\"0000:00:1c.0\"],"
	  "\"iommuGroupMembers\":[\"0000:04:00.0\",\"0000:04:00.1\"],\"role\":\"VirtualFunction\","
	  "\"physicalFunction\":\"0000:04:00.0\",\"totalVFs\":7,\"numVFs\":2,"
	  "\"serialNumber\":\"00-11-22-33-44-55-66-77\",\"resetMethods\":[\"flr\",\"bus\"],"
	  "\"bootVGA\":true,\"conditions\":[{\"type\":\"Claimable\",\"status\":\"False\","
	  "\"reason\":\"RootDisk\",\"message\":\"m\",\"lastTransitionTime\":\"2026-01-02T03:04:"
	  "05Z\","
	  "\"observedGeneration\":1}]}}",
	  NULL },
	{ "a PCIDevice that was just created", &pcidevice_kind, "{" NAMED "}",
	  "{" GROUP "\"kind\":\"PCIDevice\"," NAMED "}" },
	{ "a PCIDeviceClaim of Harvester's", &pcideviceclaim_kind,
	  "{" GROUP "\"kind\":\"PCIDeviceClaim\",\"metadata\":{\"name\":\"janus-000004000\","
	  "\"finalizers\":[\"wrangler.cattle.io/PCIDeviceClaimOnRemove\"],\"ownerReferences\":[{"
	  "\"apiVersion\":\"devices.harvesterhci.io/v1beta1\",\"kind\":\"PCIDevice\",\"name\":"
	  "\"janus-000004000\",\"uid\":\"u\"}]},\"spec\":{\"address\":\"0000:04:00.0\","
	  "\"nodeName\":"
	  "\"janus\",\"userName\":\"admin\",\"disableResourcePooling\":true},\"status\":{"
	  "\"kernelDriverToUnbind\":\"nvidia\",\"passthroughEnabled\":true}}",
	  NULL },
	{ "a PCIDeviceClaim with all that we add", &pcideviceclaim_kind,
	  "{" GROUP "\"kind\":\"PCIDeviceClaim\"," NAMED
	  ",\"status\":{\"kernelDriverToUnbind\":\"\","
	  "\"passthroughEnabled\":false,\"observedGeneration\":4,\"conditions\":[{\"type\":"
	  "\"Ready\","
	  "\"status\":\"True\",\"reason\":\"Bound\",\"message\":\"\",\"lastTransitionTime\":"
	  "\"t\"}]}}",
	  NULL },
	{ "a USBDevice of Harvester's", &usbdevice_kind,
	  "{" GROUP "\"kind\":\"USBDevice\"," NAMED
	  ",\"status\":{\"vendorID\":\"0951\",\"productID\":"
	  "\"1666\",\"nodeName\":\"node1\",\"resourceName\":\"kubevirt.io/n\",\"devicePath\":"
	  "\"/dev/bus/usb/001/002\",\"description\":\"d\",\"pciAddress\":\"0000:00:14.0\","
	  "\"classType\":"
	  "\"Mass Storage\",\"enabled\":true,\"status\":\"orphaned\",\"message\":\"m\"}}",
	  NULL },
	{ "a USBDevice with all that we add", &usbdevice_kind,
	  "{" GROUP "\"kind\":\"USBDevice\"," NAMED
	  ",\"status\":{\"vendorID\":\"0951\",\"productID\":"
	  "\"1666\",\"nodeName\":\"node1\",\"resourceName\":\"r\",\"devicePath\":\"p\","
	  "\"description\":"
	  "\"d\",\"pciAddress\":\"a\",\"classType\":\"Hub\",\"enabled\":false,\"portPath\":"
	  "\"1-2.3\","
	  "\"serialNumber\":\"s\",\"speedMbps\":480,\"hub\":true,\"interfaces\":[{\"class\":\"08\","
	  "\"subclass\":\"06\",\"protocol\":\"50\",\"driver\":\"usb-storage\"},{\"class\":\"ff\","
	  "\"subclass\":\"00\",\"protocol\":\"00\"}],\"holder\":\"mounted on /mnt\"}}",
	  NULL },
	{ "a USBDeviceClaim of Harvester's", &usbdeviceclaim_kind,
	  "{" GROUP "\"kind\":\"USBDeviceClaim\"," NAMED
	  ",\"spec\":{\"userName\":\"admin\"},\"status\":{"
	  "\"nodeName\":\"node1\",\"pciAddress\":\"0000:00:14.0\"}}",
	  NULL },
	{ "a USBDeviceClaim with all that we add", &usbdeviceclaim_kind,
	  "{" GROUP "\"kind\":\"USBDeviceClaim\"," NAMED
	  ",\"status\":{\"nodeName\":\"\",\"pciAddress\":"
	  "\"\",\"observedGeneration\":1,\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
	  "\"reason\":\"r\",\"message\":\"\",\"lastTransitionTime\":\"t\"}]}}",
	  NULL },
	{ "an Event", &event_kind,
	  "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"name\":\"n.1\",\"namespace\":"
	  "\"default\"},\"involvedObject\":{\"apiVersion\":\"devices.harvesterhci.io/v1beta1\","
	  "\"kind\":\"PCIDevice\",\"name\":\"n\",\"uid\":\"u\",\"resourceVersion\":\"7\"},"
	  "\"source\":{"
	  "\"component\":\"hostdev-agent\",\"host\":\"node1\"},\"type\":\"Warning\",\"reason\":"
	  "\"Stuck\","
	  "\"message\":\"m\",\"action\":\"Unbind\",\"count\":2,\"firstTimestamp\":\"t\","
	  "\"lastTimestamp\":"
	  "\"u\",\"eventTime\":\"v\",\"reportingComponent\":\"hostdev-agent\","
	  "\"reportingInstance\":"
	  "\"node1\"}",
	  NULL },
	{ "a Lease", &lease_kind,
	  "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":"
	  "\"l\","
	  "\"namespace\":\"hostdev-system\",\"resourceVersion\":\"8\"},\"spec\":"
	  "{\"holderIdentity\":\"a\","
	  "\"leaseDurationSeconds\":15,\"acquireTime\":\"t\",\"renewTime\":\"u\","
	  "\"leaseTransitions\":3}}",
	  NULL },
	{ "a released Lease", &lease_kind,
	  "{\"kind\":\"Lease\"," NAMED
	  ",\"spec\":{\"holderIdentity\":\"\",\"leaseTransitions\":1}}",
	  "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\"," NAMED ",\"spec\":{"
	  "\"leaseTransitions\":1}}" },
};

static void *object_of(const struct api_kind *kind, const char *text)
{
	auto_json json_t *json = NULL;
	void *object = NULL;
	struct err err = { 0 };

	if (json_map_load(text, strlen(text), &json, &err) < 0 ||
	    api_object_decode(kind, json, &object, &err) < 0)
		fail_msg("%s", err.msg);
	return object;
}

static char *text_of(const struct api_kind *kind, const void *object)
{
	auto_json json_t *json = api_object_encode(kind, object);

	return json_map_text(json);
}

static void object_comes_through(void **state)
{
	const struct text_case *c = *state;
	const char *want = c->out ? c->out : c->in;
	void *object = object_of(c->kind, c->in);
	void *copy = api_object_copy(c->kind, object);
	auto_free char *text = text_of(c->kind, object);
	auto_free char *copy_text = NULL;
	void *again = object_of(c->kind, text);

	assert_string_equal(text, want);
	assert_true(api_object_equal(c->kind, object, again));
	assert_true(api_object_equal(c->kind, object, copy));
	object = api_object_free(c->kind, object);
	assert_null(object);
	copy_text = text_of(c->kind, copy);
	assert_string_equal(copy_text, want);
	api_object_free(c->kind, again);
	api_object_free(c->kind, copy);
}

static struct error_case {
	const char *name;
	const struct api_kind *kind;
	const char *in;
	const char *msg;
} errors[] = {
	{ "a wrong field is reported with the object's name", &pcidevice_kind,
	  "{" NAMED ",\"status\":{\"address\":4}}",
	  "PCIDevice 'n': status.address: expected a string, got a number" },
	{ "an object without a name is none", &pcidevice_kind, "{\"metadata\":{}}",
	  "PCIDevice '': metadata.name: is missing" },
	{ "an object without metadata is none", &usbdeviceclaim_kind, "{}",
	  "USBDeviceClaim '': metadata: is missing" },
	{ "another kind is not taken", &pcidevice_kind, "{\"kind\":\"USBDevice\"," NAMED "}",
	  "PCIDevice 'n': kind: expected 'PCIDevice', got 'USBDevice'" },
	{ "another version is not taken", &lease_kind,
	  "{\"apiVersion\":\"coordination.k8s.io/v2\"," NAMED "}",
	  "Lease 'n': apiVersion: expected 'coordination.k8s.io/v1',"
	  " got 'coordination.k8s.io/v2'" },
	{ "a list is no object", &event_kind, "[]", "Event '': expected an object, got a list" },
	{ "metadata that is a string", &event_kind, "{\"metadata\":\"x\"}",
	  "Event '': metadata: expected an object, got a string" },
	{ "a wrong condition is reported with its place", &usbdevice_kind,
	  "{" NAMED ",\"status\":{\"conditions\":[{},{\"status\":true}]}}",
	  "USBDevice 'n': status.conditions[1].status: expected a string, got a boolean" },
};

static void error_is_reported(void **state)
{
	const struct error_case *c = *state;
	auto_json json_t *json = NULL;
	void *object = NULL;
	struct err err = { 0 };

	assert_int_equal(json_map_load(c->in, strlen(c->in), &json, NULL), 0);
	assert_int_equal(api_object_decode(c->kind, json, &object, &err), -EINVAL);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_string_equal(err.msg, c->msg);
	assert_null(object);
}

static void new_devices_are_on_no_numa_node(void **state)
{
	struct pcidevice *device = api_object_new(&pcidevice_kind);

	assert_int_equal(device->status.numa_node, -1);
	api_object_free(&pcidevice_kind, device);

	device = object_of(&pcidevice_kind, "{" NAMED ",\"status\":{\"address\":\"a\"}}");
	assert_int_equal(device->status.numa_node, -1);
	api_object_free(&pcidevice_kind, device);
	assert_null(api_object_free(&pcidevice_kind, NULL));
}

static void every_kind_says_where_it_lives(void **state)
{
	static const struct {
		const struct api_kind *kind;
		const char *api_version;
		const char *plural;
		const char *ns;
	} kinds[] = {
		{ &pcidevice_kind, "devices.harvesterhci.io/v1beta1", "pcidevices", NULL },
		{ &pcideviceclaim_kind, "devices.harvesterhci.io/v1beta1", "pcideviceclaims",
		  NULL },
		{ &usbdevice_kind, "devices.harvesterhci.io/v1beta1", "usbdevices", NULL },
		{ &usbdeviceclaim_kind, "devices.harvesterhci.io/v1beta1", "usbdeviceclaims",
		  NULL },
		{ &event_kind, "v1", "events", "default" },
		{ &lease_kind, "coordination.k8s.io/v1", "leases", "hostdev-system" },
	};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		auto_free char *api_version = api_kind_api_version(kinds[i].kind);

		assert_string_equal(api_version, kinds[i].api_version);
		assert_string_equal(kinds[i].kind->plural, kinds[i].plural);
		if (kinds[i].ns)
			assert_string_equal(kinds[i].kind->ns, kinds[i].ns);
		else
			assert_null(kinds[i].kind->ns);
	}
}

static void server_status_decodes(void **state)
{
	static const char text[] =
		"{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
		"\"message\":\"no\",\"reason\":\"TooManyRequests\",\"code\":429,\"details\":"
		"{\"name\":\"n\","
		"\"group\":\"g\",\"kind\":\"k\",\"uid\":\"u\",\"retryAfterSeconds\":3,\"causes\":"
		"[{\"reason\":"
		"\"FieldValueInvalid\",\"message\":\"m\",\"field\":\"spec.address\"}]}}";
	struct api_status status;

	assert_int_equal(json_map_parse(api_status_map, text, strlen(text), &status, NULL), 0);
	assert_string_equal(status.status, "Failure");
	assert_string_equal(status.message, "no");
	assert_string_equal(status.reason, "TooManyRequests");
	assert_int_equal(status.code, 429);
	assert_int_equal(status.details.retry_after_seconds, 3);
	assert_int_equal(status.details.causes.len, 1);
	assert_string_equal(status.details.causes.items[0].field, "spec.address");
	json_map_done(api_status_map, &status);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, texts, object_comes_through);
	suite_rows(&suite, errors, error_is_reported);
	suite_add(&suite, "a new device is on no NUMA node", new_devices_are_on_no_numa_node, NULL);
	suite_add(&suite, "every kind says where it lives", every_kind_says_where_it_lives, NULL);
	suite_add(&suite, "the server's Status decodes", server_status_decodes, NULL);
	return suite_run(&suite, "object");
}
