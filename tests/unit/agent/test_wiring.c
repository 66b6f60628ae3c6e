/* wiring: who is enqueued for which change, and with which keys. The parts are made up: they write
 * down what they are asked. */
#include "agent/wiring.h"

#include <string.h>

#include "agent/claim/claims.h"
#include "agent/gpu/gpus.h"
#include "agent/inventory/inventory.h"
#include "agent/mdev/mdevs.h"
#include "agent/monitor/monitor.h"
#include "agent/nvidia/nvidia.h"
#include "agent/publish/publish.h"
#include "agent/resource/offers.h"
#include "agent/sriov/sriov.h"
#include "agent/usb/usb.h"
#include "api/json_values.h"
#include "api/usbdeviceclaim.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/store.h"
#include "unit/suite.h"

#define KEY "node1-000061000"

static struct json_strs asked; /* in the order of the alphabet when it is compared */

/* A part is one of these; which one it is, is its address. */
static char parts[9];

static const struct wiring wiring = {
	.node_name = "node1",
	.publish = (struct publish *)&parts[0],
	.claims = (struct claims *)&parts[1],
	.usb = (struct usb *)&parts[2],
	.sriov = (struct sriov *)&parts[3],
	.gpus = (struct gpus *)&parts[4],
	.mdevs = (struct mdevs *)&parts[5],
	.offers = (struct offers *)&parts[6],
	.monitor = (struct monitor *)&parts[7],
	.nvidia = (struct nvidia *)&parts[8],
};

static void ask(const void *part, const void *wanted, const char *what, const char *key)
{
	auto_free char *text = key ? xasprintf("%s %s", what, key) : xstrdup(what);

	assert_ptr_equal(part, wanted);
	json_strs_add(&asked, text);
}

/* "pci KEY" */
static void ask_kind(const struct publish *publish, const char *what, enum inventory_kind kind,
		     const char *key)
{
	static const char *const kinds[] = { "pci", "usb", "mdev", "parent" };
	auto_free char *text = xasprintf("%s %s", kinds[kind], key);

	ask(publish, wiring.publish, what, text);
}

void publish_changed(struct publish *publish, enum inventory_kind kind, const char *name)
{
	ask_kind(publish, "publish own", kind, name);
}

void publish_enqueue(struct publish *publish, enum inventory_kind kind, const char *name)
{
	ask_kind(publish, "publish", kind, name);
}

void publish_enqueue_all(struct publish *publish)
{
	ask(publish, wiring.publish, "publish", NULL);
}

void claims_enqueue(struct claims *claims, const char *name)
{
	ask(claims, wiring.claims, "claims", name);
}

void claims_enqueue_all(struct claims *claims)
{
	ask(claims, wiring.claims, "claims", NULL);
}

void usb_enqueue(struct usb *usb, const char *name)
{
	ask(usb, wiring.usb, "usb", name);
}

void usb_enqueue_all(struct usb *usb)
{
	ask(usb, wiring.usb, "usb", NULL);
}

void usb_rename(struct usb *usb)
{
	ask(usb, wiring.usb, "usb names", NULL);
}

void sriov_enqueue_all(struct sriov *sriov)
{
	ask(sriov, wiring.sriov, "sriov", NULL);
}

void gpus_enqueue_device(struct gpus *gpus, const char *name)
{
	ask(gpus, wiring.gpus, "gpus", name);
}

void gpus_enqueue_all(struct gpus *gpus)
{
	ask(gpus, wiring.gpus, "gpus", NULL);
}

void mdevs_enqueue_all(struct mdevs *mdevs)
{
	ask(mdevs, wiring.mdevs, "mdevs", NULL);
}

void mdevs_plan(struct mdevs *mdevs)
{
	ask(mdevs, wiring.mdevs, "mdevs now", NULL);
}

void nvidia_find_gpus(struct nvidia *nvidia)
{
	ask(nvidia, wiring.nvidia, "nvidia", NULL);
}

void nvidia_pods_changed(struct nvidia *nvidia)
{
	ask(nvidia, wiring.nvidia, "nvidia pods", NULL);
}

void offers_update(struct offers *offers)
{
	ask(offers, wiring.offers, "offers now", NULL);
}

