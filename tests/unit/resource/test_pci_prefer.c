/* Which PCI functions are proposed to the kubelet for a container. */
#include "agent/plugin/device_type.h"
#include "unit/resource/node1.h"

#define THIRD "0000:03:00.0"
#define MODEL "unknown.com/10d3"

static struct prefer_case {
	const char *name;
	const char *taken; /* by pod n/p; NULL: nothing is */
	const char *musts;
	const char *ids;
	const char *kept;
} rows[] = {
	/* clang-format off */
	{ "what is free", NULL, "", NIC " " TWIN " " THIRD, NIC " " TWIN " " THIRD },
	{ "not of a group that a pod has", NIC, "", TWIN " " THIRD, THIRD },
	{ "not even if there is nothing else", NIC, "", TWIN, "" },
	{ "but to the pod that gets the other again", NIC, NIC, TWIN " " THIRD, TWIN " " THIRD },
	{ "another group's must is no reason", NIC, THIRD, TWIN, "" },
	{ "nothing that is no device", NULL, "", "0000:09:00.0 " NIC, NIC },
	/* clang-format on */
};

static const struct pcidevice_allocations *pods_of(void *arg, const char *address)
{
	static char ns[] = "n", pod[] = "p", container[] = "c";
	static struct pcidevice_allocation item = { ns, pod, container, NULL };
	static const struct pcidevice_allocations one = { .items = &item, .len = 1 };
	const struct prefer_case *row = arg;

	return row->taken && strcmp(row->taken, address) == 0 ? &one : NULL;
}

static struct json_strs words(const char *text)
{
	struct json_strs all = { 0 };
	auto_free char *copy = xstrdup(text);
	char *rest = copy;
	const char *word;

	while (*text && (word = strsep(&rest, " ")))
		json_strs_add(&all, word);
	return all;
}

static void is_kept(void **state)
{
	static const char *const lines[NODE1_LINES] = { FUNCTION(NIC, "vfio-pci", "12", ""),
							FUNCTION(TWIN, "vfio-pci", "12", ""),
							FUNCTION(THIRD, "vfio-pci", "13", "") };
	struct prefer_case *row = suite_row(state);
	struct json_strs musts = words(row->musts);
	struct json_strs ids = words(row->ids);
	auto_str struct str kept = STR_INIT;
	struct pci_type *type;
	struct node1 *node = *state;

	node1_open(node, lines);
	node->view.pods = pods_of;
	node->view.arg = row;
	type = pci_type_new(&node->view);
	pci_device_type.prefer(type, MODEL, &musts, &ids);
	for (size_t i = 0; i < ids.len; i++)
		str_addf(&kept, "%s%s", i ? " " : "", ids.items[i]);
	assert_string_equal(str_cstr(&kept), row->kept);
	json_strs_done(&musts);
	json_strs_done(&ids);
	pci_type_free(type);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &node1_fixture);
	suite_rows(&suite, rows, is_kept);
	return suite_run(&suite, "pci_prefer");
}
