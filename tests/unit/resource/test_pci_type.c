/* pci_type: which functions are offered as what, when they are healthy, and what a container
 * gets. */
#include "agent/resource/pci_type.h"

#include "agent/plugin/device_type.h"
#include "agent/plugin/plugins.h"
#include "unit/resource/node1.h"
#include "unit/same_nodes.h"
#include "unit/syscall_fails.h"

#define MODEL    "unknown.com/10d3"
#define OWN      ",'disableResourcePooling':true"
#define AS(name) ",'annotations':{'" NAMES_ANNOTATION_RESOURCE_NAME "':'" name "'}"
#define VGPU_FUNCTION                                                                         \
	"{'kind':'pci','address':'" NIC "','vendor':'10de','device':'25b6','class':'030200'," \
	"'driver':'nvidia','iommuGroup':'12','role':'VirtualFunction'}"
#define VGPU(type) "{'kind':'vgpu','address':'" NIC "','current':'" type "'}"
#define VGPU_CLAIM                                                                                 \
	",'annotations':{'" NAMES_ANNOTATION_SKIP_VFIO "':'true','" NAMES_ANNOTATION_RESOURCE_NAME \
	"':'nvidia.com/A2-4C'}"
#define BOTH                                                                              \
	{                                                                                 \
		FUNCTION(NIC, "vfio-pci", "12", ""), FUNCTION(TWIN, "vfio-pci", "13", "") \
	}

/* What plugins_set() was last given, in words. */
static struct str *offered(void)
{
	static struct str text;

	return &text;
}

static void say_device(const struct plugin_device *device)
{
	str_addf(offered(), " %s", device->id);
	if (device->numa_node >= 0)
		str_addf(offered(), "@%d", device->numa_node);
	if (device->root)
		str_addf(offered(), "<%s", device->root);
	assert_int_equal(device->healthy, device->trouble == NULL);
	if (device->trouble)
		str_addf(offered(), "! (%s)", device->trouble);
}

/* In place of agent/plugin's. */
void plugins_set(struct plugins *plugins, const struct device_type *type, void *type_arg,
		 const struct plugin_resource *resources, size_t len)
{
	(void)plugins;
	(void)type_arg;
	assert_ptr_equal(type, &pci_device_type);
	str_clear(offered());
	for (size_t i = 0; i < len; i++) {
		assert_true(resources[i].claimed);
		str_addf(offered(), "%s%s:", i ? "; " : "", resources[i].name);
		for (size_t j = 0; j < resources[i].ndevices; j++)
			say_device(&resources[i].devices[j]);
	}
}

/* No other type offers a resource. */
const char *plugins_owner(const struct plugins *plugins, const char *resource)
{
	(void)plugins;
	(void)resource;
	return NULL;
}