void offers_update_soon(struct offers *offers)
{
	ask(offers, wiring.offers, "offers", NULL);
}

void monitor_scan_again(struct monitor *monitor)
{
	ask(monitor, wiring.monitor, "scan", NULL);
}

/* What was asked since the last call is @wanted: "claims KEY, offers". */
static void assert_asked(const char *wanted)
{
	auto_str struct str text = STR_INIT;

	json_strs_sort(&asked);
	for (size_t i = 0; i < asked.len; i++)
		str_addf(&text, "%s%s", i ? ", " : "", asked.items[i]);
	json_strs_done(&asked);
	assert_string_equal(str_cstr(&text), wanted);
}

static struct change_case {
	const char *name;
	enum change change;
	const char *key;
	const char *asked; /* sorted */
} changes[] = {
	{ "a PCIDevice", CHANGE_PCIDEVICE, KEY,
	  "claims " KEY ", gpus " KEY ", offers, publish own pci " KEY ", sriov" },
	{ "a USBDevice", CHANGE_USBDEVICE, "node1-1-2",
	  "publish own usb node1-1-2, usb node1-1-2" },
	{ "a MediatedDevice", CHANGE_MEDIATEDDEVICE, "node1-m", "publish own mdev node1-m" },
	{ "a parent of mediated devices", CHANGE_MEDIATEDDEVICEPARENT, "node1-p",
	  "publish own parent node1-p" },
	{ "a PCIDeviceClaim", CHANGE_PCIDEVICECLAIM, KEY,
	  "claims " KEY ", gpus " KEY ", nvidia, offers, publish pci " KEY ", sriov" },
	{ "a PCIDeviceClaim is created or deleted", CHANGE_PCIDEVICECLAIM_EXISTS, NULL, "usb" },
	{ "a USBDeviceClaim", CHANGE_USBDEVICECLAIM, "node1-1-2",
	  "publish usb node1-1-2, usb node1-1-2" },
	{ "claims of devices on a controller", CHANGE_USB_CONTROLLER, KEY, "claims " KEY },
	{ "a list of PCIDevices or their claims", CHANGE_PCI_LIST, NULL,
	  "claims, gpus, nvidia, offers, publish, sriov, usb" },
	{ "a list of USBDevices or their claims", CHANGE_USB_LIST, NULL,
	  "claims, offers, publish, usb, usb names" },
	{ "a list of mediated devices or their parents", CHANGE_MDEV_LIST, NULL,
	  "offers, publish, usb" },
	{ "an inventory", CHANGE_INVENTORY, NULL,
	  "claims, gpus, mdevs now, nvidia, offers now, publish, sriov, usb" },
	{ "the HostDeviceConfig", CHANGE_CONFIG, NULL, "offers, publish" },
	{ "a uevent", CHANGE_UEVENT, NULL, "offers" },
	{ "the end of a task", CHANGE_TASK, NULL, "scan" },
	{ "the Node's allocatable", CHANGE_ALLOCATABLE, NULL, "usb" },
	{ "who has a PCI device", CHANGE_ALLOCATION, KEY,
	  "claims " KEY ", gpus, mdevs, offers, publish pci " KEY ", sriov, usb" },
	{ "who has any device", CHANGE_ALLOCATIONS, NULL,
	  "claims, gpus, mdevs, nvidia pods, offers, publish, sriov, usb" },
	{ "whether a device is offered", CHANGE_OFFERED, KEY, "claims " KEY },
	{ "names of USB devices", CHANGE_USB_NAMES, NULL, "publish" },
	{ "selected USB devices", CHANGE_USB_SELECTED, NULL, "publish" },
	{ "the status of mediated devices", CHANGE_MDEV_STATUS, NULL, "publish" },
	{ "resources of vGPUs", CHANGE_VGPU_RESOURCES, NULL, "offers, publish" },
	{ "generic devices", CHANGE_GENERIC_DEVICES, NULL, "offers" },
	{ "GPUs for containers", CHANGE_CONTAINER_GPUS, NULL, "claims, offers, publish" },
	{ "functions of a network card", CHANGE_NIC_FUNCTIONS, NULL, "claims" },
	{ "the network card of a function", CHANGE_PARENT_NIC, KEY, "publish pci " KEY },
};

