#include "unit/suite.h"

#include <errno.h>

#include "cli/client/find.h"
#include "cli/model/address.h"
#include "unit/cli/made.h"

static struct find_case {
	const char *name;
	const char *word;
	const char *device; /* NULL: an error */
	int code;
	const char *why;
} words[] = {
	{ "a name", "vm1-000003000", "vm1-000003000", 0, "" },
	{ "a name behind its kind, as -o name prints it",
	  "pcidevice.devices.harvesterhci.io/vm1-000003000", "vm1-000003000", 0, "" },
	{ "a name behind its kind, as people write it", "pcidevices/vm1-000003000", "vm1-000003000",
	  0, "" },
	{ "the name of a claim without a device",
	  "pcideviceclaim.devices.harvesterhci.io/vm2-000009000", "vm2-000009000", 0, "" },
	{ "the name of a card's other object", "vm1-eth3", "vm1-000003000", 0, "" },
	{ "node and address", "vm2/0000:03:00.0", "vm2-000003000", 0, "" },
	{ "node and address without domain", "vm2/03:00.0", "vm2-000003000", 0, "" },
	{ "node and address in capitals", "vm1/0000:00:1F.0", "vm1-0000001f0", 0, "" },
	{ "node and USB port", "vm1/1-2.3", "vm1-0951-1666-001005", 0, "" },
	{ "an address that one node alone has", "03:00.1", "vm1-000003001", 0, "" },
	{ "a mediated device's UUID", "11111111-2222-3333-4444-555555555555",
	  "vm1-11111111-2222-3333-4444-555555555555", 0, "" },
	{ "an address that two nodes have lists both", "0000:03:00.0", NULL, -ENOTUNIQ,
	  "'0000:03:00.0' matches 2 devices; use the name or NODE/ADDRESS of one:\n"
	  "  vm1-000003000  (vm1/0000:03:00.0)\n"
	  "  vm2-000003000  (vm2/0000:03:00.0)" },
	{ "a name behind another kind", "usbdevice/vm1-000003000", NULL, -EINVAL,
	  "'vm1-000003000' is a PCI device, and 'usbdevice/vm1-000003000' means another kind: leave "
	  "the kind out" },
	{ "a name behind the kind of other claims", "pcideviceclaims/vm1-0951-1666-001005", NULL,
	  -EINVAL,
	  "'vm1-0951-1666-001005' is a USB device, and 'pcideviceclaims/vm1-0951-1666-001005' means "
	  "another kind: leave the kind out" },
	{ "a name behind its own kind", "usbdevices/vm1-0951-1666-001005", "vm1-0951-1666-001005",
	  0, "" },
	{ "a name behind the kind of a card", "sriovnetworkdevice/vm1-000003000", "vm1-000003000",
	  0, "" },
	{ "a name that is none", "vm3-000003000", NULL, -ENOENT,
	  "no device 'vm3-000003000' is listed: kubectl hostdev tree shows which are" },
	{ "an address of another node", "vm2/0000:00:02.0", NULL, -ENOENT,
	  "no device 'vm2/0000:00:02.0' is listed: kubectl hostdev tree shows which are" },
	{ "the beginning of a name is none", "vm1-00000", NULL, -ENOENT,
	  "no device 'vm1-00000' is listed: kubectl hostdev tree shows which are" },
	{ "control characters do not get through", "a\033[2Jb", NULL, -ENOENT,
	  "no device 'a\\x1b[2Jb' is listed: kubectl hostdev tree shows which are" },
	{ "an empty word is none", "", NULL, -ENOENT,
	  "no device '' is listed: kubectl hostdev tree shows which are" },
};

/* A claim without a spec has no address: a script's empty variable must not match it. */
static void nothing_means_nothing(void **state)
{
	assert_false(address_means("", ""));
	assert_false(address_means("", "0000:03:00.0"));
	assert_false(address_means("0000:03:00.0", ""));
	assert_true(address_means("03:00.0", "0000:03:00.0"));
}

static void a_node_may_be_called_node(void **state)
{
	assert_int_equal(find_node_len("node/03:00.1"), 4);
	assert_int_equal(find_node_len("pcidevice/n-1"), 0);
	assert_string_equal(find_node_part("node"), "node");
	assert_string_equal(find_node_part("node/vm1"), "vm1");
	assert_string_equal(find_node_part("Nodes/vm1"), "vm1");
	assert_string_equal(find_node_part("node/"), "");
}

static void word_means_device(void **state)
{
	const struct find_case *c = suite_row(state);
	struct cluster *cluster = *state;
	auto_str struct str why = STR_INIT;
	struct cluster_device *device = NULL;

	assert_int_equal(find_device(cluster, c->word, &device, &why), c->code);
	assert_string_equal(str_cstr(&why), c->why);
	if (c->device)
		assert_string_equal(device->name, c->device);
	else
		assert_null(device);
}