static struct offer_case {
	const char *name;
	const char *lines[NODE1_LINES];
	const char *claims[2];
	const char *nodes;  /* below /dev/vfio; NULL: "vfio 12 13"   */
	const char *device; /* at the API server; NULL: none         */
	const char *held;   /* what a pod has each device as         */
	bool foreign;       /* ... which another plugin offers       */
	const char *offers;
	const char *taken; /* addresses that pod n/p has; NULL: none  */
} offers[] = {
	/* clang-format off */
	{ "what nobody claims is not offered", BOTH, { NULL }, .offers = "" },
	{ "a claimed device is offered under its model's name",
	  BOTH, { NIC_CLAIM("", "", READY_OF("True")) }, .offers = MODEL ": " NIC },
	{ "devices of one model share a resource, in the order of their addresses",
	  BOTH, { TWIN_CLAIM("", "", READY_OF("True")), NIC_CLAIM("", "", READY_OF("True")) },
	  .offers = MODEL ": " NIC " " TWIN },
	{ "NUMA node and PCIe root are reported where they are known",
	  { FUNCTION(NIC, "vfio-pci", "12", ",'numaNode':1,'parents':['0000:00:01.0','0000:00:02.0']") },
	  { NIC_CLAIM("", "", READY_OF("True")) }, .offers = MODEL ": " NIC "@1<0000:00:01.0" },
	{ "a claim that is not bound yet offers nothing",
	  { FUNCTION(NIC, "e1000e", "12", "") }, { NIC_CLAIM("", "", "'passthroughEnabled':false") }, .offers = "" },
	{ "bound, but not Ready yet: not healthy",
	  BOTH, { NIC_CLAIM("", "", "'passthroughEnabled':true") },
	  .offers = MODEL ": " NIC "! (its PCIDeviceClaim is not ready: it says nothing yet)" },
	{ "a claim that is Ready no more says why",
	  BOTH, { NIC_CLAIM("", "", READY_OF("False")) },
	  .offers = MODEL ": " NIC "! (its PCIDeviceClaim is not ready: so it is)" },
	{ "a claim that is being deleted takes no new pod",
	  BOTH, { NIC_CLAIM(",'deletionTimestamp':'2026-01-01T00:00:00Z'", "", READY_OF("True")) },
	  .offers = MODEL ": " NIC "! (its PCIDeviceClaim is being deleted)" },
	{ "whoever took the driver away is named",
	  { FUNCTION(NIC, "e1000e", "12", "") }, { NIC_CLAIM("", "", READY_OF("True")) },
	  .offers = MODEL ": " NIC "! (it is on e1000e, not on vfio-pci)" },
	{ "the driver that the claim asks for counts",
	  { FUNCTION(NIC, "mlx5_vfio_pci", "12", "") },
	  { NIC_CLAIM("", ",'driver':'mlx5_vfio_pci'", READY_OF("True")) }, .offers = MODEL ": " NIC },
	{ "kubevirt-contract 2 (edge: current_vgpu_type): a vGPU that its vendor's driver lends is offered as its claim names it",
	  { VGPU_FUNCTION, VGPU("1146") }, { NIC_CLAIM(VGPU_CLAIM, "", READY_OF("True")) }, .offers = "nvidia.com/A2-4C: " NIC },
	{ "one that is none any more is not healthy",
	  { VGPU_FUNCTION, VGPU("0") }, { NIC_CLAIM(VGPU_CLAIM, "", READY_OF("True")) },
	  .offers = "nvidia.com/A2-4C: " NIC "! (it is on nvidia, not on vfio-pci)" },
	{ "without its group's node it is not healthy",
	  BOTH, { NIC_CLAIM("", "", READY_OF("True")) }, "vfio 13",
	  .offers = MODEL ": " NIC "! (/dev/vfio/12 is not there)" },
	{ "without the container's node nothing is healthy",
	  BOTH, { NIC_CLAIM("", "", READY_OF("True")) }, "12 13",
	  .offers = MODEL ": " NIC "! (/dev/vfio/vfio is not there: load the module vfio)" },
	{ "a group that is no number is none",
	  { FUNCTION(NIC, "vfio-pci", "../1", "") }, { NIC_CLAIM("", "", READY_OF("True")) },
	  .offers = MODEL ": " NIC "! (it is in no IOMMU group)" },
	{ "the claim of another node is not ours",
	  BOTH, { CLAIMED("node1-000001000", "", ",'nodeName':'node2'", READY_OF("True")) }, .offers = "" },
	{ "without pooling the resource is the device's own",
	  BOTH, { NIC_CLAIM("", OWN, READY_OF("True")), TWIN_CLAIM("", "", READY_OF("True")) },
	  .offers = MODEL ": " TWIN "; unknown.com/node1-000001000: " NIC },
	{ "an annotation of the claim renames it",
	  BOTH, { NIC_CLAIM(AS("a.io/b"), "", READY_OF("True")) }, .offers = "a.io/b: " NIC },
	{ "the annotation of the device wins over the claim's, and over pooling",
	  BOTH, { NIC_CLAIM(AS("a.io/b"), OWN, READY_OF("True")) },
	  .device = "{'metadata':{'name':'node1-000001000','uid':'d','resourceVersion':'1'" AS("c.io/d") "}}",
	  .offers = "c.io/d: " NIC },
	{ "while a pod has it it keeps its name: two names would give it to two pods",
	  BOTH, { NIC_CLAIM(AS("a.io/b"), "", READY_OF("True")) }, .held = "a.io/a", .offers = "a.io/a: " NIC },
	{ "what a pod has from another plugin is not healthy",
	  BOTH, { NIC_CLAIM(AS("a.io/b"), "", READY_OF("True")) }, .held = "a.io/a", .foreign = true,
	  .offers = "a.io/b: " NIC "! (a pod has it as a.io/a)" },
	{ "a group that a pod has a function of is no other pod's",
	  { FUNCTION(NIC, "vfio-pci", "12", ""), FUNCTION(TWIN, "vfio-pci", "12", "") },
	  { NIC_CLAIM("", "", READY_OF("True")), TWIN_CLAIM("", "", READY_OF("True")) }, .taken = NIC,
	  .offers = MODEL ": " NIC " " TWIN "! (IOMMU group 12 serves one pod at a time, and a pod has " NIC " of it)" },
	{ "a pod may have several functions of a group",
	  { FUNCTION(NIC, "vfio-pci", "12", ""), FUNCTION(TWIN, "vfio-pci", "12", "") },
	  { NIC_CLAIM("", "", READY_OF("True")), TWIN_CLAIM("", "", READY_OF("True")) }, .taken = NIC " " TWIN,
	  .offers = MODEL ": " NIC " " TWIN },
	{ "other groups do not mind",
	  BOTH, { NIC_CLAIM("", "", READY_OF("True")), TWIN_CLAIM("", "", READY_OF("True")) }, .taken = NIC,
	  .offers = MODEL ": " NIC " " TWIN },
	{ "an annotation that is no resource's name counts for nothing",
	  BOTH, { NIC_CLAIM(AS("no name"), "", READY_OF("True")) }, .offers = MODEL ": " NIC },
	/* clang-format on */
};

