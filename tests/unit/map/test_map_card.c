#include "api/node.h"
#include "unit/suite.h"

#include <stdbool.h>
#include <string.h>

#include <jansson.h>

#include "api/event.h"
#include "api/mediateddevice.h"
#include "api/migconfiguration.h"
#include "api/object.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/resourceclaim.h"
#include "api/usbdevice.h"
#include "api/vgpudevice.h"
#include "cli/map/map_card.h"
#include "cli/model/node_fault.h"

#define PCI                                                                                                       \
	"{\"metadata\":{\"name\":\"n1-000001000\"},\"status\":{\"address\":\"0000:01:00.0\",\"nodeName\":\"n1\"," \
	"\"vendorId\":\"8086\",\"deviceId\":\"10d3\",\"classId\":\"0200\",\"iommuGroup\":\"14\","                 \
	"\"kernelDriverInUse\":\"e1000e\",\"description\":\"A: \\\"NIC\\\"\","
#define CLAIMABLE(status, reason)                                                                \
	"\"conditions\":[{\"type\":\"Claimable\",\"status\":\"" status "\",\"reason\":\"" reason \
	"\"}]"
#define POD "\"allocations\":[{\"namespace\":\"lab\",\"pod\":\"p\",\"container\":\"c\"}],"
#define CLAIM \
	"{\"metadata\":{\"name\":\"n1-000001000\"},\"spec\":{\"nodeName\":\"n1\",\"userName\":\"ana\"}"
#define READY(status, reason)                                                   \
	",\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"" status \
	"\",\"reason\":\"" reason "\",\"message\":\"m\"}]}}"
#define DELETING \
	"{\"metadata\":{\"name\":\"n1-000001000\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"}"

static void *object(const struct api_kind *kind, const char *text)
{
	json_t *json = text ? json_loads(text, 0, NULL) : NULL;
	void *made = NULL;

	if (!text)
		return NULL;
	assert_non_null(json);
	assert_int_equal(api_object_decode(kind, json, &made, NULL), 0);
	json_decref(json);
	return made;
}

static json_t *card_json(char *text)
{
	json_t *json = json_loads(text, 0, NULL);

	assert_non_null(json);
	assert_null(strchr(text, '\n')); /* it is one line of a server-sent event */
	free(text);
	return json;
}

static const char *member(const json_t *json, const char *key)
{
	const char *value = json_string_value(json_object_get(json, key));

	return value ? value : "";
}

static struct pci_case {
	const char *name;
	const char *device;
	const char *claim;
	const char *state;
	const char *reason;
} pci_cases[] = {
	{ "may be claimed", PCI CLAIMABLE("True", "Available") "}}", NULL, "claimable",
	  "Available" },
	{ "may not", PCI CLAIMABLE("False", "HostNetwork") "}}", NULL, "refused", "HostNetwork" },
	{ "nobody has said", PCI "\"numVFs\":0}}", NULL, "unknown", "NotSaid" },
	{ "a claim that nobody has looked at", PCI CLAIMABLE("True", "Available") "}}", CLAIM "}",
	  "pending", "NotSeen" },
	{ "being bound", PCI CLAIMABLE("True", "Available") "}}", CLAIM READY("False", "Binding"),
	  "pending", "Binding" },
	{ "stuck stands out", PCI CLAIMABLE("True", "Available") "}}",
	  CLAIM READY("False", "Stuck"), "stuck", "Stuck" },
	{ "stuck on its way back, too", PCI CLAIMABLE("True", "Available") "}}",
	  DELETING READY("False", "Stuck"), "stuck", "Stuck" },
	{ "stuck in a pod, too", PCI POD CLAIMABLE("True", "Available") "}}",
	  CLAIM READY("False", "Stuck"), "stuck", "Stuck" },
	{ "bound", PCI CLAIMABLE("True", "Available") "}}", CLAIM READY("True", "Ready"),
	  "available", "Ready" },
	{ "in a pod", PCI POD CLAIMABLE("True", "Available") "}}", CLAIM READY("True", "Ready"),
	  "used", "Ready" },
	{ "given back", PCI CLAIMABLE("True", "Available") "}}", DELETING READY("True", "Ready"),
	  "releasing", "Releasing" },
	{ "a claim and no device", NULL, CLAIM READY("False", "DeviceNotFound"), "missing",
	  "DeviceNotFound" },
};

static void pci_card_has_state(void **state)
{
	const struct pci_case *c = *state;
	struct pcidevice *device = object(&pcidevice_kind, c->device);
	struct pcideviceclaim *claim = object(&pcideviceclaim_kind, c->claim);
	json_t *json = card_json(
		map_card_pci("pci/n1-000001000", device, claim, NULL, NULL, CONFLICT_NONE));

	assert_string_equal(member(json, "state"), c->state);
	assert_string_equal(member(json, "reason"), c->reason);
	assert_string_equal(member(json, "id"), "pci/n1-000001000");
	assert_int_equal(json_object_get(json, "claim") != NULL, c->claim != NULL);
	json_decref(json);
	api_object_free(&pcidevice_kind, device);
	api_object_free(&pcideviceclaim_kind, claim);
}

