/* What the scan tells of mediated devices, their parents and hostdev's records of them. */
#include "agent/helper/scan/mdev_scan.h"

#include "fake/tree/scan_tree.h"

#define KINDS "mdevParent problem"

#define U1 "11111111-2222-3333-4444-555555555551"
#define U2 "11111111-2222-3333-4444-555555555552"

/* The kernel's sample: its parent is no PCI function. */
#define MTTY      "sys/devices/virtual/mtty/mtty/"
#define MTTY_LINK "sys/class/mdev_bus/mtty->../../devices/virtual/mtty/mtty"
#define MTTY_TYPE(id, name, available)                                    \
	MTTY "mdev_supported_types/" id "/name=" name "\n",               \
		MTTY "mdev_supported_types/" id "/device_api=vfio-pci\n", \
		MTTY "mdev_supported_types/" id "/available_instances=" available "\n"
#define MTTY_INSTANCE(uuid, id)                                                    \
	"sys/bus/mdev/devices/" uuid "->../../../devices/virtual/mtty/mtty/" uuid, \
		MTTY uuid "/mdev_type->../mdev_supported_types/" id,               \
		MTTY uuid "/iommu_group->../../../../../kernel/iommu_groups/14"

/* A card. */
#define CARD "sys/devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/"
#define CARD_LINK \
	"sys/class/mdev_bus/0000:3b:00.0->../../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0"

#define PROBLEM(device, attribute, message)                                                       \
	"{'kind':'problem','device':'" device "','attribute':'" attribute "','message':'" message \
	"'}\n"
#define RECORD(uuid, boot)                                                \
	"state/mdevs/" uuid ".json={\"uuid\":\"" uuid                     \
	"\",\"parent\":\"mtty\",\"type\":\"mtty-2\",\"owner\":\"types\"," \
	"\"boot\":\"" boot "\"}\n"

/* clang-format off */
static struct mdev_case {
	const char *name;
	const char *entries[16];
	const char *lines;
} cases[] = {
	{ "a kernel without mediated devices has none, and that is no problem", { "sys/" }, "" },
	{ "a bus on which there is nothing", { "sys/bus/mdev/devices/", "sys/class/mdev_bus/" }, "" },
	{ "a parent that is no PCI function, with its types by id",
	  { MTTY_LINK, MTTY_TYPE("mtty-2", "Dual port serial", "12"),
	    MTTY_TYPE("mtty-1", "Single port serial", "24") },
	  "{'kind':'mdevParent','name':'mtty','types':["
	  "{'id':'mtty-1','name':'Single port serial','deviceAPI':'vfio-pci','available':24},"
	  "{'id':'mtty-2','name':'Dual port serial','deviceAPI':'vfio-pci','available':12}]}\n" },
	{ "a card with its NUMA node; a description is one line",
	  { CARD_LINK, "sys/bus/pci/devices/0000:3b:00.0->../../../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0",
	    CARD "numa_node=1\n", CARD "mdev_supported_types/nvidia-222/name=GRID T4-1B\n",
	    CARD "mdev_supported_types/nvidia-222/description=num_heads=4, frl_config=45\nmax_instance=16\n",
	    CARD "mdev_supported_types/nvidia-222/available_instances=16\n" },
	  "{'kind':'mdevParent','name':'0000:3b:00.0','pciAddress':'0000:3b:00.0','numaNode':1,'types':["
	  "{'id':'nvidia-222','name':'GRID T4-1B','description':'num_heads=4, frl_config=45 max_instance=16',"
	  "'available':16}]}\n" },
	{ "a type without a name has its id alone",
	  { CARD_LINK, CARD "mdev_supported_types/i915-GVTg_V5_4/available_instances=1\n" },
	  "{'kind':'mdevParent','name':'0000:3b:00.0','pciAddress':'0000:3b:00.0','types':["
	  "{'id':'i915-GVTg_V5_4','available':1}]}\n" },
	{ "a count that is no number is a problem, and the type is shown",
	  { CARD_LINK, CARD "mdev_supported_types/t/available_instances=many\n" },
	  "{'kind':'mdevParent','name':'0000:3b:00.0','pciAddress':'0000:3b:00.0','types':[{'id':'t'}]}\n"
	  PROBLEM("0000:3b:00.0", "available_instances", "no number can be read for the type 't'") },
	{ "instances with type, group and parent",
	  { MTTY_TYPE("mtty-2", "Dual port serial", "12"), MTTY_INSTANCE(U1, "mtty-2") },
	  "{'kind':'mdev','uuid':'" U1 "','parent':'mtty','type':'mtty-2','typeName':'Dual port serial',"
	  "'deviceAPI':'vfio-pci','iommuGroup':'14'}\n" },
	{ "an instance of a card has the card's NUMA node",
	  { "sys/bus/pci/devices/0000:3b:00.0->../../../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0",
	    CARD "numa_node=1\n", CARD "mdev_supported_types/t/name=T\n",
	    "sys/bus/mdev/devices/" U1 "->../../../devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/" U1,
	    CARD U1 "/mdev_type->../mdev_supported_types/t" },
	  "{'kind':'mdev','uuid':'" U1 "','parent':'0000:3b:00.0','pciAddress':'0000:3b:00.0','numaNode':1,"
	  "'type':'t','typeName':'T'}\n" },
	{ "NUMA node -1 is none",
	  { "sys/bus/pci/devices/0000:3b:00.0/numa_node=-1\n", CARD_LINK, CARD "mdev_supported_types/" },
	  "{'kind':'mdevParent','name':'0000:3b:00.0','pciAddress':'0000:3b:00.0','types':[]}\n" },
	{ "what is no UUID is no instance, and a file is none either",
	  { "sys/bus/mdev/devices/mdev0->../../../devices/virtual/mtty/mtty/mdev0",
	    "sys/bus/mdev/devices/" U1 "=x" }, "" },
	{ "records, of this boot and of another",
	  { "sys/", "proc/sys/kernel/random/boot_id=b00t\n", RECORD(U1, "b00t"), RECORD(U2, "0ther") },
	  "{'kind':'mdevRecord','uuid':'" U1 "','parent':'mtty','type':'mtty-2','owner':'types','thisBoot':true}\n"
	  "{'kind':'mdevRecord','uuid':'" U2 "','parent':'mtty','type':'mtty-2','owner':'types','thisBoot':false}\n" },
	{ "a record is of no boot if the boot cannot be told",
	  { "sys/", RECORD(U1, "b00t") },
	  "{'kind':'mdevRecord','uuid':'" U1 "','parent':'mtty','type':'mtty-2','owner':'types','thisBoot':false}\n" },
	{ "a record that cannot be read is a problem, and hurts no other",
	  { "sys/", "state/mdevs/" U1 ".json={\n", RECORD(U2, "b00t"), "state/mdevs/x.json={}\n",
	    "state/mdevs/" U1 ".json.12.new={}\n" },
	  "{'kind':'mdevRecord','uuid':'" U2 "','parent':'mtty','type':'mtty-2','owner':'types','thisBoot':false}\n"
	  PROBLEM(U1, "record", "'" U1 ".json': no JSON object; repair the file or remove it")
	  PROBLEM("x", "record", "'x' is no UUID; repair the file or remove it") },
	{ "a record about another instance than its name says is none",
	  { "sys/", "state/mdevs/" U2 ".json={\"uuid\":\"" U1 "\",\"parent\":\"mtty\",\"type\":\"t\",\"owner\":\"types\"}\n" },
	  PROBLEM(U2, "record", "'" U2 ".json' is about '" U1 "'; repair the file or remove it") },
	{ "a record that would lead out of a folder is none",
	  { "sys/", "state/mdevs/" U2 ".json={\"uuid\":\"" U2 "\",\"parent\":\"../x\",\"type\":\"t\"}\n" },
	  PROBLEM(U2, "record", "'" U2 ".json': 'parent' has not the form of one; repair the file or remove it") },
};
/* clang-format on */