static void open_case(struct node1 *node, const char *const *lines, const char *const *claims,
		      const char *nodes)
{
	node1_open(node, lines);
	for (size_t i = 0; i < 2 && claims[i]; i++)
		node1_claim(node, claims[i]);
	node1_nodes(node, nodes ? nodes : "vfio 12 13");
}

static const char *held_as(void *arg, const char *address, bool *ret_ours)
{
	const struct offer_case *row = arg;

	(void)address;
	*ret_ours = !row->foreign;
	return row->held;
}

static const struct pcidevice_allocations *pods_of(void *arg, const char *address)
{
	static char ns[] = "n", pod[] = "p", container[] = "c";
	static struct pcidevice_allocation item = { ns, pod, container, NULL };
	static const struct pcidevice_allocations one = { .items = &item, .len = 1 };
	const struct offer_case *row = arg;

	return row->taken && strstr(row->taken, address) ? &one : NULL;
}

static bool is_same_pod(void *arg, const char *a, const char *b)
{
	return pods_of(arg, a) && pods_of(arg, b);
}

static void is_offered(void **state)
{
	struct offer_case *row = suite_row(state);
	struct node1 *node = *state;
	struct pci_type *type;

	open_case(node, row->lines, row->claims, row->nodes);
	if (row->device)
		node1_device(node, row->device);
	node->view.held_as = held_as;
	node->view.pods = pods_of;
	node->view.same_pod = is_same_pod;
	node->view.arg = row;
	type = pci_type_new(&node->view);
	pci_type_offer(type, NULL);
	assert_string_equal(str_cstr(offered()), row->offers);

	node->this_node.inventory = NULL; /* nothing is known: nothing is offered */
	pci_type_offer(type, NULL);
	assert_string_equal(str_cstr(offered()), "");
	str_done(offered());
	pci_type_free(type);
}

/* --- Allocate --------------------------------------------------------------------------------- */