static void a_bridge_is_told_from_a_word_that_means_nothing(void **state)
{
	static const struct {
		const char *word;
		const char *why;
		int code;
	} bridges[] = {
		{ "00:1c.0",
		  "'00:1c.0' is a bridge and cannot be claimed; a device behind it is vm1-000009000",
		  -EINVAL },
		{ "vm1/0000:00:1c.0",
		  "'vm1/0000:00:1c.0' is a bridge and cannot be claimed; a device behind it is vm1-000009000",
		  -EINVAL },
		{ "vm2/0000:00:1c.0",
		  "no device 'vm2/0000:00:1c.0' is listed: kubectl hostdev tree shows which are",
		  -ENOENT },
		{ "00:1d.0", "no device '00:1d.0' is listed: kubectl hostdev tree shows which are",
		  -ENOENT },
	};
	struct cluster *cluster = *state;

	made_put(cluster, CLUSTER_PCIDEVICE,
		 MADE_PCI("vm1-000009000", "vm1", "0000:09:00.0", "'bridges':['0000:00:1c.0']"));
	for (size_t i = 0; i < ARRAY_LEN(bridges); i++) {
		auto_str struct str why = STR_INIT;
		struct cluster_device *device = NULL;

		assert_int_equal(find_device(cluster, bridges[i].word, &device, &why),
				 bridges[i].code);
		assert_string_equal(str_cstr(&why), bridges[i].why);
		assert_null(device);
	}
}

static void many_candidates_are_cut(void **state)
{
	struct cluster *cluster = cluster_new();
	struct cluster_device *device = NULL;
	auto_str struct str why = STR_INIT;
	size_t lines = 0;

	for (int i = 0; i < 100; i++) {
		auto_free char *json =
			xasprintf(MADE_PCI("n%d-1", "n%d", "0000:01:00.0", "'x':1"), i, i);

		made_put(cluster, CLUSTER_PCIDEVICE, json);
	}
	assert_int_equal(find_device(cluster, "01:00.0", &device, &why), -ENOTUNIQ);
	for (const char *c = str_cstr(&why); *c; c++)
		lines += *c == '\n';
	assert_int_equal(lines, FIND_LISTED + 1);
	assert_non_null(strstr(why.buf, "matches 100 devices"));
	cluster_free(cluster);
}

static struct order_case {
	const char *name;
	const char *less;
	const char *more;
} orders[] = {
	{ "PCI addresses", "0000:00:1f.7", "0000:01:00.0" },
	{ "hexadecimal ones", "0000:09:00.0", "0000:0a:00.0" },
	{ "longer domains come later", "ffff:00:00.0", "10000:00:00.0" },
	{ "USB ports by number", "1-2", "1-10" },
	{ "what is behind a port comes after it", "1-2", "1-2.1" },
	{ "nothing comes first", "", "0000:00:00.0" },
};

static void order_holds(void **state)
{
	const struct order_case *c = *state;

	assert_true(address_compare(c->less, c->more) < 0);
	assert_true(address_compare(c->more, c->less) > 0);
	assert_int_equal(address_compare(c->less, c->less), 0);
}

static void pci_addresses_are_told(void **state)
{
	static const char *const good[] = { "0000:04:00.0", "04:00.7", "10000:e1:1f.0" };
	static const char *const bad[] = { "",          "04:00",         "04:00.8",     "1-2.3",
					   "0:04:00.0", "0000:04:00.0x", "0000:04:00.", "vm1" };

	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		assert_true(address_is_pci(good[i]));
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(address_is_pci(bad[i]));
	assert_int_equal(address_bus_len("0000:04:00.0"), 7);
	assert_int_equal(address_bus_len("10000:e1:1f.0"), 8);
	assert_int_equal(address_bus_len("04:00.0"), 0);
	assert_int_equal(address_bus_len("1-2.3"), 0);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, orders, order_holds);
	suite_add(&suite, "a node may be called node", a_node_may_be_called_node, NULL);
	suite_add(&suite, "nothing means nothing", nothing_means_nothing, NULL);
	suite_add(&suite, "many candidates are cut", many_candidates_are_cut, NULL);
	suite_add(&suite, "PCI addresses are told from others", pci_addresses_are_told, NULL);
	suite_fixture(&suite, &cluster_fixture);
	suite_rows(&suite, words, word_means_device);
	suite_add(&suite, "a bridge is told from a word that means nothing",
		  a_bridge_is_told_from_a_word_that_means_nothing, NULL);
	return suite_run(&suite, "find");
}
