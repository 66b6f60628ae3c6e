#include "api/names.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "unit/suite.h"

#define X10  "xxxxxxxxxx"
#define X50  X10 X10 X10 X10 X10
#define X63  X50 X10 "xxx"
#define X250 X50 X50 X50 X50 X50

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

static void usb_names_match(void **state)
{
	auto_free char *name = names_usbdevice("node1", 0x951, 0x1666, 1, 2);
	auto_free char *large = names_usbdevice("node1", 0xffff, 0, 999, 127);

	(void)state;
	assert_string_equal(name, "node1-0951-1666-001002");
	assert_string_equal(large, "node1-ffff-0000-999127");
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
	(void)state;
	for (size_t len = 1; len <= 300; len++) {
		auto_str struct str a = STR_INIT;
		auto_free char *pci_a = NULL;
		auto_free char *pci_b = NULL;
		auto_free char *label_a = NULL;
		auto_free char *label_b = NULL;

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

	(void)state;
	for (int round = 0; round < 5000; round++) {
		char text[300];
		size_t len = suite_random(&seed) % sizeof(text);
		auto_free char *pci = NULL;
		auto_free char *label = NULL;

		for (size_t i = 0; i < len; i++)
			text[i] = odd_byte(&seed);
		text[len] = '\0';
		pci = names_pcidevice(text, text);
		label = names_label_value(text);
		assert_true(names_valid_object(pci));
		assert_true(names_valid_label(label));
	}
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, pcis, pci_names_match);
	suite_add(&suite, "a USB device as Harvester names it", usb_names_match, NULL);
	suite_rows(&suite, labels, label_values_match);
	suite_rows(&suite, valids, validity_matches);
	suite_add(&suite, "names of nodes alike but for the last byte differ at every length",
		  names_of_all_lengths_are_valid_and_differ, NULL);
	suite_add(&suite, "any bytes make valid names", any_bytes_make_valid_names, NULL);
	return suite_run(&suite, "names");
}