static struct allocate_case {
	const char *name;
	const char *lines[NODE1_LINES];
	const char *claims[2];
	const char *resource;
	const char *ids;
	const char *nodes; /* below /dev/vfio; NULL: "vfio 12 13" */
	const char *own;   /* a file below /sys/bus/pci/devices   */
	const char *gives; /* "NAME=value node ..." or the error  */
} allocations[] = {
	/* clang-format off */
	{ "kubevirt-contract 1.2 (PCI): the container's node, its group's node, its address",
	  BOTH, { NIC_CLAIM("", "", READY_OF("True")) }, MODEL, NIC,
	  .gives = "PCI_RESOURCE_UNKNOWN_COM_10D3=" NIC " /dev/vfio/vfio:mrw /dev/vfio/12:mrw" },
	{ "the addresses are those asked for, in that order",
	  BOTH, { NIC_CLAIM("", "", READY_OF("True")), TWIN_CLAIM("", "", READY_OF("True")) }, MODEL, TWIN " " NIC,
	  .gives = "PCI_RESOURCE_UNKNOWN_COM_10D3=" TWIN "," NIC
		   " /dev/vfio/vfio:mrw /dev/vfio/13:mrw /dev/vfio/12:mrw" },
	{ "two of one group get its node once",
	  { FUNCTION(NIC, "vfio-pci", "12", ""), FUNCTION(TWIN, "vfio-pci", "12", "") },
	  { NIC_CLAIM("", "", READY_OF("True")), TWIN_CLAIM("", "", READY_OF("True")) }, MODEL, NIC " " TWIN,
	  .gives = "PCI_RESOURCE_UNKNOWN_COM_10D3=" NIC "," TWIN " /dev/vfio/vfio:mrw /dev/vfio/12:mrw" },
	{ "kubevirt-contract 1.6 (4): one of a group is not allocated with its neighbour's address",
	  { FUNCTION(NIC, "vfio-pci", "12", ""), FUNCTION(TWIN, "vfio-pci", "12", "") },
	  { NIC_CLAIM("", "", READY_OF("True")), TWIN_CLAIM("", "", READY_OF("True")) }, MODEL, TWIN,
	  .gives = "PCI_RESOURCE_UNKNOWN_COM_10D3=" TWIN " /dev/vfio/vfio:mrw /dev/vfio/12:mrw" },
	{ "kubevirt-contract 1.2 (PCI): a node of its own where there is one",
	  BOTH, { NIC_CLAIM("", "", READY_OF("True")) }, MODEL, NIC, "vfio 12 devices/vfio7", NIC "/vfio-dev/vfio7",
	  "PCI_RESOURCE_UNKNOWN_COM_10D3=" NIC
	  " /dev/vfio/vfio:mrw /dev/vfio/12:mrw /dev/vfio/devices/vfio7:mrw" },
	{ "kubevirt-contract 1.6 (8): a node of its own that is not in /dev is not allocated",
	  BOTH, { NIC_CLAIM("", "", READY_OF("True")) }, MODEL, NIC, NULL, NIC "/vfio-dev/vfio7",
	  "PCI_RESOURCE_UNKNOWN_COM_10D3=" NIC " /dev/vfio/vfio:mrw /dev/vfio/12:mrw" },
	{ "hyphens of a resource's name stay in the variable's",
	  BOTH, { NIC_CLAIM("", OWN, READY_OF("True")) }, "unknown.com/node1-000001000", NIC,
	  .gives = "PCI_RESOURCE_UNKNOWN_COM_NODE1-000001000=" NIC " /dev/vfio/vfio:mrw /dev/vfio/12:mrw" },
	{ "kubevirt-contract 1.6 (7): an unknown ID is an error", BOTH, { NIC_CLAIM("", "", READY_OF("True")) }, MODEL, "0000:09:00.0",
	  .gives = "there is no device '0000:09:00.0' to allocate" },
	{ "text that is no address is an error", BOTH, { NIC_CLAIM("", "", READY_OF("True")) }, MODEL, "0000010.00",
	  .gives = "there is no device '0000010.00' to allocate" },
	{ "a device without a claim is an error", BOTH, { NULL }, MODEL, NIC,
	  .gives = "there is no device '" NIC "' to allocate" },
	{ "one that is not ready is an error, and why",
	  BOTH, { NIC_CLAIM("", "", READY_OF("True")), TWIN_CLAIM("", "", READY_OF("False")) }, MODEL, NIC " " TWIN,
	  .gives = "device '" TWIN "' is not ready: its PCIDeviceClaim is not ready: so it is" },
	{ "one whose node went a moment ago is an error",
	  BOTH, { NIC_CLAIM("", "", READY_OF("True")) }, MODEL, NIC, "vfio",
	  .gives = "device '" NIC "' is not ready: /dev/vfio/12 is not there" },
	{ "one that has another resource's name by now is an error",
	  BOTH, { NIC_CLAIM("", OWN, READY_OF("True")) }, MODEL, NIC,
	  .gives = "device '" NIC "' belongs to 'unknown.com/node1-000001000' now" },
	/* clang-format on */
};

