#include "agent/resource/node_numbers.h"

#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "agent/node/this_node.h"
#include "agent/resource/boot_record.h"
#include "agent/resource/pod_allocations.h"
#include "agent/resource/vfio_node.h"
#include "api/json_map.h"
#include "api/json_values.h"
#include "api/names.h"
#include "base/array.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/num.h"

enum { ATTRIBUTE_MAX = 32 };

struct numbers {
	dev_t *items;
	size_t len, cap;
};

/* A device that a pod has. */
struct allocated {
	struct numbers numbers; /* all that its nodes had since the pod has it */
	bool known;             /* they were read while it was there */
	bool lost;              /* it was gone before */
};

struct node_numbers {
	const struct this_node *node;
	struct node_numbers_deps deps;
	struct map *allocated; /* ID -> struct allocated * */
	/* The same of the previous agent, until the device is held or allocated */
	struct map *before;
	struct boot_record *record;
};

static struct allocated *allocated_free(struct allocated *allocated)
{
	if (allocated)
		array_done(&allocated->numbers);
	free(allocated);
	return NULL;
}

static void allocated_map_free(struct map *map)
{
	size_t cursor = 0;
	void *allocated;

	while (map_next(map, &cursor, NULL, &allocated))
		allocated_free(allocated);
	map_free(map);
}

/* --- the record ------------------------------------------------------------------------------- */

static void add_record(json_t *ids, const char *id, const struct allocated *allocated)
{
	json_t *list = json_array();

	for (size_t i = 0; i < allocated->numbers.len; i++)
		json_array_append_new(list, json_integer((json_int_t)allocated->numbers.items[i]));
	if (json_array_size(list) > 0)
		json_object_set_new(ids, id, list);
	else
		json_decref(list);
}

static void add_records(json_t *ids, const struct map *map)
{
	size_t cursor = 0;
	const char *id;
	void *allocated;

	while (map_next(map, &cursor, &id, &allocated))
		add_record(ids, id, allocated);
}

/* If it has changed. */
static void keep(struct node_numbers *numbers)
{
	json_t *ids = json_object();

	add_records(ids, numbers->before);
	add_records(ids, numbers->allocated);
	boot_record_keep(numbers->record, ids);
}

static void recall_one(struct node_numbers *numbers, const char *id, const json_t *list)
{
	struct allocated *allocated = xcalloc(1, sizeof(*allocated));
	json_t *item;
	size_t i;

	allocated->known = true;
	json_array_foreach (list, i, item) {
		if (json_is_integer(item))
			*array_add(&allocated->numbers) = (dev_t)json_integer_value(item);
	}
	allocated_free(map_set(numbers->before, id, allocated));
}

static void recall(struct node_numbers *numbers)
{
	auto_json json_t *before = NULL;
	const char *id;
	json_t *list;

	numbers->record = boot_record_new(numbers->node->helper.state_dir, "node-numbers.json",
					  "given", &before);
	json_object_foreach (before, id, list)
		recall_one(numbers, id, list);
}

/* --- devices ---------------------------------------------------------------------------------- */

static const char *sysfs_of(const struct node_numbers *numbers)
{
	return numbers->node->helper.sysfs_root ? numbers->node->helper.sysfs_root : "/sys";
}

static const char *bus_of(const char *id)
{
	if (pod_allocations_is_port(id))
		return "usb";
	return strchr(id, ':') ? "pci" : "mdev";
}

static char *folder_of(const struct node_numbers *numbers, const char *id)
{
	return xasprintf("%s/bus/%s/devices/%s", sysfs_of(numbers), bus_of(id), id);
}

static bool is_there(const struct node_numbers *numbers, const char *id)
{
	auto_free char *folder = folder_of(numbers, id);

	return access(folder, F_OK) == 0;
}

/* The IOMMU group that the device is in now; NULL: none, or it is gone. The caller frees. */
static char *group_of(const struct node_numbers *numbers, const char *id)
{
	auto_free char *folder = folder_of(numbers, id);
	auto_free char *path = xasprintf("%s/iommu_group", folder);

	return file_link_name(path);
}

static bool read_number(const char *folder, const char *name, uint64_t *ret_number)
{
	auto_free char *path = xasprintf("%s/%s", folder, name);
	auto_free char *text = NULL;

	return file_read(AT_FDCWD, path, ATTRIBUTE_MAX, &text, NULL, NULL) == 0 &&
	       str_to_u64(text, ret_number);
}

static void usb_node_of(const struct node_numbers *numbers, const char *id, struct json_strs *nodes)
{
	auto_free char *folder = folder_of(numbers, id);
	auto_free char *node = NULL;
	uint64_t bus;
	uint64_t device;

	if (!read_number(folder, "busnum", &bus) || !read_number(folder, "devnum", &device))
		return;
	node = xasprintf("/dev/bus/usb/%03" PRIu64 "/%03" PRIu64, bus, device);
	json_strs_add(nodes, node);
}

