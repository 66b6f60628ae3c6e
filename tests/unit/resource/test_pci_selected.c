/* pci_selected: unclaimed functions, offered because the HostDeviceConfig selects them. */
#include "agent/resource/pci_selected.h"

#include "agent/config/config.h"
#include "agent/plugin/device_type.h"
#include "agent/plugin/plugins.h"
#include "base/num.h"
#include "unit/resource/node1.h"

#define OTHER   "0000:03:00.0"
#define UNBOUND "'passthroughEnabled':false"
#define VIRTIO                            \
	"{'kind':'pci','address':'" OTHER \
	"','vendor':'1af4','device':'1041','class':'020000','driver':'vfio-pci','iommuGroup':'14'}"
#define RECORDED(address)                                                                     \
	"{'kind':'record','address':'" address "','claim':'x','uid':'u','driver':'vfio-pci'," \
	"'native':'e1000e','id':'8086:10d3'}"
#define VGPU(role)                                                                     \
	"{'kind':'pci','address':'" OTHER "','vendor':'10de','device':'25b6','class':" \
	"'030200','driver':'nvidia','iommuGroup':'13','role':'" role "'}"
#define PORT                              \
	"{'kind':'pci','address':'" OTHER \
	"','vendor':'1b36','device':'000c','class':'060400','driver':'pcieport','iommuGroup':'12'}"
#define BOTH                                                                              \
	{                                                                                 \
		FUNCTION(NIC, "vfio-pci", "12", ""), FUNCTION(TWIN, "vfio-pci", "13", "") \
	}

static struct str *offered(void)
{
	static struct str text;

	return &text;
}

static void put_device(const struct plugin_device *device)
{
	const char *by = device->on_demand ? " on demand" : device->dra ? " by DRA" : "";

	str_addf(offered(), " %s%s", device->id, by);
	if (device->trouble)
		str_addf(offered(), "! (%s)", device->trouble);
}

/* In place of agent/plugin's. */
void plugins_set(struct plugins *plugins, const struct device_type *type, void *type_arg,
		 const struct plugin_resource *resources, size_t len)
{
	(void)plugins;
	(void)type;
	(void)type_arg;
	str_clear(offered());
	for (size_t i = 0; i < len; i++) {
		/* By an entry. */
		assert_int_equal(resources[i].claimed, strncmp(resources[i].name, "a.io/", 5) != 0);
		str_addf(offered(), "%s%s:", i ? "; " : "", resources[i].name);
		for (size_t j = 0; j < resources[i].ndevices; j++)
			put_device(&resources[i].devices[j]);
	}
}

const char *plugins_owner(const struct plugins *plugins, const char *resource)
{
	(void)plugins;
	if (strcmp(resource, "a.io/free") == 0)
		return NULL;
	return strcmp(resource, "a.io/usb") == 0 ? "usb" : "pci";
}