/* Meanwhile, between the scan and Allocate of NIC and nothing else; NIC and TWIN are in one
 * group. */
static struct now_case {
	const char *name;
	const char *driver;      /* of NIC; NULL: none                */
	const char *twin_driver; /* of TWIN; NULL: none               */
	const char *group;       /* of NIC; NULL: 12                  */
	bool gone;               /* NIC is                            */
	const char *says;        /* NULL: it is given                 */
} nows[] = {
	/* clang-format off */
	{ "nothing has changed", "vfio-pci", "vfio-pci", .says = NULL },
	{ "it was given back", "e1000e", "vfio-pci", .says = "it is on e1000e now, not on vfio-pci" },
	{ "it was unbound", NULL, "vfio-pci", .says = "it is on no driver now, not on vfio-pci" },
	{ "it is gone, and the group's node is still there", "vfio-pci", "vfio-pci", .gone = true,
	  .says = "it is gone from the node" },
	{ "it is in another group", "vfio-pci", "vfio-pci", "13", .says = "it is in the IOMMU group 13 now" },
	{ "a driver of the host took another function of the group", "vfio-pci", "e1000e",
	  .says = TWIN " of its IOMMU group is bound to e1000e now" },
	{ "another function without a driver does not mind", "vfio-pci", NULL, .says = NULL },
	{ "nor one on a driver that the kernel lets beside it", "vfio-pci", "pci-stub", .says = NULL },
	/* clang-format on */
};

static void change_sysfs(const struct node1 *node, const struct now_case *row)
{
	auto_free char *device = xasprintf("%s/bus/pci/devices/" NIC, node->sysfs);
	auto_free char *away = xasprintf("%s/away", node->sysfs);

	node1_driver(node, NIC, row->driver);
	node1_driver(node, TWIN, row->twin_driver);
	if (row->group)
		node1_link(node, "bus/pci/devices/" NIC "/iommu_group",
			   "../../../../kernel/iommu_groups/13");
	if (row->gone)
		assert_int_equal(rename(device, away), 0);
}

static void is_checked_again(void **state)
{
	static const char *const functions[NODE1_LINES] = { FUNCTION(NIC, "vfio-pci", "12", ""),
							    FUNCTION(TWIN, "vfio-pci", "12", "") };
	static const char *const claims[2] = { NIC_CLAIM("", "", READY_OF("True")),
					       TWIN_CLAIM("", "", READY_OF("True")) };
	const struct now_case *row = suite_row(state);
	auto_free char *wanted =
		row->says ? xasprintf("device '" NIC "' is not ready: %s", row->says) : xstrdup("");
	struct allocation allocation = { 0 };
	struct json_strs ids = { 0 };
	struct err err = { 0 };
	struct pci_type *type;
	struct node1 *node = *state;

	open_case(node, functions, claims, NULL);
	json_strs_add(&ids, NIC);
	type = pci_type_new(&node->view);
	change_sysfs(node, row);
	assert_int_equal(pci_device_type.allocate(type, MODEL, &ids, &allocation, &err),
			 row->says ? -EHOSTDOWN : 0);
	assert_string_equal(err.msg, wanted);
	assert_same_nodes(&pci_device_type, type, &ids, row->says ? NULL : &allocation, wanted);
	allocation_done(&allocation);
	json_strs_done(&ids);
	pci_type_free(type);
}

