#include "cli/model/pick.h"

#include <stdlib.h>
#include <string.h>

#include "api/condition.h"
#include "api/meta.h"
#include "api/node.h"
#include "api/pcidevice.h"
#include "base/map.h"
#include "base/mem.h"
#include "cli/model/cluster.h"

char *pick_key(const struct cluster_device *device)
{
	return xasprintf("%s/%s", device_type_word(device->type), device->name);
}

static bool has(const struct map *map, const struct cluster_device *device)
{
	auto_free char *key = pick_key(device);

	return map && map_get(map, key);
}

bool pick_matches(const struct pick_want *want, const struct cluster_device *device)
{
	return device->is_there && strcmp(device->resource, want->resource) == 0 &&
	       (!want->node || strcmp(device->node, want->node) == 0);
}

/* --- one device ------------------------------------------------------------------------------- */

/* As in the agent: bridges and functions without a driver do not count in a group. */
static bool counts_in_group(const struct cluster_device *device)
{
	return device->driver[0] && strncmp(device->class_id, "0604", 4) != 0;
}

/* The next other function of the device's IOMMU group that is listed, NULL after the last one. */
static const struct cluster_device *
next_sibling(struct cluster *cluster, const struct cluster_device *device, size_t *cursor)
{
	const struct pcidevice *pci = device->type == DEVICE_PCI ? device->object : NULL;

	while (pci && *cursor < pci->status.iommu_group_members.len) {
		const char *address = pci->status.iommu_group_members.items[(*cursor)++];
		const struct cluster_device *sibling =
			cluster_device_at(cluster, device->node, address);

		if (sibling && sibling != device)
			return sibling;
	}
	return NULL;
}

/* Would a claim of the whole group be carried out with this function in it? */
static bool sibling_fits(const struct pick_want *want, const struct cluster_device *sibling)
{
	if (has(want->held, sibling))
		return true;
	if (sibling->claim || sibling->verdict.state == STATE_USED)
		return false;
	return !counts_in_group(sibling) || sibling->conflict == CONFLICT_GROUP ||
	       sibling->verdict.state == STATE_CLAIMABLE;
}

static bool siblings_fit(struct cluster *cluster, const struct pick_want *want,
			 const struct cluster_device *device)
{
	const struct cluster_device *sibling;
	size_t cursor = 0;

	while ((sibling = next_sibling(cluster, device, &cursor))) {
		if (!sibling_fits(want, sibling))
			return false;
	}
	return true;
}

bool pick_is_shared(const struct cluster_device *device)
{
	return device->verdict.state == STATE_CLAIMABLE &&
	       strcmp(device->verdict.reason, "GroupShared") == 0;
}

enum pick_state pick_judge(struct cluster *cluster, const struct pick_want *want,
			   const struct cluster_device *device)
{
	if (has(want->held, device))
		return PICK_HELD;
	if (device->claim && device->claim->deletion_timestamp)
		return PICK_RELEASING;
	if (device->verdict.state == STATE_USED)
		return PICK_USED;
	if (device->claim)
		return PICK_CLAIMED;
	if (has(want->refused, device))
		return PICK_REFUSED;
	if (device->verdict.state != STATE_CLAIMABLE)
		return PICK_OTHER;
	/* The claim that has the whole group may be one that the caller holds. */
	if (device->conflict == CONFLICT_GROUP && !want->groups)
		return PICK_GROUP;
	if (!want->groups && pick_is_shared(device))
		return PICK_SHARED;
	if (want->groups && !siblings_fit(cluster, want, device))
		return PICK_SIBLING;
	return PICK_FREE;
}

/* --- the choice ------------------------------------------------------------------------------- */

/* A device that may be picked. */
struct spot {
	struct cluster_device *device;
	bool held;
	bool twin;     /* only its address distinguishes it from another one */
	size_t others; /* functions that its claim would take besides */
	bool taken;
};

/* The spots of one node, and the devices that are picked. */
struct choice {
	struct spot *spots; /* in the order of the view */
	size_t len;
	struct cluster_device **picked;
	size_t picked_len;
};