static struct selected_case {
	const char *name;
	const char *lines[NODE1_LINES];
	const char *claims[2];
	const char *
		entries; /* "8086:10d3=a.io/nic", words; "+" in front: another plugin's, "*": DRA's, "?": on demand */
	const char *driver;  /* that counts as vfio's beside vfio-pci; NULL: none            */
	const char *bound;   /* the function that is bound for a ResourceClaim; NULL: none */
	const char *trouble; /* why others could not be bound on demand; NULL: they could  */
	const char *moving;  /* the function that was given back since the scan began; NULL: none */
	const char *offers;
} rows[] = {
	/* clang-format off */
	{ "a vGPU of the vendor's own driver (KubeVirt's rule since its 1.9)",
	  { VGPU("VirtualFunction"), "{'kind':'vgpu','address':'" OTHER "','current':'1146'}" }, { NULL },
	  "10de:25b6=a.io/vgpu", .offers = "a.io/vgpu: " OTHER },
	{ "one that is no vGPU is not", { VGPU("VirtualFunction"), "{'kind':'vgpu','address':'" OTHER "','current':'0'}" },
	  { NULL }, "10de:25b6=a.io/vgpu", .offers = "" },
	{ "a physical function on that driver is not",
	  { VGPU("PhysicalFunction"), "{'kind':'vgpu','address':'" OTHER "','current':'1146'}" }, { NULL },
	  "10de:25b6=a.io/vgpu", .offers = "" },
	{ "kubevirt-contract 1.2 (PCI): a function on vfio-pci that nobody claims", BOTH, { NULL },
	  "8086:10d3=a.io/nic",
	  .offers = "a.io/nic: " NIC " " TWIN },
	{ "kubevirt-contract 1.6 (4): two of one group are two units, each by its address",
	  { FUNCTION(NIC, "vfio-pci", "12", ""), FUNCTION(TWIN, "vfio-pci", "12", "") }, { NULL }, "8086:10d3=a.io/nic",
	  .offers = "a.io/nic: " NIC " " TWIN },
	{ "several selectors share a name: a pool", { FUNCTION(NIC, "vfio-pci", "12", ""), VIRTIO }, { NULL },
	  "8086:10d3=a.io/nic 1af4:1041=a.io/nic", .offers = "a.io/nic: " NIC " " OTHER "! (/dev/vfio/14 is not there)" },
	{ "a function on its own driver is not offered", { FUNCTION(NIC, "e1000e", "12", "") }, { NULL },
	  "8086:10d3=a.io/nic", .offers = "" },
	{ "a function on no driver is not offered", { FUNCTION(NIC, "", "12", "") }, { NULL }, "8086:10d3=a.io/nic",
	  .offers = "" },
	{ "another model is not offered", BOTH, { NULL }, "8086:10d4=a.io/nic 8087:10d3=a.io/other", .offers = "" },
	{ "what another plugin serves is not offered", BOTH, { NULL }, "+8086:10d3=a.io/nic", .offers = "" },
	{ "a claimed function is offered as its claim says, and no other way", BOTH, { NIC_CLAIM("", "", READY_OF("True")) },
	  "8086:10d3=a.io/nic", .offers = "a.io/nic: " TWIN "; unknown.com/10d3: " NIC },
	{ "a claim that is not carried out yet keeps its function from being offered", BOTH, { NIC_CLAIM("", "", UNBOUND), NULL },
	  "8086:10d3=a.io/nic", .offers = "a.io/nic: " TWIN "; unknown.com/10d3: " NIC
	  "! (its PCIDeviceClaim is not ready: it says nothing yet)" },
	{ "a claim of no node yet does so, too", BOTH, { "{'metadata':{'name':'node1-000001000','uid':'u','resourceVersion':'1'}}" },
	  "8086:10d3=a.io/nic", .offers = "a.io/nic: " TWIN },
	{ "a claimed function of the same name joins the pool", BOTH, { NIC_CLAIM("", "", READY_OF("True")) },
	  "8086:10d3=unknown.com/10d3", .offers = "unknown.com/10d3: " NIC " " TWIN },
	{ "another of the group on its own driver: not healthy",
	  { FUNCTION(NIC, "vfio-pci", "12", ""), FUNCTION(TWIN, "e1000e", "12", "") }, { NULL }, "8086:10d3=a.io/nic",
	  .offers = "a.io/nic: " NIC "! (" TWIN " of its IOMMU group is bound to e1000e)" },
	{ "a port of the group hinders nothing", { FUNCTION(NIC, "vfio-pci", "12", ""), PORT }, { NULL },
	  "8086:10d3=a.io/nic", .offers = "a.io/nic: " NIC },
	{ "another vfio driver counts only if it is named", { FUNCTION(NIC, "mlx5_vfio_pci", "12", "") }, { NULL },
	  "8086:10d3=a.io/nic", .offers = "" },
	{ "a vfio driver that is named", { FUNCTION(NIC, "mlx5_vfio_pci", "12", "") }, { NULL },
	  "8086:10d3=a.io/nic", .driver = "mlx5_vfio_pci", .offers = "a.io/nic: " NIC },
	{ "of an entry that is DRA's a claimed function is for DRA, and another for nobody", BOTH,
	  { NIC_CLAIM("", "", READY_OF("True")) }, "*8086:10d3=a.io/nic", .offers = "unknown.com/10d3: " NIC " by DRA" },
	{ "also while it is not healthy", BOTH, { NIC_CLAIM("", "", UNBOUND), NULL }, "*8086:10d3=a.io/nic",
	  .offers = "unknown.com/10d3: " NIC " by DRA! (its PCIDeviceClaim is not ready: it says nothing yet)" },
	{ "a claimed function of another model is the kubelet's", BOTH, { NIC_CLAIM("", "", READY_OF("True")) },
	  "*8086:10d4=a.io/nic", .offers = "unknown.com/10d3: " NIC },
	{ "on demand: a free function, whose driver is its own", { FUNCTION(NIC, "e1000e", "12", ""),
	  FUNCTION(TWIN, "", "13", "") }, { NULL }, "?8086:10d3=a.io/nic",
	  .offers = "a.io/nic: " NIC " on demand " TWIN " on demand" },
	{ "on demand: another program's is not offered", BOTH, { NULL }, "?8086:10d3=a.io/nic", .offers = "" },
	{ "on demand: what we have bound is", { FUNCTION(NIC, "vfio-pci", "12", ""), RECORDED(NIC) }, { NULL },
	  "?8086:10d3=a.io/nic", .offers = "a.io/nic: " NIC " on demand" },
	{ "on demand: a claimed function is offered as with mode Claimed", BOTH, { NIC_CLAIM("", "", READY_OF("True")) },
	  "?8086:10d3=a.io/nic", .offers = "unknown.com/10d3: " NIC " by DRA" },
	{ "on demand: a function with a claim that has not bound it is not offered", { FUNCTION(NIC, "e1000e", "12", "") },
	  { "{'metadata':{'name':'node1-000001000','uid':'u','resourceVersion':'1'}}" }, "?8086:10d3=a.io/nic",
	  .offers = "" },
	{ "on demand: why it could not be bound", { FUNCTION(NIC, "e1000e", "12", "") }, { NULL }, "?8086:10d3=a.io/nic",
	  .trouble = "eth0 is up", .offers = "a.io/nic: " NIC " on demand! (eth0 is up)" },
	{ "on demand: a bound function is healthy, and others of its group are not",
	  { FUNCTION(NIC, "e1000e", "12", ""), FUNCTION(TWIN, "e1000e", "12", "") }, { NULL }, "?8086:10d3=a.io/nic",
	  .bound = NIC, .trouble = "it is being bound",
	  .offers = "a.io/nic: " NIC " on demand " TWIN " on demand! (it is being bound)" },
	{ "a bound function stays with DRA while the mode is off", { FUNCTION(NIC, "vfio-pci", "12", ""), RECORDED(NIC) },
	  { NULL }, "8086:10d3=a.io/nic", .bound = NIC, .offers = "a.io/nic: " NIC " on demand" },
	{ "what is given back after it is not offered to the kubelet in between",
	  { FUNCTION(NIC, "vfio-pci", "12", ""), RECORDED(NIC) }, { NULL }, "8086:10d3=a.io/nic", .offers = "" },
	{ "nor if the scan saw its driver before that, and its record no more", { FUNCTION(NIC, "vfio-pci", "12", "") },
	  { NULL }, "8086:10d3=a.io/nic", .moving = NIC, .offers = "" },
	{ "on demand: it is offered then, too", { FUNCTION(NIC, "vfio-pci", "12", "") }, { NULL }, "?8086:10d3=a.io/nic",
	  .moving = NIC, .offers = "a.io/nic: " NIC " on demand" },
	{ "a function without a node: not healthy", { FUNCTION(NIC, "vfio-pci", "15", "") }, { NULL }, "8086:10d3=a.io/nic",
	  .offers = "a.io/nic: " NIC "! (/dev/vfio/15 is not there)" },
	/* clang-format on */
};