static void pci_card_says_all(void **state)
{
	struct pcidevice *device =
		object(&pcidevice_kind, PCI POD CLAIMABLE("True", "Available") "}}");
	struct pcideviceclaim *claim = object(&pcideviceclaim_kind, CLAIM READY("True", "Ready"));
	json_t *json = card_json(
		map_card_pci("pci/n1-000001000", device, claim, NULL, NULL, CONFLICT_NONE));
	const json_t *one;

	assert_string_equal(member(json, "node"), "n1");
	assert_string_equal(member(json, "address"), "0000:01:00.0");
	assert_string_equal(member(json, "text"), "A: \"NIC\"");
	assert_string_equal(member(json, "driver"), "e1000e");
	assert_string_equal(member(json, "group"), "14");
	one = json_array_get(json_object_get(json, "pods"), 0);
	assert_string_equal(member(one, "pod"), "lab/p");
	one = json_object_get(json, "claim");
	assert_string_equal(member(one, "owner"), "ana");
	one = json_array_get(json_object_get(one, "conditions"), 0);
	assert_string_equal(member(one, "type"), "Ready");
	assert_string_equal(member(one, "message"), "m");
	one = json_array_get(json_object_get(json, "facts"), 0);
	assert_string_equal(json_string_value(json_array_get(one, 1)), "8086:10d3");
	assert_null(json_object_get(json, "port"));
	json_decref(json);
	api_object_free(&pcidevice_kind, device);
	api_object_free(&pcideviceclaim_kind, claim);
}

static void what_is_not_said_is_left_out(void **state)
{
	struct pcidevice *device = object(
		&pcidevice_kind, "{\"metadata\":{\"name\":\"x\",\"labels\":{\"nodename\":\"n2\"}},"
				 "\"status\":{\"classId\":\"0604\"}}");
	json_t *json = card_json(map_card_pci("pci/x", device, NULL, NULL, NULL, CONFLICT_NONE));

	assert_string_equal(member(json, "node"), "n2");
	assert_true(json_is_true(json_object_get(json, "port")));
	assert_null(json_object_get(json, "address"));
	assert_null(json_object_get(json, "driver"));
	assert_null(json_object_get(json, "claim"));
	json_decref(json);
	api_object_free(&pcidevice_kind, device);
}

static void device_of_a_sick_node_is_unknown(void **state)
{
	static const struct node_fault fault = { "NodeNotReady", "", "down", "" };
	struct pcidevice *device =
		object(&pcidevice_kind, PCI POD CLAIMABLE("True", "Available") "}}");
	json_t *json = card_json(
		map_card_pci("pci/n1-000001000", device, NULL, NULL, &fault, CONFLICT_NONE));

	assert_string_equal(member(json, "state"), "unknown");
	assert_string_equal(member(json, "reason"), "NodeNotReady");
	assert_string_equal(member(json, "say"), "down");
	json_decref(json);
	api_object_free(&pcidevice_kind, device);
}

static void usb_device_is_on_its_controller(void **state)
{
	struct usbdevice *device = object(
		&usbdevice_kind,
		"{\"metadata\":{\"name\":\"u\"},\"status\":{\"nodeName\":\"n1\",\"portPath\":\"1-2\","
		"\"pciAddress\":\"0000:00:14.0\",\"interfaces\":[{\"driver\":\"usbhid\"}]}}");
	json_t *json = card_json(map_card_usb("usb/u", device, NULL, NULL, NULL, CONFLICT_NONE));

	assert_string_equal(member(json, "on"), "0000:00:14.0");
	assert_string_equal(member(json, "address"), "1-2");
	assert_string_equal(member(json, "driver"), "usbhid");
	json_decref(json);
	api_object_free(&usbdevice_kind, device);
}

static void mediated_device_is_lent_or_not(void **state)
{
	struct mediateddevice *device = object(
		&mediateddevice_kind,
		"{\"metadata\":{\"name\":\"m\"},\"status\":{\"nodeName\":\"n1\",\"uuid\":\"u\","
		"\"parent\":\"mtty\",\"resourceName\":\"a.b/c\"}}");
	json_t *json = card_json(map_card_mdev("mdev/m", device, NULL, NULL));

	assert_string_equal(member(json, "state"), "available");
	assert_string_equal(member(json, "on"), "mtty");
	json_decref(json);
	api_object_free(&mediateddevice_kind, device);
}

