/* group_pods: which functions of an IOMMU group a pod may still get while another has one. */
#include "agent/resource/group_pods.h"

#include "agent/resource/ledger.h"
#include "unit/resource/node1.h"

#define SAYS   "IOMMU group 12 serves one pod at a time, and "
#define JUST   SAYS NIC " of it was just allocated to another container"
#define LISTED SAYS "a pod has " NIC " of it"
#define WROTE  SAYS NIC " of it belongs to a pod in the checkpoint"
#define CLAIM  SAYS NIC " of it is prepared for a ResourceClaim"
#define THIRD  "0000:03:00.0"
#define GPU    "a.io/gpu"
#define AUDIO  "a.io/audio"

/* NIC was given in the call 5, if at all. */
static struct group_case {
	const char *name;
	const char *twin_group;   /* NULL: "12", the other one's    */
	const char *allocated_as; /* NIC, as this resource; NULL: not */
	bool open;                /* the container that was given NIC is not done yet */
	bool long_ago;
	uint64_t own_call; /* the one that gave the device that is asked for; 0: none    */
	bool listed;       /* a list says that n/p has NIC                               */
	char own_pod[2];   /* and that this pod has the device itself; "": none has      */
	bool same_pod;     /* what the kubelet has told since gives both devices to one  */
	bool written;      /* the kubelet has not spoken, and its checkpoint names NIC   */
	const char *with;  /* asked for in the same call; NULL: nothing is */
	bool for_list;     /* for the device list                 */
	bool claimed;      /* NIC is prepared for a ResourceClaim  */
	bool own_claimed;  /* so is the one that is asked for      */
	const char *says;  /* NULL: it may be given               */
} rows[] = {
	/* clang-format off */
	{ "of a free group anything may be given", .says = NULL },
	{ "another call for the same resource is another container", .allocated_as = GPU, .open = true, .says = JUST },
	{ "and so it is later", .allocated_as = GPU, .says = JUST },
	{ "by another resource it is the same container while that is not done", .allocated_as = AUDIO, .open = true },
	{ "but not when that has all it asked for, however lately", .allocated_as = AUDIO, .says = JUST },
	{ "nor if a list names the pod by then", .allocated_as = AUDIO, .listed = true, .says = LISTED },
	{ "of one call it is the same container", .allocated_as = GPU, .with = NIC },
	{ "of the list it is the same pod for a while", .allocated_as = GPU, .for_list = true },
	{ "also if it is listed already", .allocated_as = GPU, .listed = true, .for_list = true },
	{ "then it is not", .allocated_as = GPU, .long_ago = true, .for_list = true, .says = JUST },
	{ "nor if the pod was listed long ago", .listed = true, .for_list = true, .says = LISTED },
	{ "what was allocated may be allocated again", .allocated_as = GPU, .own_call = 5 },
	{ "also if it was since", .allocated_as = GPU, .own_call = 6 },
	{ "not if the other was allocated a moment later", .allocated_as = AUDIO, .own_call = 4, .says = JUST },
	{ "but to the same pod", .allocated_as = AUDIO, .own_call = 4, .same_pod = true },
	{ "what is allocated again brings along what its pod got by another resource", .twin_group = "12",
	  .allocated_as = AUDIO, .with = THIRD },
	{ "not if another container has got the other since", .allocated_as = GPU, .own_call = 1, .says = JUST },
	{ "nor if that is listed already", .listed = true, .own_call = 5, .allocated_as = NULL, .says = LISTED },
	{ "a pod that has both keeps both", .listed = true, .own_pod = "p", .same_pod = true },
	{ "two lists that name it are no proof by themselves", .listed = true, .own_pod = "p", .says = LISTED },
	{ "two pods that have one each are reported", .listed = true, .own_pod = "q", .says = LISTED },
	{ "who had it before is no reason when the other was allocated since", .own_pod = "q", .allocated_as = GPU,
	  .says = JUST },
	{ "another group does not mind", .twin_group = "13", .allocated_as = GPU },
	{ "a pod that is listed has the group", .listed = true, .says = LISTED },
	{ "a list does not end the moment of a container", .listed = true, .allocated_as = AUDIO, .open = true },
	{ "what is written down counts until the kubelet answers", .written = true, .says = WROTE },
	{ "also for the list", .written = true, .for_list = true, .says = WROTE },
	{ "but not against the pod that has both", .written = true, .same_pod = true },
	{ "nor against whoever asks for both", .written = true, .with = NIC },
	{ "nor against a container that is not done", .written = true, .allocated_as = AUDIO, .open = true },
	{ "what a ResourceClaim has goes before all others", .claimed = true, .says = CLAIM },
	{ "whatever the calls say", .claimed = true, .allocated_as = AUDIO, .open = true, .same_pod = true, .says = CLAIM },
	{ "also for the list of devices", .claimed = true, .for_list = true, .says = CLAIM },
	{ "but not for another group", .claimed = true, .twin_group = "13" },
	{ "nor what is asked for with it", .claimed = true, .with = NIC },
	{ "nor what the same ResourceClaim has", .claimed = true, .own_claimed = true, .for_list = true },
	{ "but what a pod has is nothing for a ResourceClaim", .listed = true, .own_claimed = true, .for_list = true,
	  .says = LISTED },
	/* clang-format on */
};

