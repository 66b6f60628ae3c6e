#include "api/names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "unit/suite.h"

#define X10  "xxxxxxxxxx"
#define X50  X10 X10 X10 X10 X10
#define X63  X50 X10 "xxx"
#define X250 X50 X50 X50 X50 X50
#define LONG X50 X50 X50 X50 X10 X10 X10 X10 /* 240 */

static struct pci_case {
	const char *name;
	const char *node;
	const char *address;
	const char *want;
} pcis[] = {
	{ "a PCI device as Harvester names it", "janus", "0000:04:00.0", "janus-000004000" },
	{ "a node name with dots stays as it is", "node1.ez.local", "0000:04:00.1",
	  "node1.ez.local-000004001" },
	{ "a domain of five digits makes a longer name", "n", "10000:e1:00.0", "n-10000e1000" },
	{ "hexadecimal digits come out in lower case", "n", "0000:AF:1F.7", "n-0000af1f7" },
	{ "a node name in upper case is lowered", "Node1", "0000:04:00.0", "node1-000004000" },
	{ "a node name that just fits stays", X50 X50 X50 X50 X10 X10 X10 X10 "abc", "0000:04:00.0",
	  X50 X50 X50 X50 X10 X10 X10 X10 "abc-000004000" },
	{ "a node name one too long is cut and hashed", X50 X50 X50 X50 X10 X10 X10 X10 "abcd",
	  "0000:04:00.0", X50 X50 X50 X50 X10 X10 "xxxxxx-e6c677301db8469d-000004000" },
	{ "a cut never ends in a dot", X50 X50 X50 X50 X10 X10 "xxxxx.yyyyyyyyyyyyyyyyyyyyyyy",
	  "0000:04:00.0", X50 X50 X50 X50 X10 X10 "xxxxx-948ce65cbaf3b7b8-000004000" },
	{ "what is no node name becomes one", "my node_1", "0000:04:00.0",
	  "my-node-1-e592ee61de7a02a1-000004000" },
	{ "no node name at all still makes a name", "", "0000:04:00.0",
	  "cbf29ce484222325-000004000" },
	{ "an address of other bytes leaves what it can", "n", "../\xff:Z", "n-z" },
	{ "no address at all still makes a name", "n", "", "n-0" },
};

static void pci_names_match(void **state)
{
	const struct pci_case *c = *state;
	auto_free char *name = names_pcidevice(c->node, c->address);

	assert_string_equal(name, c->want);
	assert_true(names_valid_object(name));
}

static struct dra_case {
	const char *name;
	const char *type;
	const char *id;
	const char *want; /* NULL: none */
} dra_devices[] = {
	{ "a PCI function in DRA", "pci", "0000:3b:00.0", "pci-0000-3b-00-0" },
	{ "a USB port in DRA", "usb", "1-2.3", "usb-1-2-3" },
	{ "a mediated device in DRA", "mdev", "0F8FAD5B-d9cb-469f-a165-70867728950e",
	  "mdev-0f8fad5b-d9cb-469f-a165-70867728950e" },
	{ "an ID of 59 bytes in DRA", "pci", X50 "xxxxxxxxx", "pci-" X50 "xxxxxxxxx" },
	{ "an ID of 60 bytes in DRA", "pci", X50 X10, NULL },
	{ "an ID in DRA that ends in no letter", "usb", "1-2.", NULL },
	{ "no ID in DRA", "usb", "", NULL },
};

static void dra_names_match(void **state)
{
	const struct dra_case *c = *state;
	auto_free char *name = names_dra_device(c->type, c->id);

	if (c->want)
		assert_string_equal(name, c->want);
	else
		assert_null(name);
}

