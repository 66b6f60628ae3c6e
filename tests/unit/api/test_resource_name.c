#include "api/resource_name.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "api/names.h"
#include "base/num.h"
#include "unit/suite.h"

static struct pci_case {
	const char *name;
	const char *vendor;
	const char *product;
	uint16_t id;
	const char *want;
} pcis[] = {
	/* Harvester's own vectors */
	{ "brackets of the product go", "NVIDIA Corporation", "GA100 [A100 SXM4 40GB]", 0x20b0,
	  "nvidia.com/GA100_A100_SXM4_40GB" },
	{ "what a bracket leaves at the end goes", "NVIDIA Corporation",
	  "GA104 [RTX A4500 Embedded GPU ]", 0x24fa, "nvidia.com/GA104_RTX_A4500_EMBEDDED_GPU" },
	{ "the vendor is what its brackets say up to the slash",
	  "Advanced Micro Devices, Inc. [AMD/ATI]", "R481 [Radeon X850 XT AGP]", 0x4b49,
	  "amd.com/R481_RADEON_X850_XT_AGP" },
	{ "dashes of the product go", "Mellanox Technologies",
	  "MT2892 Family [ConnectX-6 Dx Flash Recovery]", 0x0213,
	  "mellanox.com/MT2892_FAMILY_CONNECTX6_DX_FLASH_RECOVERY" },
	{ "a product of marks alone is its id", "NVIDIA Corporation", "!!!", 0x1234,
	  "nvidia.com/1234" },
	{ "a slash between blanks makes three marks", "NVIDIA Corporation", "GA107GL [A2 / A16]",
	  0x25b6, "nvidia.com/GA107GL_A2___A16" },
	{ "a long virtual function becomes VF", "Broadcom Inc. and subsidiaries",
	  "NetXtreme II BCM57810 10 Gigabit Ethernet Virtual Function", 0x16af,
	  "broadcom.com/NETXTREME_II_BCM57810_10_GIGABIT_ETHERNET_VF" },
	{ "what is too long all the same is its id", "Broadcom Inc. and subsidiaries",
	  "NetXtreme II BCM57810 10 Gigabit and more Ethernet Virtual Function", 0x16af,
	  "broadcom.com/16af" },
	/* the rest of the rule */
	{ "a vendor is its first word", "Red Hat, Inc.", "Virtio 1.0 network device", 0x1041,
	  "red.com/VIRTIO_1_0_NETWORK_DEVICE" },
	{ "a vendor's word keeps letters and digits", "3Com-Corp. X", "a", 1, "3comcorp.com/A" },
	{ "an unknown product is its id, in four digits", "Intel Corporation", NULL, 0xaf,
	  "intel.com/00af" },
	{ "an empty product too", "Intel Corporation", "", 0xfffe, "intel.com/fffe" },
	{ "an unknown vendor is unknown", NULL, NULL, 0x20b0, "unknown.com/20b0" },
	{ "an empty vendor too", "", "X", 0, "unknown.com/X" },
	{ "a short virtual function stays", "Intel Corporation", "82576 Virtual Function", 0x10ca,
	  "intel.com/82576_VIRTUAL_FUNCTION" },
	{ "every virtual function becomes VF", "Intel",
	  "Virtual Function Virtual Function Virtual Function Virtual Function", 1,
	  "intel.com/VF_VF_VF_VF" },
	{ "sixty characters of vendor and product fit", "abcdef",
	  "12345678901234567890123456789012345678901234567890", 1,
	  "abcdef.com/12345678901234567890123456789012345678901234567890" },
	{ "sixty-one do not", "abcdefg", "12345678901234567890123456789012345678901234567890", 1,
	  "abcdefg.com/0001" },
	{ "a run of blanks is one mark", "Intel", "a \t\n b", 1, "intel.com/A_B" },
	{ "blanks around the product go", "Intel", "  a b \n", 1, "intel.com/A_B" },
	/* where the rule alone would give no valid name */
	{ "marks before the product go", "Intel", "/./a", 1, "intel.com/A" },
	{ "a bracket that is never closed is not one", "Foo [Bar", "a", 1, "foo.com/A" },
	{ "an empty bracket is not one", "Foo [] [Bar]", "a", 1, "bar.com/A" },
	{ "a bracket of marks leaves the first word", "Foo [/Bar]", "a", 1, "foo.com/A" },
	{ "a vendor of marks is unknown", "-- Bar", "a", 1, "unknown.com/A" },
	{ "bytes that are no letters go", "\xc3\x96zg\xfcr Ltd", "N\xffIC \xf0\x9f\x92\xbb", 1,
	  "zgr.com/NIC" },
	{ "a vendor that fills the path is cut",
	  "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijabcdefghij", "a long product", 0xbeef,
	  "abcdefghijabcdefghijabcdefghijabcdefghijabcdefghijab.com/beef" },
};

