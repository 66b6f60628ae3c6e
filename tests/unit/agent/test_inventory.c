/* inventory: which devices are listed, in which order, under which names. */
#include "agent/inventory/inventory.h"

#include "api/meta.h"
#include "api/pcidevice.h"
#include "base/str.h"
#include "unit/agent/world.h"

static const char *const lines[] = {
	"{\"kind\":\"pci\",\"address\":\"0000:02:00.0\",\"class\":\"020000\"}",
	"{\"kind\":\"pci\",\"address\":\"0000:00:1c.0\",\"class\":\"060400\"}",
	"{\"kind\":\"pci\",\"address\":\"0000:00:00.0\",\"class\":\"060000\"}",
	"{\"kind\":\"usb\",\"name\":\"1-0\",\"bus\":1,\"device\":1,\"hub\":true}",
	"{\"kind\":\"usb\",\"name\":\"1-1\",\"bus\":1,\"device\":2}",
};

static struct listed_case {
	const char *name;
	struct inventory_options options;
	const char *pci;
	const char *usb;
} listed[] = {
	{ "bridges to other buses and hubs are left out, in the order of the scan",
	  { .node_name = "n" },
	  " n-000002000 n-000000000",
	  " n-0000-0000-001002" },
	{ "bridges are listed where asked for",
	  { .node_name = "n", .show_bridges = true },
	  " n-000002000 n-0000001c0 n-000000000",
	  " n-0000-0000-001002" },
	{ "hubs are listed where asked for",
	  { .node_name = "n", .show_hubs = true },
	  " n-000002000 n-000000000",
	  " n-0000-0000-001001 n-0000-0000-001002" },
};

static void names_are(const struct inventory_set *set, const char *should)
{
	auto_str struct str names = STR_INIT;

	for (size_t i = 0; i < set->len; i++)
		str_addf(&names, " %s", ((const struct api_meta *)set->objects[i])->name);
	assert_string_equal(str_cstr(&names), should);
}

static void devices_are_listed(void **state)
{
	const struct listed_case *c = suite_row(state);
	struct world *world = *state;

	world_open(world);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		world_add(world, lines[i]);
	world_look(world, &c->options);
	names_are(&world->inventory->sets[INVENTORY_PCI], c->pci);
	names_are(&world->inventory->sets[INVENTORY_USB], c->usb);
}

static void objects_are_found_by_name_and_kind(void **state)
{
	struct world *world = *state;
	const struct inventory *inventory;

	world_of(world, lines, ARRAY_LEN(lines));
	inventory = world->inventory;
	assert_ptr_equal(inventory_find(inventory, INVENTORY_PCI, "node1-000002000"),
			 inventory->sets[INVENTORY_PCI].objects[0]);
	assert_ptr_equal(inventory_find(inventory, INVENTORY_USB, "node1-0000-0000-001002"),
			 inventory->sets[INVENTORY_USB].objects[0]);
	assert_null(inventory_find(inventory, INVENTORY_USB, "node1-000002000"));
	assert_null(inventory_find(inventory, INVENTORY_PCI, "node1"));
}

/* Two devices that lost their numbers have one name; two objects of one name cannot be. */
static void of_two_with_one_name_the_first_counts(void **state)
{
	static const char *const twins[] = {
		"{\"kind\":\"pci\",\"address\":\"0000:01:00.0\",\"vendor\":\"0001\"}",
		"{\"kind\":\"pci\",\"address\":\"0000:01:00.0\",\"vendor\":\"0002\"}",
	};
	struct world *world = *state;
	const struct pcidevice *device;

	world_of(world, twins, ARRAY_LEN(twins));
	assert_int_equal(world->inventory->sets[INVENTORY_PCI].len, 1);
	device = inventory_find(world->inventory, INVENTORY_PCI, "node1-000001000");
	assert_string_equal(device->status.vendor_id, "0001");
}

static void a_machine_without_devices_has_none(void **state)
{
	struct world *world = *state;

	world_of(world, NULL, 0);
	assert_int_equal(world->inventory->sets[INVENTORY_PCI].len, 0);
	assert_int_equal(world->inventory->sets[INVENTORY_USB].len, 0);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &world_fixture);
	suite_rows(&suite, listed, devices_are_listed);
	suite_add(&suite, "objects are found by kind and name", objects_are_found_by_name_and_kind,
		  NULL);
	suite_add(&suite, "of two devices with one name the first counts",
		  of_two_with_one_name_the_first_counts, NULL);
	suite_add(&suite, "a machine without devices has an inventory of none",
		  a_machine_without_devices_has_none, NULL);
	return suite_run(&suite, "inventory");
}