static struct address_case {
	const char *name;
	const char *node;
	const char *object;
	const char *want; /* NULL: none */
} addresses[] = {
	{ "a name tells its address", "janus", "janus-000004000", "0000:04:00.0" },
	{ "each digit has its place", "n", "n-1234ab1c7", "1234:ab:1c.7" },
	{ "a domain of five digits", "n", "n-10000e1000", "10000:e1:00.0" },
	{ "a domain of six digits", "n", "n-abcdef01021", "abcdef:01:02.1" },
	{ "a domain of seven digits", "n", "n-1234567ff1f7", "1234567:ff:1f.7" },
	{ "a domain of eight digits", "n", "n-fedcba9801021", "fedcba98:01:02.1" },
	{ "a domain of nine digits is none", "n", "n-fedcba98701021", NULL },
	{ "a domain of three digits is none", "n", "n-00004000", NULL },
	{ "a node name with dots and dashes", "node-1.ez-a.local", "node-1.ez-a.local-000004001",
	  "0000:04:00.1" },
	{ "a node name that looks like an address", "000004000", "000004000-000005000",
	  "0000:05:00.0" },
	{ "a node name in upper case", "Node1", "node1-000004000", "0000:04:00.0" },
	{ "a node name that just fits", LONG "abc", LONG "abc-000004000", "0000:04:00.0" },
	{ "a node name that is cut and hashed", LONG "abcd",
	  X50 X50 X50 X50 X10 X10 "xxxxxx-e6c677301db8469d-000004000", "0000:04:00.0" },
	{ "another long one is cut alike and hashed differently", LONG "abce",
	  X50 X50 X50 X50 X10 X10 "xxxxxx-e6c677301db8469d-000004000", NULL },
	{ "a longer address leaves a long node name less room", LONG "abc", LONG "abc-10000e1000",
	  NULL },
	{ "another node's", "node2", "node1-000004000", NULL },
	{ "another node's, whose name begins with this one's", "node", "node1-000004000", NULL },
	{ "another node's, whose name goes on after a dash", "node", "node-1-000004000", NULL },
	{ "another node's, with whose name this one's begins", "node-1", "node-000004000", NULL },
	{ "an address alone", "n", "000004000", NULL },
	{ "an address and a dash", "n", "-000004000", NULL },
	{ "a node alone", "n", "n-", NULL },
	{ "nothing", "n", "", NULL },
	{ "a function of eight", "n", "n-000004008", NULL },
	{ "a function that is a letter", "n", "n-00000400a", NULL },
	{ "a device of thirty-two", "n", "n-000004200", NULL },
	{ "digits in upper case", "n", "n-0000AF000", NULL },
	{ "a letter that is no digit", "n", "n-00000400g", NULL },
	{ "a USB device's name", "n", "n-0951-1666-001002", NULL },
};

static void addresses_match(void **state)
{
	const struct address_case *c = *state;
	char address[NAMES_ADDRESS_SIZE] = "untouched";
	auto_free char *again = NULL;

	if (!c->want) {
		assert_int_equal(names_pcidevice_address(c->node, c->object, address), -EINVAL);
		assert_string_equal(address, "untouched");
		return;
	}
	assert_int_equal(names_pcidevice_address(c->node, c->object, address), 0);
	assert_string_equal(address, c->want);
	again = names_pcidevice(c->node, address);
	assert_string_equal(again, c->object);
}

static void usb_names_match(void **state)
{
	auto_free char *name = names_usbdevice("node1", 0x951, 0x1666, 1, 2);
	auto_free char *large = names_usbdevice("node1", 0xffff, 0, 999, 127);

	assert_string_equal(name, "node1-0951-1666-001002");
	assert_string_equal(large, "node1-ffff-0000-999127");
}

static void mdev_names_match(void **state)
{
	auto_free char *name =
		names_mediateddevice("Node1", "83b8f4f2-509f-382f-3c1e-e6bfe0fa1001");
	auto_free char *card = names_mediateddeviceparent("node1", "0000:3b:00.0");
	auto_free char *device = names_pcidevice("node1", "0000:3b:00.0");
	auto_free char *other = names_mediateddeviceparent("node1", "css_0.0.0313");

	assert_string_equal(name, "node1-83b8f4f2-509f-382f-3c1e-e6bfe0fa1001");
	assert_string_equal(card, device);
	assert_string_equal(other, "node1-css000313");
}

static struct pool_case {
	const char *name;
	const char *resource;
	const char *want;
} pools[] = {
	{ "a pool is named by what can stand in a name", "nvidia.com/GA100_A100",
	  "nvidia-com-ga100-a100-" },
	{ "a pool of an odd resource has a name", "/", "" },
};

static void pool_names_match(void **state)
{
	const struct pool_case *c = *state;
	auto_free char *name = names_devicepool(c->resource);

	assert_true(names_valid_object(name));
	assert_int_equal(strlen(name), strlen(c->want) + 16);
	assert_int_equal(strncmp(name, c->want, strlen(c->want)), 0);
}

