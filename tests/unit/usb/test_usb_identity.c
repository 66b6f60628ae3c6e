/* usb_identity, usb_names: which device a claim is for, and what devices are called meanwhile. */
#include "agent/usb/usb_identity.h"

#include "unit/usb/sticks.h"

#define OTHER "node1-0951-1666-001006"

static struct sight_case {
	const char *name;
	const char *plugged;
	const char *claims[2]; /* the first is read */
	const char *sees;      /* "here 1-2", ...        */
} sights[] = {
	/* clang-format off */
	{ "a claim that does not say its device yet", "1-2=5:A", { CLAIM_OF(STICK, "", "") }, "unknown" },
	{ "the device in its port", "1-2=5:A", { CLAIM(STICK, KNOWN("1-2", "A")) }, "here 1-2" },
	{ "plugged in again it has another number, and is the same", "1-2=77:A",
	  { CLAIM(STICK, KNOWN("1-2", "A")) }, "here 1-2" },
	{ "without a serial number the socket and the ids say it", "1-2=77", { CLAIM(STICK, KNOWN("1-2", "")) },
	  "here 1-2" },
	{ "an empty socket", "1-3=5:B", { CLAIM(STICK, KNOWN("1-2", "A")) }, "gone" },
	{ "another serial number in the socket is another device", "1-2=5:B",
	  { CLAIM(STICK, KNOWN("1-2", "A")) }, "different 1-2" },
	{ "a serial number where there was none is another device", "1-2=5:A",
	  { CLAIM(STICK, KNOWN("1-2", "")) }, "different 1-2" },
	{ "none where there was one is another device", "1-2=5",
	  { CLAIM(STICK, KNOWN("1-2", "A")) }, "different 1-2" },
	{ "the serial number in another socket, the old one empty: moved", "1-3=9:A",
	  { CLAIM(STICK, KNOWN("1-2", "A")) }, "moved 1-3" },
	{ "not while another device is in the old socket", "1-2=8:B 1-3=9:A",
	  { CLAIM(STICK, KNOWN("1-2", "A")) }, "different 1-2" },
	{ "two with the serial number of cheap sticks: none of them", "1-3=8:A 1-4=9:A",
	  { CLAIM(STICK, KNOWN("1-2", "A")) }, "gone ambiguous" },
	{ "two of them, but one is another claim's", "1-3=8:A 1-4=9:A",
	  { CLAIM(STICK, KNOWN("1-2", "A")), CLAIM(OTHER, KNOWN("1-4", "A")) }, "moved 1-3" },
	{ "the same ports of the same controller, whose bus has another number since the reboot", "2-2=5",
	  { CLAIM(STICK, KNOWN("1-2", "")) }, "moved 2-2" },
	{ "without a serial number other ports are another place", "1-3=5",
	  { CLAIM(STICK, KNOWN("1-2", "")) }, "gone" },
	/* clang-format on */
};

static const char *const words[] = {
	[USB_UNKNOWN] = "unknown", [USB_HERE] = "here",           [USB_MOVED] = "moved",
	[USB_GONE] = "gone",       [USB_DIFFERENT] = "different",
};

static void open_row(struct sticks *node, const char *plugged, const char *const *claims,
		     size_t len)
{
	sticks_plug_all(node, plugged);
	for (size_t i = 0; i < len && claims[i]; i++)
		sticks_claim(node, claims[i]);
	sticks_scan(node);
}

static void is_seen(void **state)
{
	const struct sight_case *row = suite_row(state);
	auto_str struct str said = STR_INIT;
	struct usb_sighting seen;
	struct sticks *node = *state;

	open_row(node, row->plugged, row->claims, ARRAY_LEN(row->claims));
	seen = usb_identity_find(store_object(node->claims, STICK), node->world.inventory,
				 node->claims);
	str_add(&said, words[seen.sight]);
	if (seen.device)
		str_addf(&said, " %s", seen.device->status.port_path);
	if (seen.ambiguous)
		str_add(&said, " ambiguous");
	assert_string_equal(str_cstr(&said), row->sees);
}