/* The spots of one node, one NUMA node or one group that are not taken. */
struct share {
	struct spot *first;
	size_t len;
	size_t held;
	size_t twins;
	bool cordoned; /* of nodes: no new pod gets there */
	bool near;     /* likewise: one of its NUMA nodes has enough */
};

static bool same_numa(const struct spot *a, const struct spot *b)
{
	return a->device->numa_node == b->device->numa_node;
}

/* Without an IOMMU group, a device is a group of its own. */
static bool same_group(const struct spot *a, const struct spot *b)
{
	return a == b || (same_numa(a, b) && a->device->group[0] &&
			  strcmp(a->device->group, b->device->group) == 0);
}

typedef bool same_fn(const struct spot *a, const struct spot *b);

static struct share share_of(const struct choice *choice, struct spot *of, same_fn *same)
{
	struct share share = { .first = of };

	for (size_t i = 0; i < choice->len; i++) {
		const struct spot *spot = &choice->spots[i];

		if (spot->taken || !same(of, spot))
			continue;
		share.len++;
		share.held += spot->held;
		share.twins += spot->twin;
	}
	return share;
}

/* These compare shares: negative if @a is better. Of equal ones, the first one is taken. */
typedef int compare_fn(const struct share *a, const struct share *b, size_t need);

static int more(size_t a, size_t b)
{
	return a == b ? 0 : a > b ? -1 : 1;
}

/* Of those that have enough, the first one; else the largest. */
static int enough(const struct share *a, const struct share *b, size_t need)
{
	int r = more(a->len >= need, b->len >= need);

	return r == 0 && a->len < need ? more(a->len, b->len) : r;
}

static int compare_nodes(const struct share *a, const struct share *b, size_t need)
{
	int r = more(a->held, b->held);

	if (r == 0)
		r = more(!a->cordoned, !b->cordoned);
	if (r == 0)
		r = enough(a, b, need);
	return r ? r : more(a->near, b->near);
}

static int compare_numas(const struct share *a, const struct share *b, size_t need)
{
	int r = more(a->held, b->held);

	if (r == 0)
		r = enough(a, b, need);
	return r ? r : a->first->device->numa_node - b->first->device->numa_node;
}

/* A group that is used up leaves no function that nobody else can have. */
static int compare_groups(const struct share *a, const struct share *b, size_t need)
{
	int r = more(a->held, b->held);

	if (r == 0)
		r = more(b->twins, a->twins);
	if (r == 0)
		r = more(a->len <= need, b->len <= need);
	if (r == 0)
		r = a->len <= need ? more(a->len, b->len) : more(b->len, a->len);
	return r ? r : more(b->first->others, a->first->others);
}

/* The best share, of those of the NUMA node of @numa if that is not NULL. */
static struct share best_share(const struct choice *choice, const struct spot *numa, same_fn *same,
			       compare_fn *compare, size_t need)
{
	struct share best = { 0 };

	for (size_t i = 0; i < choice->len; i++) {
		struct spot *spot = &choice->spots[i];
		struct share share;

		if (spot->taken || (numa && !same_numa(numa, spot)))
			continue;
		share = share_of(choice, spot, same);
		if (!best.first || compare(&share, &best, need) < 0)
			best = share;
	}
	return best;
}

/* Take up to @need spots of a group, those that the caller holds first. */
static size_t take_group(struct choice *choice, const struct spot *group, size_t need)
{
	size_t taken = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < choice->len && taken < need; i++) {
			struct spot *spot = &choice->spots[i];

			if (spot->taken || spot->held != (pass == 0) || !same_group(group, spot))
				continue;
			spot->taken = true;
			choice->picked[choice->picked_len++] = spot->device;
			taken++;
		}
	}
	return taken;
}

/* Take @need of the node's spots, which are enough. */
static void take_node(struct choice *choice, size_t need)
{
	while (need > 0) {
		struct share numa = best_share(choice, NULL, same_numa, compare_numas, need);
		size_t left = numa.len < need ? numa.len : need;

		need -= left;
		while (left > 0) {
			struct share group =
				best_share(choice, numa.first, same_group, compare_groups, left);

			left -= take_group(choice, group.first, left);
		}
	}
}