static void resources_alike_have_pools_of_their_own(void **state)
{
	static const char *const alike[] = { "a.b/c", "a/b.c", "a.b/C", "a-b/c", "a.b.c/" };
	char *names[ARRAY_LEN(alike)];

	for (size_t i = 0; i < ARRAY_LEN(alike); i++) {
		names[i] = names_devicepool(alike[i]);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(names[i], names[k]);
	}
	for (size_t i = 0; i < ARRAY_LEN(alike); i++)
		free(names[i]);
}

static struct nic_case {
	const char *name;
	const char *node;
	const char *interface;
	const char *want;
} nics[] = {
	{ "a network card as Harvester names it", "janus", "enp4s0f0", "janus-enp4s0f0" },
	{ "node and interface are lowered", "Janus", "ETH0", "janus-eth0" },
	{ "dots of both stay", "n.ez.local", "p1.1", "n.ez.local-p1.1" },
	{ "an underscore is replaced, and told apart by a hash", "n", "eth_1",
	  "n-eth-1-5fc495ef8cc6a078" },
	{ "a dash is told apart by a hash, since it may be of a node's name", "n", "b-eth0",
	  "n-b-eth0-f9d03335f85b2979" },
	{ "an interface that ends in a dash too", "n", "eth-", "n-eth-c41bfc607a25ac83" },
	{ "other bytes leave the hash", "n", "\xff", "n-af64724c8602eb6e" },
	{ "no interface still makes a name", "n", "", "n-cbf29ce484222325" },
};

static void nic_names_match(void **state)
{
	const struct nic_case *c = *state;
	auto_free char *name = names_sriovnetworkdevice(c->node, c->interface);

	assert_string_equal(name, c->want);
	assert_true(names_valid_object(name));
}

static struct label_case {
	const char *name;
	const char *text;
	const char *want;
} labels[] = {
	{ "a label value stays as it is", "node1.ez.local", "node1.ez.local" },
	{ "an empty one too", "", "" },
	{ "one of 63 bytes too", X63, X63 },
	{ "one of 64 bytes is cut and hashed", X63 "x", X10 X10 X10 X10 "xxxxxx-b96a5acbb56db825" },
	{ "a cut never ends in a mark", X10 X10 X10 X10 "xxxx.." X50,
	  X10 X10 X10 X10 "xxxx-239dc907d1177405" },
	{ "a mark at the start goes", "-a", "a-07d05b07b498591b" },
	{ "a mark at the end goes", "a.", "a-089bf807b5451746" },
	{ "other bytes become dashes",
	  "a b\xc3\xa9"
	  "c",
	  "a-b--c-2f86c97948e393c7" },
	{ "nothing but other bytes leaves the hash", "\xff\xfe", "0a99c807b6f645b0" },
};

static void label_values_match(void **state)
{
	const struct label_case *c = *state;
	auto_free char *value = names_label_value(c->text);

	assert_string_equal(value, c->want);
	assert_true(names_valid_label(value));
}

static struct valid_case {
	const char *name;
	bool (*valid)(const char *text);
	const char *text;
	bool want;
} valids[] = {
	{ "letters, digits, dashes and dots are an object name", names_valid_object, "a-1.b",
	  true },
	{ "a dash may not begin one", names_valid_object, "-a", false },
	{ "a dash may not end one", names_valid_object, "a-", false },
	{ "a dash may not stand beside a dot", names_valid_object, "a-.b", false },
	{ "a dot may not end one", names_valid_object, "a.", false },
	{ "two dots may not stand together", names_valid_object, "a..b", false },
	{ "upper case is no object name", names_valid_object, "A", false },
	{ "nothing is no object name", names_valid_object, "", false },
	{ "253 bytes are an object name", names_valid_object, X250 "xxx", true },
	{ "254 bytes are not", names_valid_object, X250 "xxxx", false },
	{ "a label value may have upper case, underscores and dots", names_valid_label, "A_b.c-1",
	  true },
	{ "a label value may be empty", names_valid_label, "", true },
	{ "a label value may not end in a mark", names_valid_label, "a_", false },
	{ "a label value may not be longer than 63 bytes", names_valid_label, X63 "x", false },
	{ "a label value has no slash", names_valid_label, "a/b", false },
	{ "a domain and a name are a resource", names_valid_resource, "nvidia.com/GA100_A100",
	  true },
	{ "a resource has a name", names_valid_resource, "nvidia.com/", false },
	{ "a resource has a domain", names_valid_resource, "/GA100", false },
	{ "a resource has a slash", names_valid_resource, "nvidia.com", false },
	{ "a kubelet takes a resource of KubeVirt's", names_valid_offered_resource,
	  "devices.kubevirt.io/kvm", true },
	{ "a kubelet takes no resource of Kubernetes' own", names_valid_offered_resource,
	  "node.kubernetes.io/x", false },
	{ "a kubelet takes no resource that looks like a quota", names_valid_offered_resource,
	  "requests.x/y", false },
	{ "a kubelet takes no resource without a domain", names_valid_offered_resource, "kvm",
	  false },
	{ "a resource has one slash", names_valid_resource, "a/b/c", false },
	{ "a resource's domain is in lower case", names_valid_resource, "Nvidia.com/x", false },
	{ "a resource's name is not longer than 63 bytes", names_valid_resource, "a/" X63 "x",
	  false },
};