static void virtual_function_is_on_its_card(void **state)
{
	struct pcidevice *device =
		object(&pcidevice_kind,
		       "{\"metadata\":{\"name\":\"v\"},\"status\":{\"nodeName\":\"n1\",\"address\":"
		       "\"0000:03:10.0\",\"physicalFunction\":\"0000:03:00.0\"}}");
	json_t *json = card_json(map_card_pci("pci/v", device, NULL, NULL, NULL, CONFLICT_NONE));

	assert_string_equal(member(json, "on"), "0000:03:00.0");
	json_decref(json);
	api_object_free(&pcidevice_kind, device);
}

#define VGPU(enabled, ready)                                                                            \
	"{\"metadata\":{\"name\":\"n1-1\"},\"spec\":{\"address\":\"0000:08:00.4\",\"nodeName\":\"n1\"," \
	"\"enabled\":" enabled ",\"vGPUTypeName\":\"NVIDIA A2-4C\"},\"status\":{\"conditions\":["       \
	"{\"type\":\"Ready\",\"status\":\"" ready "\",\"reason\":\"R\",\"message\":\"m\"}]}}"

static struct vgpu_case {
	const char *name;
	const char *json;
	const char *function; /* NULL: not known */
	const char *state;    /* NULL: no card  */
} vgpus[] = {
	{ "a vGPU that is there", VGPU("true", "True"), NULL, "available" },
	{ "one that a pod has", VGPU("true", "True"), PCI POD CLAIMABLE("True", "Available") "}}",
	  "used" },
	{ "one that is not there yet", VGPU("true", "False"), NULL, "pending" },
	{ "one that nobody wants", VGPU("false", "True"), NULL, NULL },
};

static void vgpu_hangs_on_its_function(void **state)
{
	const struct vgpu_case *c = *state;
	struct vgpudevice *vgpu = object(&vgpudevice_kind, c->json);
	struct pcidevice *function = object(&pcidevice_kind, c->function);
	char *text = map_card_vgpu("vgpu/n1-1", vgpu, function, NULL);
	json_t *json = text ? card_json(text) : NULL;

	assert_int_equal(!json, !c->state);
	if (json) {
		assert_string_equal(member(json, "state"), c->state);
		assert_string_equal(member(json, "on"), "0000:08:00.4");
		assert_string_equal(member(json, "address"), "vGPU");
		assert_string_equal(member(json, "text"), "NVIDIA A2-4C");
	}
	json_decref(json);
	api_object_free(&vgpudevice_kind, vgpu);
	api_object_free(&pcidevice_kind, function);
}

static void mig_instances_are_counted(void **state)
{
	static const struct node_fault fault = { "NodeGone", "", "gone", "" };
	struct migconfiguration *mig = object(
		&migconfiguration_kind,
		"{\"metadata\":{\"name\":\"n1-2\"},\"spec\":{\"enabled\":true,\"gpuAddress\":\"0000:08:00.0\","
		"\"nodeName\":\"n1\"},\"status\":{\"profileStatus\":[{\"name\":\"MIG 1g.5gb\",\"id\":19,"
		"\"available\":5,\"total\":7,\"vGPUID\":[\"3\",\"4\"]},{\"name\":\"MIG 3g.20gb\",\"id\":9,"
		"\"available\":2,\"total\":2}],\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
		"\"reason\":\"Synced\"}]}}");
	json_t *json = card_json(map_card_mig("mig/n1-2", mig, NULL));
	json_t *lost = card_json(map_card_mig("mig/n1-2", mig, &fault));

	assert_string_equal(member(json, "state"), "available");
	assert_string_equal(member(json, "on"), "0000:08:00.0");
	assert_string_equal(member(json, "text"), "2 of 7 MIG 1g.5gb");
	assert_string_equal(member(lost, "state"), "unknown");
	json_decref(json);
	json_decref(lost);
	api_object_free(&migconfiguration_kind, mig);
}

static void node_says_why_it_is_not_ready(void **state)
{
	struct node *node = object(
		&node_kind,
		"{\"metadata\":{\"name\":\"n1\"},\"spec\":{\"unschedulable\":true},\"status\":{"
		"\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\",\"message\":\"down\"}]}}");
	const struct node_fault fault = node_judge(node);
	json_t *json = card_json(map_card_node("node/n1", node, &fault));

	assert_string_equal(member(json, "fault"), "NodeNotReady");
	assert_string_equal(member(json, "say"), "down");
	assert_true(json_is_true(json_object_get(json, "cordoned")));
	json_decref(json);
	api_object_free(&node_kind, node);
}