/* The nodes through which the function or mediated device is used now: its group's, and its own. */
static void vfio_nodes_of(const struct node_numbers *numbers, const char *id,
			  struct json_strs *nodes)
{
	const struct helper_place *place = &numbers->node->helper;
	auto_free char *group = group_of(numbers, id);
	auto_free char *node = vfio_group_node(group);
	auto_free char *own = strchr(id, ':')
				      ? vfio_own_node(place->sysfs_root, place->dev_root, id)
				      : vfio_mdev_node(place->sysfs_root, place->dev_root, id);

	if (node)
		json_strs_add(nodes, node);
	if (own)
		json_strs_add(nodes, own);
}

static void nodes_of(const struct node_numbers *numbers, const char *id, struct json_strs *nodes)
{
	if (pod_allocations_is_port(id))
		usb_node_of(numbers, id, nodes);
	else
		vfio_nodes_of(numbers, id, nodes);
}

/* Has the kernel such a node of VFIO, whether or not /dev shows it? */
static bool has_kernel(const struct node_numbers *numbers, const char *node)
{
	auto_free char *path =
		xasprintf("%s/class/vfio/%s", sysfs_of(numbers), strrchr(node, '/') + 1);

	return access(path, F_OK) == 0;
}

/* False: it has none that can be read. */
static bool number_of(const struct node_numbers *numbers, const char *node, dev_t *ret_number)
{
	auto_free char *path = vfio_node_path(numbers->node->helper.dev_root, node);
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISCHR(st.st_mode))
		return false;
	*ret_number = st.st_rdev;
	return true;
}

static bool has_number(const struct allocated *allocated, dev_t number)
{
	for (size_t i = 0; i < allocated->numbers.len; i++) {
		if (allocated->numbers.items[i] == number)
			return true;
	}
	return false;
}

/* A device that is not on a VFIO driver has no node, and then no number is known to be its. */
static void read_numbers(struct node_numbers *numbers, const char *id, struct allocated *allocated)
{
	struct json_strs nodes = { 0 };
	bool known = is_there(numbers, id);
	dev_t number;

	allocated->lost = allocated->lost || (!known && !allocated->known);
	nodes_of(numbers, id, &nodes);
	for (size_t i = 0; i < nodes.len; i++) {
		if (!number_of(numbers, nodes.items[i], &number))
			known = known && !has_kernel(numbers, nodes.items[i]);
		else if (!has_number(allocated, number))
			*array_add(&allocated->numbers) = number;
	}
	allocated->known = allocated->known || known;
	json_strs_done(&nodes);
}

static void update_id(struct node_numbers *numbers, const char *id)
{
	struct allocated *allocated;

	if (!pod_allocations_is_device(id) && !pod_allocations_is_port(id))
		return;
	allocated = map_get(numbers->allocated, id);
	if (!allocated) {
		allocated = map_remove(numbers->before, id);
		if (!allocated)
			allocated = xcalloc(1, sizeof(*allocated));
		map_set(numbers->allocated, id, allocated);
	}
	read_numbers(numbers, id, allocated);
}

void node_numbers_update(struct node_numbers *numbers)
{
	struct json_strs ids = { 0 };
	struct map *before = numbers->allocated;
	void *allocated;

	numbers->deps.held(numbers->deps.arg, &ids);
	numbers->allocated = map_new();
	for (size_t i = 0; i < ids.len; i++) {
		allocated = map_remove(before, ids.items[i]);
		if (allocated)
			map_set(numbers->allocated, ids.items[i], allocated);
		update_id(numbers, ids.items[i]);
	}
	allocated_map_free(before);
	json_strs_done(&ids);
	keep(numbers);
}

void node_numbers_allocate(struct node_numbers *numbers, const struct json_strs *ids)
{
	for (size_t i = 0; i < ids->len; i++) {
		auto_free char *copy = xstrdup(ids->items[i]);
		char *rest = copy;
		const char *id;

		while ((id = strsep(&rest, ","))) {
			allocated_free(map_remove(numbers->allocated, id));
			allocated_free(map_remove(numbers->before, id));
			update_id(numbers, id);
		}
	}
	keep(numbers);
}

/* May the device @id have the number of @other, which a pod has? Devices of one group have one
 * node; that a group has one pod is seen to elsewhere (group_pods.h). */
static bool goes_along(const struct node_numbers *numbers, const char *id, const char *other)
{
	auto_free char *group = group_of(numbers, id);
	auto_free char *others = group_of(numbers, other);

	return (group && others && strcmp(group, others) == 0) ||
	       numbers->deps.same_pod(numbers->deps.arg, id, other);
}