static void validity_matches(void **state)
{
	const struct valid_case *c = *state;

	assert_int_equal(c->valid(c->text), c->want);
}

/* Node names of every length, alike up to their last byte. */
static void names_of_all_lengths_are_valid_and_differ(void **state)
{
	for (size_t len = 1; len <= 300; len++) {
		auto_str struct str a = STR_INIT;
		auto_free char *pci_a = NULL;
		auto_free char *pci_b = NULL;
		auto_free char *label_a = NULL;
		auto_free char *label_b = NULL;
		char address[NAMES_ADDRESS_SIZE];

		while (a.len + 1 < len)
			str_add_char(&a, a.len % 7 == 5 ? '.' : 'n');
		str_add_char(&a, 'a');
		pci_a = names_pcidevice(a.buf, "0000:04:00.0");
		label_a = names_label_value(a.buf);
		a.buf[a.len - 1] = 'b';
		pci_b = names_pcidevice(a.buf, "0000:04:00.0");
		label_b = names_label_value(a.buf);

		assert_true(names_valid_object(pci_a) && names_valid_object(pci_b));
		assert_true(names_valid_label(label_a) && names_valid_label(label_b));
		assert_string_not_equal(pci_a, pci_b);
		assert_int_equal(names_pcidevice_address(a.buf, pci_b, address), 0);
		assert_string_equal(address, "0000:04:00.0");
		assert_int_equal(names_pcidevice_address(a.buf, pci_a, address), -EINVAL);
		assert_string_not_equal(label_a, label_b);
	}
}

/* Mostly the characters that make the rules hard, and each other byte now and then. */
static char odd_byte(uint64_t *seed)
{
	static const char marks[] = "a.-_Z";

	if (suite_random(seed) % 3)
		return marks[suite_random(seed) % 5];
	return (char)(suite_random(seed) % 255 + 1);
}

static void any_bytes_make_valid_names(void **state)
{
	uint64_t seed = 3;

	for (int round = 0; round < 5000; round++) {
		char text[300];
		char address[NAMES_ADDRESS_SIZE];
		size_t len = suite_random(&seed) % sizeof(text);
		auto_free char *pci = NULL;
		auto_free char *label = NULL;
		auto_free char *nic = NULL;

		for (size_t i = 0; i < len; i++)
			text[i] = odd_byte(&seed);
		text[len] = '\0';
		pci = names_pcidevice(text, text);
		nic = names_sriovnetworkdevice(text, text);
		assert_true(names_valid_object(nic));
		label = names_label_value(text);
		assert_true(names_valid_object(pci));
		assert_true(names_valid_label(label));
		(void)names_pcidevice_address(text, pci, address);
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, pcis, pci_names_match);
	suite_rows(&suite, dra_devices, dra_names_match);
	suite_rows(&suite, addresses, addresses_match);
	suite_add(&suite, "mediated devices and their parents", mdev_names_match, NULL);
	suite_add(&suite, "a USB device as Harvester names it", usb_names_match, NULL);
	suite_rows(&suite, pools, pool_names_match);
	suite_add(&suite, "resources that are alike have pools of their own",
		  resources_alike_have_pools_of_their_own, NULL);
	suite_rows(&suite, nics, nic_names_match);
	suite_rows(&suite, labels, label_values_match);
	suite_rows(&suite, valids, validity_matches);
	suite_add(&suite, "names of nodes alike but for the last byte differ at every length",
		  names_of_all_lengths_are_valid_and_differ, NULL);
	suite_add(&suite, "any bytes make valid names", any_bytes_make_valid_names, NULL);
	return suite_run(&suite, "names");
}