struct asked {
	struct config config;
	struct config_pci entries[4];
	char *text; /* that the names are in */
	struct json_strs drivers;
};

static void ask(struct asked *asked, const char *entries, const char *driver)
{
	size_t n = 0;
	char *rest;
	char *word;

	*asked = (struct asked){ .text = xstrdup(entries) };
	rest = asked->text;
	while ((word = strsep(&rest, " "))) {
		struct config_pci *entry = &asked->entries[n++];
		char *device = strchr(word, ':');
		char *name = strchr(word, '=');
		uint64_t id = 0;

		*device++ = *name++ = '\0';
		entry->external = *word == '+';
		entry->dra = *word == '*'   ? CONFIG_DRA_CLAIMED
			     : *word == '?' ? CONFIG_DRA_ON_DEMAND
					    : CONFIG_DRA_OFF;
		assert_true(str_to_hex(word + strspn(word, "+*?"), &id));
		entry->vendor = (uint16_t)id;
		assert_true(str_to_hex(device, &id));
		entry->device = (uint16_t)id;
		entry->resource = name;
	}
	asked->config.pci.items = asked->entries;
	asked->config.pci.len = n;
	if (driver)
		json_strs_add(&asked->drivers, driver);
}

static const struct selected_case **case_now(void)
{
	static const struct selected_case *row;

	return &row;
}

static char *bound_for(void *arg, const char *address)
{
	(void)arg;
	return str_match((*case_now())->bound, address) ? xstrdup("ResourceClaim default/nic")
							: NULL;
}

static bool is_moving(void *arg, const char *address)
{
	(void)arg;
	return str_match((*case_now())->moving, address);
}

static char *on_demand_trouble(void *arg, const char *address)
{
	(void)arg;
	(void)address;
	return xstrdup_or_null((*case_now())->trouble);
}

static void open_case(struct node1 *node, struct asked *asked, const struct selected_case *row)
{
	node1_open(node, row->lines);
	for (size_t i = 0; i < 2 && row->claims[i]; i++)
		node1_claim(node, row->claims[i]);
	node1_nodes(node, "vfio 12 13");
	ask(asked, row->entries, row->driver);
	node->view.config = &asked->config;
	*case_now() = row;
	node->view.bound_for = bound_for;
	node->view.on_demand_trouble = on_demand_trouble;
	node->view.moving = is_moving;
	node->this_node.vfio_drivers = asked->drivers;
}