/* A pod had another device with one of these nodes' numbers. */
static char *other_trouble(const struct node_numbers *numbers, const char *id,
			   const struct json_strs *nodes, const char *other,
			   const struct allocated *allocated)
{
	auto_free char *holder = NULL;
	dev_t number;

	for (size_t i = 0; i < nodes->len; i++) {
		if (!number_of(numbers, nodes->items[i], &number) ||
		    !has_number(allocated, number) || goes_along(numbers, id, other))
			continue;
		holder = numbers->deps.holder(numbers->deps.arg, other);
		return xasprintf("%s has the number %u:%u, which %s was given for %s before that "
				 "device disappeared: delete that pod",
				 nodes->items[i], major(number), minor(number), holder, other);
	}
	return NULL;
}

/* What is not known is not free. */
static char *lost_trouble(const struct node_numbers *numbers, const char *other)
{
	auto_free char *holder = numbers->deps.holder(numbers->deps.arg, other);

	return xasprintf("%s has %s, which is gone from the node, and the number of its device "
			 "node is not known, which may be this one's: delete that pod",
			 holder, other);
}

char *node_numbers_trouble(struct node_numbers *numbers, const char *id)
{
	bool held = map_get(numbers->allocated, id);
	struct json_strs nodes = { 0 };
	char *trouble = NULL;
	const char *other;
	size_t cursor = 0;
	void *value;

	nodes_of(numbers, id, &nodes);
	while (!trouble && map_next(numbers->allocated, &cursor, &other, &value)) {
		struct allocated *allocated = value;

		if (strcmp(other, id) == 0)
			continue;
		if (!allocated->known)
			read_numbers(numbers, other, allocated);
		trouble = other_trouble(numbers, id, &nodes, other, allocated);
		if (!trouble && allocated->lost && !held && !pod_allocations_is_port(id) &&
		    !pod_allocations_is_port(other))
			trouble = lost_trouble(numbers, other);
	}
	json_strs_done(&nodes);
	return trouble;
}

/* Has the device now one of the nodes' numbers? */
static bool has_now(const struct node_numbers *numbers, const struct json_strs *nodes, dev_t number)
{
	dev_t now;

	for (size_t i = 0; i < nodes->len; i++) {
		if (number_of(numbers, nodes->items[i], &now) && now == number)
			return true;
	}
	return false;
}

/* May a pod open a number that the device @id, which it has, has lost? */
static bool has_unused_number(const struct node_numbers *numbers, const char *id,
			      const struct allocated *allocated)
{
	struct json_strs nodes = { 0 };
	bool left = false;

	nodes_of(numbers, id, &nodes);
	for (size_t i = 0; i < allocated->numbers.len && !left; i++)
		left = !has_now(numbers, &nodes, allocated->numbers.items[i]);
	json_strs_done(&nodes);
	return left;
}

/* The message does not name the pod, which may be another user's. */
static char *next_trouble(const struct node_numbers *numbers, const char *other)
{
	auto_free char *name =
		strchr(other, ':') ? names_pcidevice(numbers->node->name, other) : xstrdup(other);

	return xasprintf(
		"a pod may still open the device node that it was given for %s, which is gone, and "
		"the kernel would give the number of that node to this device: delete that pod; "
		"kubectl hostdev who %s names it",
		other, name);
}

static bool has_node(const struct node_numbers *numbers, const char *id)
{
	struct json_strs nodes = { 0 };
	bool has = false;
	dev_t number;

	nodes_of(numbers, id, &nodes);
	for (size_t i = 0; i < nodes.len && !has; i++)
		has = number_of(numbers, nodes.items[i], &number) ||
		      has_kernel(numbers, nodes.items[i]);
	json_strs_done(&nodes);
	return has;
}

char *node_numbers_bind_trouble(struct node_numbers *numbers, const char *id)
{
	char *trouble = NULL;
	const char *other;
	size_t cursor = 0;
	void *value;
	bool held;

	if (has_node(numbers, id))
		return NULL;
	node_numbers_update(numbers);
	held = map_get(numbers->allocated, id);
	while (!trouble && map_next(numbers->allocated, &cursor, &other, &value)) {
		const struct allocated *allocated = value;

		if (strcmp(other, id) == 0 || pod_allocations_is_port(other) ||
		    goes_along(numbers, id, other))
			continue;
		if ((allocated->lost && !held) || has_unused_number(numbers, other, allocated))
			trouble = next_trouble(numbers, other);
	}
	return trouble;
}

struct node_numbers *node_numbers_new(const struct this_node *node,
				      const struct node_numbers_deps *deps)
{
	struct node_numbers *numbers = xcalloc(1, sizeof(*numbers));

	numbers->node = node;
	numbers->deps = *deps;
	numbers->allocated = map_new();
	numbers->before = map_new();
	recall(numbers);
	return numbers;
}

struct node_numbers *node_numbers_free(struct node_numbers *numbers)
{
	if (!numbers)
		return NULL;
	allocated_map_free(numbers->allocated);
	allocated_map_free(numbers->before);
	boot_record_free(numbers->record);
	free(numbers);
	return NULL;
}