static void pci_name_matches(void **state)
{
	const struct pci_case *c = *state;
	auto_free char *name = resource_name_pci(c->vendor, c->product, c->id);

	assert_string_equal(name, c->want);
	assert_true(names_valid_resource(name));
}

static struct usb_case {
	const char *name;
	const char *object;
	const char *want;
} usbs[] = {
	{ "a USB resource is called as its object", "node1-0951-1666-001002",
	  "kubevirt.io/node1-0951-1666-001002" },
	{ "a name that no resource may have is cut and hashed",
	  "node-with-a-name-that-is-much-too-long.example.com-0951-1666-001002",
	  "kubevirt.io/node-with-a-name-that-is-much-too-long.example-4ddea22cd73cf218" },
};

static void usb_name_matches(void **state)
{
	const struct usb_case *c = *state;
	auto_free char *name = resource_name_usb(c->object);

	assert_string_equal(name, c->want);
	assert_true(names_valid_resource(name));
}

/* That @name is a valid one and its socket path fits, as the kubelet and the kernel see it. */
static void assert_usable(const char *name)
{
	auto_free char *path = xasprintf("/var/lib/kubelet/device-plugins/kubevirt-%s.sock", name);

	if (!names_valid_resource(name) || strlen(path) > 108)
		fail_msg("'%s' is of no use", name);
}

static void any_bytes_make_usable_names(void **state)
{
	static const char common[] = "a[ ]/.V_-F";
	uint64_t seed = 5;

	for (int round = 0; round < 20000; round++) {
		char text[2][128];
		auto_free char *name = NULL;

		for (int i = 0; i < 2; i++) {
			size_t len = suite_random(&seed) % sizeof(text[i]);

			for (size_t at = 0; at < len; at++)
				text[i][at] = common[suite_random(&seed) % (sizeof(common) - 1)];
			if (len > 3)
				text[i][len / 2] = (char)(suite_random(&seed) % 255 + 1);
			text[i][len] = '\0';
		}
		name = resource_name_pci(text[0], text[1], (uint16_t)suite_random(&seed));
		assert_usable(name);
	}
}

struct ids_count {
	char *vendor; /* of the lines that come */
	int devices;
	int bare; /* called by their id */
};

/* One line of pci.ids: a vendor at the margin, its devices behind one tab; classes come last. */
static void count_line(struct ids_count *count, const char *line)
{
	auto_free char *name = NULL;
	uint64_t id;
	char digits[5] = "";

	if (line[0] != '\t' && strlen(line) > 6) {
		free(count->vendor);
		count->vendor = xstrdup(line + 6);
		return;
	}
	if (line[0] != '\t' || line[1] == '\t' || strlen(line) < 8)
		return;
	memcpy(digits, line + 1, 4);
	if (!str_to_hex(digits, &id))
		return;

	name = resource_name_pci(count->vendor, line + 7, (uint16_t)id);
	assert_usable(name);
	count->devices++;
	count->bare += strcmp(strchr(name, '/') + 1, digits) == 0;
}

/* Of 17,616 devices in 2023 as of then 1,621 were called by their ids; later lists have more. */
static void real_list_makes_usable_names(void **state)
{
	struct ids_count count = { 0 };
	char *line = NULL;
	size_t cap = 0;
	FILE *file = fopen("/usr/share/misc/pci.ids", "re");

	if (!file)
		fail_msg("/usr/share/misc/pci.ids: %s; hack/packages installs it", strerror(errno));
	while (getline(&line, &cap, file) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "C ", 2) == 0)
			break;
		if (line[0] != '#')
			count_line(&count, line);
	}
	free(count.vendor);
	free(line);
	assert_int_equal(fclose(file), 0);
	print_message("%d devices, %d called by their id\n", count.devices, count.bare);
	assert_true(count.devices > 10000);
	assert_true(count.bare > count.devices / 30 && count.bare < count.devices / 5);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, pcis, pci_name_matches);
	suite_rows(&suite, usbs, usb_name_matches);
	suite_add(&suite, "any bytes make usable names", any_bytes_make_usable_names, NULL);
	suite_add(&suite, "the list of this machine makes usable names",
		  real_list_makes_usable_names, NULL);
	return suite_run(&suite, "resource_name");
}