static void selected_is_offered(void **state)
{
	const struct selected_case *row = suite_row(state);
	struct asked asked;
	struct node1 *node = *state;
	struct pci_type *type;

	open_case(node, &asked, row);
	type = pci_type_new(&node->view);
	pci_type_offer(type, NULL);
	assert_string_equal(str_cstr(offered()), row->offers);
	str_done(offered());
	pci_type_free(type);
	json_strs_done(&asked.drivers);
	free(asked.text);
}

/* The same node, the same variable as for a claimed one; and nothing once it is claimed. */
static void selected_is_allocated(void **state)
{
	static const struct selected_case row = { .lines = BOTH, .entries = "8086:10d3=a.io/nic" };
	struct json_strs ids = { 0 };
	struct allocation allocation = { 0 };
	struct err err = { 0 };
	struct asked asked;
	struct node1 *node = *state;
	struct pci_type *type;

	open_case(node, &asked, &row);
	type = pci_type_new(&node->view);
	json_strs_add(&ids, TWIN);
	assert_int_equal(pci_device_type.allocate(type, "a.io/nic", &ids, &allocation, &err), 0);
	assert_string_equal(json_pairs_get(&allocation.envs, "PCI_RESOURCE_A_IO_NIC"), TWIN);
	assert_int_equal(allocation.devices.len, 2);
	assert_string_equal(allocation.devices.items[1].host_path, "/dev/vfio/13");
	allocation_done(&allocation);

	node1_claim(node, TWIN_CLAIM("", "", READY_OF("True")));
	assert_int_equal(pci_device_type.allocate(type, "a.io/nic", &ids, &allocation, &err),
			 -ENODEV);
	assert_string_equal(err.msg, "device '" TWIN "' belongs to 'unknown.com/10d3' now");
	allocation_done(&allocation);
	json_strs_done(&ids);
	pci_type_free(type);
	json_strs_done(&asked.drivers);
	free(asked.text);
}

static void a_name_of_another_kind_is_reported(void **state)
{
	struct config_troubles troubles = { 0 };
	struct asked asked;

	ask(&asked,
	    "1af4:1041=a.io/free *1af4:1042=a.io/usb 1af4:1043=a.io/usb +1af4:1044=a.io/usb", NULL);
	for (size_t i = 0; i < asked.config.pci.len; i++)
		asked.entries[i].index = i;
	pci_selected_collisions(&asked.config, NULL, &troubles);
	assert_int_equal(troubles.len, 1);
	assert_int_equal(troubles.items[0].index, 2);
	assert_string_equal(troubles.items[0].list, "pciHostDevices");
	assert_string_equal(
		troubles.items[0].message,
		"devices of another type (usb) already have this resource name on this node: give the entry another name");
	config_troubles_done(&troubles);
	free(asked.text);
}

/* A claim of another kind has the name; the first of each is its own kind's. */
static void so_is_one_of_usb_or_mediated_devices(void **state)
{
	static char pci[] = "a.io/nic", usb[] = "a.io/usb", free_name[] = "a.io/free";
	struct config_usb sticks[] = {
		{ .index = 4, .resource = usb },
		{ .index = 5, .resource = pci },
		{ .index = 6, .resource = pci, .external = true },
		{ .index = 7, .resource = free_name },
	};
	struct config_mdev mdevs[] = { { .index = 8, .resource = usb },
				       { .index = 9, .resource = usb, .external = true } };
	const struct config config = { .usb = { .items = sticks, .len = ARRAY_LEN(sticks) },
				       .mdevs = { .items = mdevs, .len = ARRAY_LEN(mdevs) } };
	struct config_troubles troubles = { 0 };

	pci_selected_collisions(&config, NULL, &troubles);
	assert_int_equal(troubles.len, 2);
	assert_int_equal(troubles.items[0].index, 5);
	assert_string_equal(troubles.items[0].list, CONFIG_LIST_USB);
	assert_non_null(strstr(troubles.items[0].message, "another type (pci)"));
	assert_int_equal(troubles.items[1].index, 8);
	assert_string_equal(troubles.items[1].list, CONFIG_LIST_MDEV);
	assert_string_equal(troubles.items[1].reason, CONFIG_NAME_TAKEN);
	config_troubles_done(&troubles);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "a name of another kind is reported", a_name_of_another_kind_is_reported,
		  NULL);
	suite_add(&suite, "so is one of USB or mediated devices",
		  so_is_one_of_usb_or_mediated_devices, NULL);
	suite_fixture(&suite, &node1_fixture);
	suite_rows(&suite, rows, selected_is_offered);
	suite_add(&suite, "a selected function is given as a claimed one", selected_is_allocated,
		  NULL);
	return suite_run(&suite, "pci_selected");
}