static void lines_match_table(void **state)
{
	const struct mdev_case *c = suite_row(state);
	auto_str struct str lines = STR_INIT;
	auto_close int sysfs_fd = -1;
	auto_close int proc_fd = -1;
	auto_close int state_fd = -1;
	struct report report = { 0 };
	struct tree *tree = *state;

	tree_make(tree, c->entries);
	tree_add(tree, "sys/");
	sysfs_fd = tree_open(tree, "sys");
	proc_fd = tree_open(tree, "proc");
	state_fd = tree_open(tree, "state");
	mdev_scan(sysfs_fd, proc_fd, state_fd, &report);
	str_add(&lines, str_cstr(&report.lines));
	str_add(&lines, str_cstr(&report.problems));
	single_quotes(&lines);
	assert_string_equal(str_cstr(&lines), c->lines);
	report_done(&report);
}

/* The agent would delete what is not in the list. */
static struct lost_case {
	const char *name;
	const char *entries[4];
	const char *message;
} losts[] = {
	{ "a parent",
	  { "sys/class/mdev_bus/mtty->" TREE_UNREADABLE },
	  "'mtty' has more than 1023 bytes" },
	{ "the type of an instance",
	  { "sys/bus/mdev/devices/" U1 "->../../../devices/virtual/mtty/mtty/" U1,
	    MTTY U1 "/mdev_type->" TREE_UNREADABLE },
	  "'bus/mdev/devices/" U1 "/mdev_type' has more than 1023 bytes" },
	{ "its group",
	  { "sys/bus/mdev/devices/" U1 "->../../../devices/virtual/mtty/mtty/" U1,
	    MTTY U1 "/iommu_group->" TREE_UNREADABLE },
	  "'bus/mdev/devices/" U1 "/iommu_group' has more than 1023 bytes" },
};

static void what_cannot_be_read_fails_the_scan(void **state)
{
	const struct lost_case *c = suite_row(state);
	struct report report = { 0 };
	struct tree *tree = *state;
	auto_close int sysfs_fd = -1;

	tree_make(tree, c->entries);
	sysfs_fd = tree_open(tree, "sys");
	mdev_scan(sysfs_fd, -1, -1, &report);
	assert_true(report.failure.code < 0);
	assert_string_equal(report.failure.msg, c->message);
	report_done(&report);
}

static void a_scan_lists_them(void **state)
{
	static const char *const entries[] = { MTTY_LINK, MTTY "mdev_supported_types/", NULL };
	auto_str struct str lines = STR_INIT;

	scan_entries(entries, NULL, KINDS, &lines);
	assert_string_equal(str_cstr(&lines), "{'kind':'mdevParent','name':'mtty','types':[]}\n");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "a scan of the machine tells them", a_scan_lists_them, NULL);
	suite_fixture(&suite, &tree_fixture);
	suite_rows(&suite, cases, lines_match_table);
	suite_rows(&suite, losts, what_cannot_be_read_fails_the_scan);
	return suite_run(&suite, "mdev_scan");
}