static const struct pcidevice_allocations *pods_of(void *arg, const char *address)
{
	static char ns[] = "n", pod[] = "p", container[] = "c";
	static struct pcidevice_allocation item = { ns, pod, container, NULL };
	static const struct pcidevice_allocations one = { .items = &item, .len = 1 };
	static struct pcidevice_allocation own_item;
	static const struct pcidevice_allocations own = { .items = &own_item, .len = 1 };
	struct group_case *row = arg;

	own_item = (struct pcidevice_allocation){ ns, row->own_pod, container, NULL };
	if (strcmp(address, NIC) == 0)
		return row->listed ? &one : NULL;
	return *row->own_pod ? &own : NULL;
}

/* THIRD is the pod's that was given NIC, and came with it. */
static struct ledger_allocation allocation_of(void *arg, const char *address)
{
	const struct group_case *row = arg;

	if (strcmp(address, TWIN) == 0)
		return (struct ledger_allocation){ .call = row->own_call,
						   .resource = row->own_call ? GPU : NULL };
	return (struct ledger_allocation){ .call = 5,
					   .resource = row->allocated_as,
					   .open = row->open,
					   .recent = row->allocated_as && !row->long_ago };
}

static const char *written(void *arg, const char *address)
{
	const struct group_case *row = arg;

	return row->written && strcmp(address, NIC) == 0 ? "a pod in the checkpoint" : NULL;
}

static bool is_same_pod(void *arg, const char *a, const char *b)
{
	const struct group_case *row = arg;

	return row->same_pod && strcmp(a, TWIN) == 0 && strcmp(b, NIC) == 0;
}

static bool is_claimed(void *arg, const char *address)
{
	const struct group_case *row = arg;

	return strcmp(address, NIC) == 0 ? row->claimed : row->own_claimed;
}

static void is_judged(void **state)
{
	struct group_case *row = suite_row(state);
	auto_free char *twin = xasprintf(FUNCTION(TWIN, "vfio-pci", "%s", ""),
					 row->twin_group ? row->twin_group : "12");
	const char *const lines[NODE1_LINES] = { FUNCTION(NIC, "vfio-pci", "12", ""), twin };
	struct json_strs asked = { 0 };
	auto_free char *says = NULL;
	struct node1 *node = *state;

	node1_open(node, lines);
	json_strs_add(&asked, TWIN);
	if (row->with)
		json_strs_add(&asked, row->with);
	node->view.pods = pods_of;
	node->view.allocation = allocation_of;
	node->view.written = written;
	node->view.same_pod = is_same_pod;
	node->view.claimed = is_claimed;
	node->view.arg = row;
	says = group_pods_trouble(
		&node->view,
		inventory_find(node->world.inventory, INVENTORY_PCI, "node1-000002000"), GPU,
		row->for_list ? NULL : &asked);
	assert_string_equal(says ? says : "", row->says ? row->says : "");
	json_strs_done(&asked);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &node1_fixture);
	suite_rows(&suite, rows, is_judged);
	return suite_run(&suite, "group_pods");
}