static struct name_case {
	const char *name;
	const char *plugged;
	const char *claims[2];
	const char *names; /* "PORT:NAME ..." */
} names[] = {
	/* clang-format off */
	{ "nobody claims it: the name says its numbers", "1-2=5:A", { NULL }, "1-2:" STICK },
	{ "claimed, with other numbers: the claim's name", "1-2=77:A", { CLAIM(STICK, KNOWN("1-2", "A")) },
	  "1-2:" STICK },
	{ "another device in the socket does not get the claim's name", "1-2=77:B",
	  { CLAIM(STICK, KNOWN("1-2", "A")) }, "1-2:node1-0951-1666-001077" },
	{ "nor one that has the numbers by chance", "1-2=77:A 1-3=5:B", { CLAIM(STICK, KNOWN("1-2", "A")) },
	  "1-2:" STICK " 1-3:" STICK "-1-3" },
	{ "nor while the claimed one is away", "1-3.1=5:B", { CLAIM(STICK, KNOWN("1-2", "A")) },
	  "1-3.1:" STICK "-1-3.1" },
	{ "a claim that does not say its device takes no name", "1-2=5:A", { CLAIM_OF(STICK, "", "") }, "1-2:" STICK },
	{ "a claim of another node counts for nothing", "1-2=77:A",
	  { CLAIM(STICK, "'nodeName':'node2','portPath':'1-2','vendorID':'0951','productID':'1666','serialNumber':'A'") },
	  "1-2:node1-0951-1666-001077" },
	{ "a claim that waits for its device keeps the name, too", "1-2=77:A",
	  { CLAIM_OF(STICK, "", KNOWN("1-2", "A")) }, "1-2:" STICK },
	{ "but who has the device comes before who waits for it", "1-2=77:A",
	  { CLAIM_OF(STICK, "", KNOWN("1-2", "A")), CLAIM(OTHER, KNOWN("1-2", "A")) }, "1-2:" OTHER },
	{ "two claimed devices that changed places in the order", "1-2=6:A 1-3=5:B",
	  { CLAIM(STICK, KNOWN("1-2", "A")), CLAIM(OTHER, KNOWN("1-3", "B")) }, "1-2:" STICK " 1-3:" OTHER },
	/* clang-format on */
};

static void is_named(void **state)
{
	const struct name_case *row = suite_row(state);
	const struct inventory_set *set;
	auto_str struct str said = STR_INIT;
	struct sticks *node = *state;

	open_row(node, row->plugged, row->claims, ARRAY_LEN(row->claims));
	set = &node->world.inventory->sets[INVENTORY_USB];
	for (size_t i = 0; i < set->len; i++) {
		const struct usbdevice *device = set->objects[i];
		auto_free char *resource = xasprintf("kubevirt.io/%s", device->meta.name);

		str_addf(&said, "%s%s:%s", i ? " " : "", device->status.port_path,
			 device->meta.name);
		assert_string_equal(device->status.resource_name, resource);
		assert_ptr_equal(
			inventory_find(node->world.inventory, INVENTORY_USB, device->meta.name),
			device);
	}
	assert_string_equal(str_cstr(&said), row->names);
	assert_false(usb_names_apply(node->world.inventory, node->claims, "node1"));
}

/* A claim that goes gives the name back. */
static void a_name_goes_with_its_claim(void **state)
{
	static const char *const claims[] = { CLAIM(STICK, KNOWN("1-2", "A")) };
	struct sticks *node = *state;

	open_row(node, "1-2=77:A", claims, 1);
	store_remove(node->claims, STICK, NULL, object_ignore_change, NULL);
	assert_true(usb_names_apply(node->world.inventory, node->claims, "node1"));
	assert_null(inventory_find(node->world.inventory, INVENTORY_USB, STICK));
	assert_non_null(
		inventory_find(node->world.inventory, INVENTORY_USB, "node1-0951-1666-001077"));
}

static struct ours_case {
	const char *name;
	const char *node, *object;
	bool is;
} ours[] = {
	/* clang-format off */
	{ "a name of this node", "node1", STICK, true },
	{ "with the socket at its end, too", "node1", STICK "-1-2.3", true },
	{ "another node's", "node2", STICK, false },
	{ "a node whose name is the start of another's", "node", STICK, false },
	{ "of ids that are none", "node1", "node1-0951-16g6-001005", false },
	{ "a PCI device's", "node1", "node1-000001000", false },
	{ "of nothing", "node1", "", false },
	{ "of dashes", "node1", "-----", false },
	/* clang-format on */
};

static void is_ours(void **state)
{
	const struct ours_case *row = *state;

	assert_int_equal(usb_names_of_node(row->node, row->object), row->is);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, ours, is_ours);
	suite_fixture(&suite, &sticks_fixture);
	suite_rows(&suite, sights, is_seen);
	suite_rows(&suite, names, is_named);
	suite_add(&suite, "a name goes with its claim", a_name_goes_with_its_claim, NULL);
	return suite_run(&suite, "usb_identity");
}
