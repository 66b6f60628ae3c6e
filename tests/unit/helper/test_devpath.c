#include "agent/helper/sys/devpath.h"

#include <string.h>

#include "unit/suite.h"

/* clang-format off */
static struct path_case {
	const char *name;
	const char *path;
	const char *pci;
	const char *usb;
} paths[] = {
	{ "a disk behind a port", "../../devices/pci0000:00/0000:00:1d.0/0000:03:00.0/nvme/nvme0/nvme0n1",
	  "0000:03:00.0", "" },
	{ "a stick behind a hub",
	  "../../devices/pci0000:00/0000:00:14.0/usb1/1-2/1-2.3/1-2.3:1.0/host6/block/sdb",
	  "0000:00:14.0", "1-2.3" },
	{ "a virtio disk", "../../devices/pci0000:00/0000:00:02.0/virtio1/block/vda", "0000:00:02.0", "" },
	{ "no hardware", "../../devices/virtual/block/dm-0", "", "" },
	{ "a five-digit domain", "/devices/pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:1d.0", "10000:e0:1d.0",
	  "" },
	{ "an I2C device looks like a port but is on no USB",
	  "/devices/pci0000:00/0000:00:1f.4/i2c-1/1-50", "0000:00:1f.4", "" },
	{ "USB without PCI", "/devices/platform/soc/usb1/1-1", "", "1-1" },
	{ "nothing", "", "", "" },
	{ "slashes only", "///", "", "" },
};
/* clang-format on */

static void path_matches_table(void **state)
{
	const struct path_case *c = *state;
	struct devpath devpath;

	devpath_parse(c->path, &devpath);
	assert_string_equal(devpath.pci, c->pci);
	assert_string_equal(devpath.usb, c->usb);
	assert_int_equal(devpath_found(&devpath), c->pci[0] || c->usb[0]);
}

/* clang-format off */
static struct word_case {
	const char *name;
	bool pci;
	bool usb;
} words[] = {
	{ "0000:00:1f.7", true, false },
	{ "0000:ff:00.0", true, false },
	{ "10000:e1:00.0", true, false },
	{ "00000000:00:00.0", true, false },
	{ "000000000:00:00.0", false, false },
	{ "000:00:00.0", false, false },
	{ "0000:00:1f.8", false, false },
	{ "0000:00:1F.0", false, false },
	{ "0000:00:1f.0x", false, false },
	{ "0000:00:1f", false, false },
	{ "0000-00-1f.0", false, false },
	{ "1-2", false, true },
	{ "12-1.4.2", false, true },
	{ "1-2:1.0", false, false },
	{ "usb1", false, false },
	{ "1-", false, false },
	{ "-1", false, false },
	{ "1", false, false },
	{ "1-2-3", false, false },
	{ "1-2..3", false, false },
	{ "1.2", false, false },
	{ "1-1111111111111111111111111111111111111111", false, false },
};
/* clang-format on */

static void word_matches_table(void **state)
{
	const struct word_case *c = *state;

	assert_int_equal(pci_address_valid(c->name, strlen(c->name)), c->pci);
	assert_int_equal(usb_name_valid(c->name, strlen(c->name)), c->usb);
}

static void keys_sort_as_numbers(void **state)
{
	static const char *const sorted[] = { "0000:00:00.0", "0000:00:00.1", "0000:00:0a.0",
					      "0000:00:10.0", "0000:01:00.0", "ffff:00:00.0",
					      "10000:00:00.0" };

	for (size_t i = 1; i < ARRAY_LEN(sorted); i++)
		assert_true(pci_address_key(sorted[i - 1]) < pci_address_key(sorted[i]));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, paths, path_matches_table);
	suite_rows(&suite, words, word_matches_table);
	suite_add(&suite, "addresses sort as numbers", keys_sort_as_numbers, NULL);
	return suite_run(&suite, "devpath");
}