static struct event_case {
	const char *name;
	const char *kind;
	const char *about;
} event_cases[] = {
	{ "of a device", "PCIDevice", "pci/d" },
	{ "of a claim is the device's", "PCIDeviceClaim", "pci/d" },
	{ "of a USB claim", "USBDeviceClaim", "usb/d" },
	{ "of a vGPU", "VGPUDevice", "vgpu/d" },
	{ "of something else is nobody's", "HostDeviceConfig", "" },
};

static void event_is_about_card(void **state)
{
	const struct event_case *c = *state;
	auto_free char *text = xasprintf(
		"{\"metadata\":{\"name\":\"e\"},\"involvedObject\":{\"kind\":\"%s\",\"name\":"
		"\"d\"},\"reason\":\"R\",\"lastTimestamp\":\"2026-01-01T00:00:00Z\"}",
		c->kind);
	struct event *event = object(&event_kind, text);
	json_t *json = card_json(map_card_event("event/e", event));

	assert_string_equal(member(json, "about"), c->about);
	assert_string_equal(member(json, "at"), "2026-01-01T00:00:00Z");
	json_decref(json);
	api_object_free(&event_kind, event);
}

#define NIC_CLAIM(more)                                                                           \
	"{\"metadata\":{\"namespace\":\"lab\",\"name\":\"nic\"},\"status\":{\"allocation\":{"     \
	"\"devices\":{\"results\":[{\"request\":\"a\",\"driver\":\"hostdev.io\",\"pool\":\"n1\"," \
	"\"device\":\"pci-0000-01-00-0\"}]}},\"reservedFor\":[{\"resource\":\"pods\",\"name\":"   \
	"\"q\"}]" more "}}"
#define REFUSED                                                                          \
	",\"devices\":[{\"driver\":\"hostdev.io\",\"pool\":\"n1\",\"device\":"           \
	"\"pci-0000-01-00-0\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"False\"," \
	"\"reason\":\"NotPrepared\",\"message\":\"other has it\"}]}]"
#define HAS_NIC                                                                      \
	"\"allocations\":[{\"namespace\":\"lab\",\"pod\":\"q\",\"container\":\"c\"," \
	"\"resourceClaim\":\"nic\"}],"

static struct resource_claim_case {
	const char *name;
	const char *device;
	const char *claim;
	const char *reason; /* "": prepared */
	const char *say;
} resource_claim_cases[] = {
	{ "allocated", PCI CLAIMABLE("True", "Available") "}}", NIC_CLAIM(""), "Allocated",
	  "allocated to it, and no container has it yet" },
	{ "refused", PCI CLAIMABLE("True", "Available") "}}", NIC_CLAIM(REFUSED), "NotPrepared",
	  "other has it" },
	{ "prepared", PCI HAS_NIC CLAIMABLE("True", "Available") "}}", NIC_CLAIM(REFUSED), "", "" },
};

static void card_has_resource_claim(void **state)
{
	const struct resource_claim_case *c = *state;
	struct pcidevice *device = object(&pcidevice_kind, c->device);
	struct resourceclaim *claim = object(&resourceclaim_kind, c->claim);
	json_t *json = card_json(map_card_pci("pci/x", device, NULL, claim, NULL, CONFLICT_NONE));
	const json_t *part = json_object_get(json, "resourceClaim");

	assert_string_equal(member(json, "state"), "used");
	assert_string_equal(member(part, "name"), "lab/nic");
	assert_string_equal(member(part, "pods"), "lab/q");
	assert_string_equal(member(part, "reason"), c->reason);
	assert_string_equal(member(part, "say"), c->say);
	assert_int_equal(json_is_true(json_object_get(part, "prepared")), !c->reason[0]);
	json_decref(json);
	api_object_free(&pcidevice_kind, device);
	api_object_free(&resourceclaim_kind, claim);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, resource_claim_cases, card_has_resource_claim);
	suite_rows(&suite, pci_cases, pci_card_has_state);
	suite_add(&suite, "the card of a PCI device says all", pci_card_says_all, NULL);
	suite_add(&suite, "what is not said is left out", what_is_not_said_is_left_out, NULL);
	suite_add(&suite, "a device of a node that is not well is unknown",
		  device_of_a_sick_node_is_unknown, NULL);
	suite_add(&suite, "a USB device is on its controller", usb_device_is_on_its_controller,
		  NULL);
	suite_add(&suite, "a mediated device is lent or not", mediated_device_is_lent_or_not, NULL);
	suite_add(&suite, "a virtual function is on its card", virtual_function_is_on_its_card,
		  NULL);
	suite_rows(&suite, vgpus, vgpu_hangs_on_its_function);
	suite_add(&suite, "MIG instances are counted", mig_instances_are_counted, NULL);
	suite_add(&suite, "a node says why it is not ready", node_says_why_it_is_not_ready, NULL);
	suite_rows(&suite, event_cases, event_is_about_card);
	return suite_run(&suite, "map_card");
}