static void a_change_enqueues_what_it_concerns(void **state)
{
	const struct change_case *c = suite_row(state);

	wiring_changed(&wiring, c->change, c->key);
	assert_asked(c->asked);
}

static void every_change_has_a_row(void **state)
{
	bool has[CHANGES] = { false };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(changes); i++)
		has[changes[i].change] = true;
	for (int i = 0; i < CHANGES; i++)
		assert_true(has[i]);
}

/* --- what follows from a change of an object -------------------------------------------------- */

static void a_new_or_deleted_pci_claim_concerns_usb_claims(void **state)
{
	const struct entry entry = { 0 };

	(void)state;
	wiring_object(&wiring, CHANGE_PCIDEVICECLAIM, KEY, &entry, &entry);
	assert_asked("claims " KEY ", gpus " KEY ", nvidia, offers, publish pci " KEY ", sriov");
	wiring_object(&wiring, CHANGE_PCIDEVICECLAIM, KEY, NULL, &entry);
	assert_asked("claims " KEY ", gpus " KEY ", nvidia, offers, publish pci " KEY
		     ", sriov, usb");
	wiring_object(&wiring, CHANGE_PCIDEVICECLAIM, KEY, &entry, NULL);
	assert_asked("claims " KEY ", gpus " KEY ", nvidia, offers, publish pci " KEY
		     ", sriov, usb");
	wiring_object(&wiring, CHANGE_PCIDEVICE, KEY, NULL, &entry);
	assert_asked("claims " KEY ", gpus " KEY ", offers, publish own pci " KEY ", sriov");
}

static struct controller_case {
	const char *name;
	const char *node;           /* of both claims                      */
	const char *before, *after; /* PCI addresses; NULL: there is none  */
	const char *asked;
} controllers[] = {
	{ "a claim that has no device yet", "node1", NULL, NULL, "publish usb c, usb c" },
	{ "a claim that gets one", "node1", NULL, "0000:61:00.0",
	  "claims " KEY ", publish usb c, usb c" },
	{ "a claim whose device moved to another controller", "node1", "0000:61:00.0",
	  "0000:62:00.0", "claims node1-000061000, claims node1-000062000, publish usb c, usb c" },
	{ "a claim of another node", "node2", "0000:61:00.0", "0000:62:00.0",
	  "publish usb c, usb c" },
};

static void usb_claims_concern_the_claim_of_their_controller(void **state)
{
	const struct controller_case *c = suite_row(state);
	auto_free char *node = xstrdup(c->node);
	auto_free char *old = xstrdup_or_null(c->before);
	auto_free char *new = xstrdup_or_null(c->after);
	struct usbdeviceclaim before = { .status = { .node_name = node, .pci_address = old } };
	struct usbdeviceclaim after = { .status = { .node_name = node, .pci_address = new } };
	const struct entry was = { .object = &before };
	const struct entry is = { .object = &after };

	wiring_object(&wiring, CHANGE_USBDEVICECLAIM, "c", &was, &is);
	assert_asked(c->asked);
}

static void a_claim_that_cannot_be_read_concerns_no_controller(void **state)
{
	const struct entry entry = { 0 };

	(void)state;
	wiring_object(&wiring, CHANGE_USBDEVICECLAIM, "c", NULL, &entry);
	assert_asked("publish usb c, usb c");
	wiring_object(&wiring, CHANGE_USBDEVICECLAIM, "c", &entry, NULL);
	assert_asked("publish usb c, usb c");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, changes, a_change_enqueues_what_it_concerns);
	suite_add(&suite, "every change has a row", every_change_has_a_row, NULL);
	suite_add(&suite, "a new or deleted PCIDeviceClaim concerns USB claims",
		  a_new_or_deleted_pci_claim_concerns_usb_claims, NULL);
	suite_rows(&suite, controllers, usb_claims_concern_the_claim_of_their_controller);
	suite_add(&suite, "a claim that cannot be read concerns no controller",
		  a_claim_that_cannot_be_read_concerns_no_controller, NULL);
	return suite_run(&suite, "wiring");
}