static bool is_refused_unread(void *arg)
{
	struct allocation allocation = { 0 };
	struct json_strs ids = { 0 };
	struct err err = { 0 };

	json_strs_add(&ids, NIC);
	return pci_device_type.allocate(arg, MODEL, &ids, &allocation, &err) == -EHOSTDOWN &&
	       strcmp(err.msg, "device '" NIC "' is not ready: its IOMMU group cannot be read: "
			       "Input/output error") == 0;
}

/* The end of a list that broke off is not the end of the group. */
static void a_group_that_is_read_in_part_is_not_allocated(void **state)
{
	static const char *const functions[NODE1_LINES] = { FUNCTION(NIC, "vfio-pci", "12", "") };
	static const char *const claims[2] = { NIC_CLAIM("", "", READY_OF("True")) };
	struct pci_type *type;
	struct node1 *node = *state;

	open_case(node, functions, claims, NULL);
	type = pci_type_new(&node->view);
	assert_true(syscall_fails_for(SYS_getdents64, EIO, is_refused_unread, type));
	pci_type_free(type);
}

static void show(struct str *out, const struct allocation *allocation)
{
	assert_int_equal(allocation->envs.len, 1);
	assert_int_equal(allocation->mounts.len, 0);
	str_addf(out, "%s=%s", allocation->envs.items[0].key, allocation->envs.items[0].value);
	for (size_t i = 0; i < allocation->devices.len; i++) {
		const struct device_spec *spec = &allocation->devices.items[i];

		assert_string_equal(spec->container_path, spec->host_path);
		str_addf(out, " %s:%s", spec->host_path, spec->permissions);
	}
}

static struct json_strs words(const char *text)
{
	auto_free char *copy = xstrdup(text);
	struct json_strs list = { 0 };
	char *rest = copy;
	char *word;

	while ((word = strsep(&rest, " ")))
		json_strs_add(&list, word);
	return list;
}