static bool is_twin(const struct cluster_device *device)
{
	const struct api_condition *c =
		device->conditions ? api_conditions_find(device->conditions, "Distinguishable")
				   : NULL;

	return c && c->status && strcmp(c->status, "False") == 0;
}

static size_t count_others(struct cluster *cluster, const struct cluster_device *device)
{
	const struct cluster_device *sibling;
	size_t cursor = 0;
	size_t len = 0;

	while ((sibling = next_sibling(cluster, device, &cursor)))
		len += counts_in_group(sibling);
	return len;
}

static size_t find_spots(struct cluster *cluster, const struct pick_want *want, struct spot *spots)
{
	const struct cluster_view *view = cluster_view(cluster);
	size_t len = 0;

	for (size_t i = 0; i < view->len; i++) {
		struct cluster_device *device = &view->devices[i];
		enum pick_state state;

		if (!pick_matches(want, device))
			continue;
		state = pick_judge(cluster, want, device);
		if (state != PICK_FREE && state != PICK_HELD)
			continue;
		spots[len++] = (struct spot){
			.device = device,
			.held = state == PICK_HELD,
			.twin = is_twin(device),
			.others = count_others(cluster, device),
		};
	}
	return len;
}

static struct share share_of_node(struct cluster *cluster, struct spot *first, size_t len,
				  size_t need)
{
	struct choice choice = { .spots = first, .len = len };
	const struct node *node = cluster_get(cluster, CLUSTER_NODE, first->device->node);
	struct share share = {
		.first = first,
		.len = len,
		.cordoned = node && node->spec.unschedulable,
	};

	for (size_t i = 0; i < len; i++)
		share.held += first[i].held;
	if (len >= need)
		share.near = best_share(&choice, NULL, same_numa, compare_numas, need).len >= need;
	return share;
}

static size_t divide_by_node(struct cluster *cluster, struct spot *spots, size_t len,
			     struct share *nodes, size_t need)
{
	size_t nodes_len = 0;

	for (size_t i = 0, n; i < len; i += n) {
		for (n = 1; i + n < len; n++) {
			if (strcmp(spots[i].device->node, spots[i + n].device->node) != 0)
				break;
		}
		nodes[nodes_len++] = share_of_node(cluster, &spots[i], n, need);
	}
	return nodes_len;
}

/* The best node with at least @min spots, of those that are not used up. */
static struct share *best_node(struct share *nodes, size_t len, size_t min, size_t need)
{
	struct share *best = NULL;

	for (size_t i = 0; i < len; i++) {
		if (nodes[i].len >= min && (!best || compare_nodes(&nodes[i], best, need) < 0))
			best = &nodes[i];
	}
	return best;
}

static int by_name(const void *a, const void *b)
{
	const struct cluster_device *const *x = a;
	const struct cluster_device *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static struct cluster_device **pick_of_nodes(const struct pick_want *want, struct share *nodes,
					     size_t len)
{
	struct cluster_device **picked = xcalloc(want->count, sizeof(struct cluster_device *));
	size_t left = want->count;

	while (left > 0) {
		struct share *node = best_node(nodes, len, left, left);
		struct choice choice = { .picked = &picked[want->count - left] };
		size_t need;

		if (!node && want->any_node)
			node = best_node(nodes, len, 1, left);
		if (!node) {
			free(picked);
			return NULL;
		}
		need = node->len < left ? node->len : left;
		choice.spots = node->first;
		choice.len = node->len;
		take_node(&choice, need);
		left -= need;
		node->len = 0;
	}
	/* In one order for all callers: of two who want the same devices, one gets the first. */
	qsort(picked, want->count, sizeof(struct cluster_device *), by_name);
	return picked;
}

struct cluster_device **pick_devices(struct cluster *cluster, const struct pick_want *want)
{
	size_t max = cluster_view(cluster)->len + 1;
	auto_free struct spot *spots = xcalloc(max, sizeof(*spots));
	auto_free struct share *nodes = xcalloc(max, sizeof(*nodes));
	size_t len = find_spots(cluster, want, spots);

	len = divide_by_node(cluster, spots, len, nodes, want->count);
	return pick_of_nodes(want, nodes, len);
}
