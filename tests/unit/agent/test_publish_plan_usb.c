/* publish_plan of USB devices: offers, allocations, and the status after a device is unplugged. */
#include "agent/publish/publish_plan.h"

#include <string.h>

#include "api/names.h"
#include "api/object.h"
#include "api/pcidevice.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "base/array.h"
#include "base/mem.h"
#include "unit/agent/verdict.h"
#include "unit/suite.h"

#define OWN "kubevirt.io/node1-0627-0001-001002"

static struct usbdevice *stick(int64_t when)
{
	struct usbdevice *device = api_object_new(&usbdevice_kind);

	device->meta.name = xstrdup("node1-0627-0001-001002");
	device->status.resource_name = xstrdup(OWN);
	verdict_say(&device->status.conditions, "Claimable", API_TRUE, "Available", when);
	return device;
}

/* What is written of a USB device; "" for nothing. The caller frees. */
static char *plan_of_stick(const struct publish_case *question)
{
	auto_json json_t *body = NULL;

	(void)publish_plan(question, &body);
	return body ? json_map_text(body) : xstrdup("");
}

/* It is offered once the claim has its finalizer and names the device. */
static void a_usb_device_is_enabled_while_its_claim_lends_it(void **state)
{
	struct usbdevice *wanted = stick(NOW);
	struct usbdevice *seen = stick(THEN);
	struct usbdeviceclaim *claim = api_object_new(&usbdeviceclaim_kind);
	struct publish_case question = { .kind = INVENTORY_USB,
					 .wanted = wanted,
					 .seen = seen,
					 .claimed = true,
					 .usb_claim = claim };
	auto_free char *before = NULL;
	auto_free char *lent = NULL;
	auto_free char *after = NULL;

	claim->status.node_name = xstrdup("node1");
	claim->status.port_path = xstrdup("1-2");
	before = plan_of_stick(&question);
	assert_string_equal(before, "");
	json_strs_add(&claim->meta.finalizers, NAMES_FINALIZER_HARVESTER_USB);
	lent = plan_of_stick(&question);
	assert_non_null(strstr(lent, "\"enabled\":true"));
	seen->status.enabled = true;
	question.usb_claim = NULL;
	question.claimed = false;
	after = plan_of_stick(&question);
	assert_non_null(strstr(after, "\"enabled\":false"));
	api_object_free(&usbdevice_kind, wanted);
	api_object_free(&usbdevice_kind, seen);
	api_object_free(&usbdeviceclaim_kind, claim);
}

static void a_usb_device_that_a_pod_loses_is_orphaned_until_it_is_back(void **state)
{
	struct usbdevice *wanted = stick(NOW);
	struct usbdevice *seen = stick(THEN);
	struct pcidevice_allocations pods = { 0 };
	char ns[] = "default", pod[] = "vm-1", container[] = "main";
	struct publish_case question = {
		.kind = INVENTORY_USB, .seen = seen, .claimed = true, .allocations = &pods
	};
	auto_free char *free_ = plan_of_stick(&question);
	auto_free char *held = NULL;
	auto_free char *back = NULL;

	assert_null(strstr(free_, "orphaned"));
	*array_add(&pods) = (struct pcidevice_allocation){ ns, pod, container, NULL };
	held = plan_of_stick(&question);
	assert_non_null(strstr(held, "\"status\":\"orphaned\""));
	assert_non_null(strstr(held, "pod default/vm-1 had it"));
	seen->status.status = xstrdup("orphaned");
	question.wanted = wanted;
	back = plan_of_stick(&question);
	assert_true(back[0] != '\0');
	assert_null(strstr(back, "orphaned"));
	array_done(&pods);
	api_object_free(&usbdevice_kind, wanted);
	api_object_free(&usbdevice_kind, seen);
}

/* What is written when @pods (NULL: not known) have the stick; then the writing is as if it was
 * read back. */
static void assert_stick(struct publish_case *question, struct usbdevice *seen,
			 const struct pcidevice_allocations *pods, const char *wanted)
{
	auto_json json_t *body = NULL;
	auto_free char *text = NULL;

	question->allocations = pods;
	(void)publish_plan(question, &body);
	text = body ? json_map_text(body) : xstrdup("");
	if (!body || !strstr(text, wanted))
		fail_msg("no '%s' in '%s'", wanted, text);
	json_map_done(usbdevice_status_map, &seen->status);
	assert_int_equal(json_map_decode(usbdevice_status_map, json_object_get(body, "status"),
					 &seen->status, NULL),
			 0);
	json_decref(body);
	body = NULL;
	assert_int_equal(publish_plan(question, &body), PUBLISH_NOTHING);
}