static void put_own_node(struct node1 *node, const char *path)
{
	auto_free char *sys = folder_path(&node->folder, "sys");
	auto_free char *whole = xasprintf("%s/bus/pci/devices/%s", sys, path);

	for (char *slash = strchr(whole + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(whole, 0700);
		*slash = '/';
	}
	assert_int_equal(mkdir(whole, 0700), 0);
}

static void gives(void **state)
{
	const struct allocate_case *row = suite_row(state);
	struct json_strs ids = words(row->ids);
	struct allocation allocation = { 0 };
	auto_str struct str text = STR_INIT;
	struct err err = { 0 };
	struct pci_type *type;
	struct node1 *node = *state;

	open_case(node, row->lines, row->claims, row->nodes);
	if (row->own)
		put_own_node(node, row->own);
	type = pci_type_new(&node->view);
	if (pci_device_type.allocate(type, row->resource, &ids, &allocation, &err) < 0)
		str_add(&text, err.msg);
	else
		show(&text, &allocation);
	assert_string_equal(str_cstr(&text), row->gives);
	if (!err.code)
		assert_same_nodes(&pci_device_type, type, &ids, &allocation, NULL);
	allocation_done(&allocation);
	json_strs_done(&ids);
	pci_type_free(type);
}

static bool busy_of(void *arg, const char *address)
{
	return strcmp(arg, address) == 0;
}

static char *start_of(void *arg, const char *address)
{
	return strcmp(arg, address) == 0 ? xasprintf("a process has %s", address) : NULL;
}

/* Of a function, and of another one of its group: one pod at a time has functions of a group. */
static void no_container_starts_beside_a_process_of_a_former_pod(void **state)
{
	static const char *const both[NODE1_LINES] = { FUNCTION(NIC, "vfio-pci", "12", ""),
						       FUNCTION(TWIN, "vfio-pci", "12", "") };
	static const char *const claims[2] = { NIC_CLAIM("", "", READY_OF("True")),
					       TWIN_CLAIM("", "", READY_OF("True")) };
	char nic[] = NIC, twin[] = TWIN;
	char *const held[] = { nic, twin };
	struct json_strs ids = words(NIC);
	struct pci_type *type;
	struct node1 *node = *state;

	open_case(node, both, claims, NULL);
	type = pci_type_new(&node->view);
	node->view.start = start_of;
	node->view.busy = busy_of;
	for (size_t i = 0; i < ARRAY_LEN(held); i++) {
		auto_free char *says = xasprintf("a process has %s", held[i]);

		node->view.arg = held[i];
		assert_same_nodes(&pci_device_type, type, &ids, NULL, says);
		assert_int_equal(pci_device_type.is_busy(type, NIC), i == 0);
	}
	node->view.start = NULL;
	node->view.busy = NULL;
	json_strs_done(&ids);
	pci_type_free(type);
}

/* Addresses piled up from container to container, in one answer for all. */
static void a_second_container_gets_its_own_only(void **state)
{
	static const char *const lines[NODE1_LINES] = BOTH;
	static const char *const claims[2] = { NIC_CLAIM("", "", READY_OF("True")),
					       TWIN_CLAIM("", "", READY_OF("True")) };
	static const char *const wanted[] = {
		"PCI_RESOURCE_UNKNOWN_COM_10D3=" NIC " /dev/vfio/vfio:mrw /dev/vfio/12:mrw",
		"PCI_RESOURCE_UNKNOWN_COM_10D3=" TWIN " /dev/vfio/vfio:mrw /dev/vfio/13:mrw",
	};
	struct pci_type *type;
	struct node1 *node = *state;

	open_case(node, lines, claims, NULL);
	type = pci_type_new(&node->view);
	for (size_t i = 0; i < 2; i++) {
		struct json_strs ids = words(i ? TWIN : NIC);
		struct allocation allocation = { 0 };
		auto_str struct str text = STR_INIT;
		struct err err = { 0 };

		assert_int_equal(pci_device_type.allocate(type, MODEL, &ids, &allocation, &err), 0);
		show(&text, &allocation);
		assert_string_equal(str_cstr(&text), wanted[i]);
		allocation_done(&allocation);
		json_strs_done(&ids);
	}
	pci_type_free(type);
}

/* The file was watched, and its removal ended the watch: Unhealthy for ever. */
static void a_node_that_comes_back_makes_its_device_healthy_again(void **state)
{
	static const char *const lines[NODE1_LINES] = BOTH;
	static const char *const claims[2] = { NIC_CLAIM("", "", READY_OF("True")) };
	auto_free char *path = NULL;
	struct pci_type *type;
	struct node1 *node = *state;

	open_case(node, lines, claims, NULL);
	path = folder_path(&node->folder, "dev/vfio/12");
	type = pci_type_new(&node->view);
	for (int i = 0; i < 2; i++) {
		pci_type_offer(type, NULL);
		assert_string_equal(str_cstr(offered()), MODEL ": " NIC);
		assert_int_equal(unlink(path), 0);
		pci_type_offer(type, NULL);
		assert_string_equal(str_cstr(offered()),
				    MODEL ": " NIC "! (/dev/vfio/12 is not there)");
		folder_put(&node->folder, "dev/vfio/12", "");
	}
	str_done(offered());
	pci_type_free(type);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &node1_fixture);
	suite_rows(&suite, offers, is_offered);
	suite_rows(&suite, allocations, gives);
	suite_rows(&suite, nows, is_checked_again);
	suite_add(&suite, "a group whose list breaks off is not allocated",
		  a_group_that_is_read_in_part_is_not_allocated, NULL);
	suite_add(&suite, "no container starts beside a process of a former pod",
		  no_container_starts_beside_a_process_of_a_former_pod, NULL);
	suite_add(&suite, "kubevirt-contract 1.6 (6): a second container gets its own only",
		  a_second_container_gets_its_own_only, NULL);
	suite_add(&suite,
		  "kubevirt-contract 1.5: a node that comes back makes its device healthy again",
		  a_node_that_comes_back_makes_its_device_healthy_again, NULL);
	return suite_run(&suite, "pci_type");
}
