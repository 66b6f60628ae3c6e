/* pci_identity: what sysfs shows to everybody of one function. */
#include "agent/helper/sys/pci_identity.h"
#include "base/str.h"
#include "fake/tree/tree.h"

#define A     "0000:01:00.0"
#define AT    "sys/bus/pci/devices/" A "/"
#define SLOTS "sys/bus/pci/slots/"

/* clang-format off */
static struct identity_case {
	const char *name;
	const char *entries[8];
	const char *identity;
} cases[] = {
	{ "nothing", { AT }, "" },
	{ "one that is not there", { "sys/" }, "" },
	{ "a disk", { AT "nvme/nvme0/serial=S4EVNX0 \n" }, "nvme=S4EVNX0" },
	{ "a network card", { AT "net/eth0/address=52:54:00:00:00:07\n", AT "net/eth0/addr_assign_type=0\n" },
	  "mac=52:54:00:00:00:07" },
	{ "an address that a bond has given", { AT "net/eth0/address=52:54:00:00:00:07\n",
	  AT "net/eth0/addr_assign_type=3\n" }, "" },
	{ "a card without an address", { AT "net/eth0/address=00:00:00:00:00:00\n", AT "net/eth0/addr_assign_type=0\n" }, "" },
	{ "several ports: the lowest address, whatever their names",
	  { AT "net/a/address=52:54:00:00:00:09\n", AT "net/a/addr_assign_type=0\n",
	    AT "net/b/address=52:54:00:00:00:08\n", AT "net/b/addr_assign_type=0\n" }, "mac=52:54:00:00:00:08" },
	{ "what the firmware says", { AT "acpi_index=7\n", AT "index=9\n", AT "label=Onboard LAN\n" },
	  "index=7,label=Onboard_LAN" },
	{ "an index of SMBIOS", { AT "index=9\n" }, "index=9" },
	{ "a slot", { AT "vendor=0x8086\n", SLOTS "3/address=0000:01:00\n", SLOTS "4/address=0000:02:00\n" }, "slot=3" },
	{ "slots that the firmware calls the same stand for no place",
	  { AT "vendor=0x8086\n", SLOTS "3/address=0000:01:00\n", SLOTS "3-1/address=0000:02:00\n" }, "" },
	{ "a virtual function is known by its physical one",
	  { AT "physfn->../0000:02:00.0", "sys/bus/pci/devices/0000:02:00.0/acpi_index=5\n",
	    AT "net/eth0/address=52:54:00:00:00:07\n", AT "net/eth0/addr_assign_type=0\n",
	    SLOTS "4/address=0000:02:00\n" }, "index=5,slot=4" },
};
/* clang-format on */

static void identity_matches_table(void **state)
{
	const struct identity_case *c = suite_row(state);
	auto_str struct str out = STR_INIT;
	struct tree *tree = *state;
	auto_close int sysfs_fd = -1;

	tree_make(tree, c->entries);
	sysfs_fd = tree_open(tree, "sys");
	pci_identity_read_at(sysfs_fd, A, &out);
	assert_string_equal(str_cstr(&out), c->identity);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &tree_fixture);
	suite_rows(&suite, cases, identity_matches_table);
	return suite_run(&suite, "pci_identity");
}