static void the_holder_of_a_usb_device_is_the_pod_first(void **state)
{
	struct usbdevice *wanted = stick(NOW);
	struct usbdevice *seen = stick(THEN);
	char ns[] = "default", pod[] = "vm-1", container[] = "main", other[] = "sidecar";
	struct pcidevice_allocation items[] = { { ns, pod, container, NULL },
						{ ns, pod, other, NULL } };
	const struct pcidevice_allocations pods = { items, 2, 2 };
	const struct pcidevice_allocations none = { 0 };
	struct publish_case question = { .kind = INVENTORY_USB, .wanted = wanted, .seen = seen };

	wanted->status.holder = xstrdup("driver usb-storage");
	assert_stick(&question, seen, &none, "\"holder\":\"driver usb-storage\"");
	assert_stick(&question, seen, &pods, "\"holder\":\"pod default/vm-1, driver usb-storage\"");
	assert_string_equal(seen->status.allocations.items[1].container, "sidecar");
	question.allocations = NULL; /* the agent has just begun */
	wanted->status.holder[0] = 'D';
	assert_stick(&question, seen, NULL, "\"holder\":\"pod default/vm-1, Driver usb-storage\"");
	assert_int_equal(seen->status.allocations.len, 2);
	question.wanted = NULL;
	question.claimed = true;
	assert_stick(&question, seen, &pods, "\"holder\":\"pod default/vm-1\"");
	assert_int_equal(seen->status.allocations.len, 2);
	assert_stick(&question, seen, &none, "\"reason\":\"DeviceGone\"");
	assert_null(seen->status.holder);
	assert_int_equal(seen->status.allocations.len, 0);
	api_object_free(&usbdevice_kind, wanted);
	api_object_free(&usbdevice_kind, seen);
}

/* What is written, of a device that is published as offered by an entry of the HostDeviceConfig if
 * `seen`. */
static struct offer_case {
	const char *name;
	struct publish_offer offer;
	bool claimed;
	bool seen;
	const char *writes[2]; /* parts of it; NULL: nothing is written */
	const char *never;
} offers[] = {
	{ "an entry offers it",
	  { true, "the HostDeviceConfig", "a.io/stick", NULL, false, false, NULL },
	  .writes = { "\"resourceName\":\"a.io/stick\"",
		      "\"status\":\"True\",\"reason\":\"Offered\"" } },
	{ "that is published already",
	  { true, "the HostDeviceConfig", "a.io/stick", NULL, false, false, NULL },
	  .seen = true },
	{ "it is unhealthy",
	  { true, "the HostDeviceConfig", "a.io/stick", "its node is gone", false, false, NULL },
	  .seen = true,
	  .writes = { "\"status\":\"False\",\"reason\":\"Unhealthy\"", "its node is gone" } },
	{ "the entry is removed",
	  { true, "the HostDeviceConfig", NULL, NULL, false, false, NULL },
	  .seen = true,
	  .writes = { "\"resourceName\":\"" OWN "\"", "Available" },
	  .never = "Offered" },
	{ "an agent that begins does not know it yet",
	  { false, "the HostDeviceConfig", NULL, NULL, false, false, NULL },
	  .seen = true },
	{ "it is claimed",
	  { true, "the HostDeviceConfig", "a.io/stick", NULL, false, false, NULL },
	  .claimed = true,
	  .seen = true,
	  .writes = { "\"resourceName\":\"" OWN "\"", "Available" },
	  .never = "Offered" },
};

static void what_a_config_offers_is_published(void **state)
{
	const struct offer_case *row = suite_row(state);
	struct usbdevice *wanted = stick(NOW);
	struct usbdevice *seen = stick(THEN);
	struct publish_case question = { .kind = INVENTORY_USB,
					 .wanted = wanted,
					 .seen = seen,
					 .offer = row->offer,
					 .claimed = row->claimed };
	auto_free char *text = NULL;

	if (row->seen) {
		free(seen->status.resource_name);
		seen->status.resource_name = xstrdup("a.io/stick");
		api_conditions_set(
			&seen->status.conditions,
			&(struct api_condition_value){
				.type = "Offered",
				.status = API_TRUE,
				.reason = "Offered",
				.message = "the HostDeviceConfig offers it as a.io/stick",
			},
			NOW);
	}
	text = plan_of_stick(&question);
	if (!row->writes[0])
		assert_string_equal(text, "");
	for (size_t i = 0; i < ARRAY_LEN(row->writes) && row->writes[i]; i++) {
		if (!strstr(text, row->writes[i]))
			fail_msg("no '%s' in '%s'", row->writes[i], text);
	}
	assert_true(!row->never || !strstr(text, row->never));
	api_object_free(&usbdevice_kind, wanted);
	api_object_free(&usbdevice_kind, seen);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, offers, what_a_config_offers_is_published);

	suite_add(&suite, "a USB device is enabled while its claim lends it",
		  a_usb_device_is_enabled_while_its_claim_lends_it, NULL);
	suite_add(&suite, "a USB device that a pod loses is orphaned until it is back",
		  a_usb_device_that_a_pod_loses_is_orphaned_until_it_is_back, NULL);
	suite_add(&suite, "the holder of a USB device is the pod first",
		  the_holder_of_a_usb_device_is_the_pod_first, NULL);
	return suite_run(&suite, "publish_plan_usb");
}
