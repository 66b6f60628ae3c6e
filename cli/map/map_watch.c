#include "cli/map/map_watch.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "api/event.h"
#include "api/kind.h"
#include "api/mediateddevice.h"
#include "api/migconfiguration.h"
#include "api/names.h"
#include "api/node.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/resourceclaim.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "api/vgpudevice.h"
#include "base/json_write.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/map/map_board.h"
#include "cli/map/map_card.h"
#include "cli/map/map_errors.h"
#include "cli/model/cluster.h"
#include "cli/model/dra.h"
#include "cli/model/node_fault.h"
#include "kube/informer.h"
#include "kube/store.h"

enum map_kind {
	MAP_PCI,
	MAP_PCI_CLAIM,
	MAP_USB,
	MAP_USB_CLAIM,
	MAP_MDEV,
	MAP_VGPU,
	MAP_MIG,
	MAP_NODE,
	MAP_RESOURCECLAIM,
	MAP_EVENT_DEVICE,
	MAP_EVENT_OWN,
	MAP_KINDS
};

/* The id of a card: prefix, "/" and name. A claim is shown on the card of its device. */
struct map_kind_row {
	const struct api_kind *kind;
	const char *prefix;
	const char *fields; /* field selector; NULL: none */
};

extern const struct map_kind_row map_kinds[MAP_KINDS];

const struct map_kind_row map_kinds[MAP_KINDS] = {
	[MAP_PCI] = { &pcidevice_kind, "pci", NULL },
	[MAP_PCI_CLAIM] = { &pcideviceclaim_kind, "pci", NULL },
	[MAP_USB] = { &usbdevice_kind, "usb", NULL },
	[MAP_USB_CLAIM] = { &usbdeviceclaim_kind, "usb", NULL },
	[MAP_MDEV] = { &mediateddevice_kind, "mdev", NULL },
	[MAP_VGPU] = { &vgpudevice_kind, "vgpu", NULL },
	[MAP_MIG] = { &migconfiguration_kind, "mig", NULL },
	[MAP_NODE] = { &node_kind, "node", NULL },
	/* They have no card, but are shown on those of their devices. */
	[MAP_RESOURCECLAIM] = { &resourceclaim_kind, "resourceclaim", NULL },
	/* Watch only events about devices. */
	[MAP_EVENT_DEVICE] = { &event_kind, "event",
			       "involvedObject.apiVersion=devices.harvesterhci.io/v1beta1" },
	[MAP_EVENT_OWN] = { &event_kind, "event", "involvedObject.apiVersion=hostdev.io/v1alpha1" },
};

/* The node in the object; may be NULL. */
static const char *node_of_object(enum map_kind what, const void *object)
{
	switch (what) {
	case MAP_PCI:
		return ((const struct pcidevice *)object)->status.node_name;
	case MAP_PCI_CLAIM:
		return ((const struct pcideviceclaim *)object)->spec.node_name;
	case MAP_USB:
		return ((const struct usbdevice *)object)->status.node_name;
	case MAP_USB_CLAIM:
		return ((const struct usbdeviceclaim *)object)->status.node_name;
	case MAP_MDEV:
		return ((const struct mediateddevice *)object)->status.node_name;
	case MAP_VGPU:
		return ((const struct vgpudevice *)object)->spec.node_name;
	case MAP_MIG:
		return ((const struct migconfiguration *)object)->spec.node_name;
	case MAP_NODE:
		return ((const struct node *)object)->meta.name;
	case MAP_RESOURCECLAIM:
	case MAP_EVENT_DEVICE:
	case MAP_EVENT_OWN:
	case MAP_KINDS:
		break;
	}
	return NULL;
}

/* The node of @object, or that it is; "" if not known. */
static const char *map_kind_node(enum map_kind what, const void *object)
{
	const char *node = map_card_node_name(node_of_object(what, object), object);

	return node ? node : "";
}

/* Sources of a node's fault, by precedence. For a Node that has been read, only the last one
 * counts. */
static const char *const fault_rows[][2] = {
	{ "NodeGone", "a claim says that the cluster has no such node" },
	{ "NodeNotReady", "a claim says that the node is not Ready" },
	{ "AgentNotRunning", "a claim says that no pod of hostdev-agent runs on the node" },
};
enum { FAULT_ROWS = ARRAY_LEN(fault_rows) };

/* The faults of nodes, for the cards of their devices (cli/model/node_fault.h): by the informer
 * of Nodes, which is borrowed, and by the conditions of claims. */
struct map_nodes {
	const struct informer *nodes;
	struct map *counts; /* node -> size_t[FAULT_ROWS]: the number of claims with that reason */
};

/* @informer: of kind node_kind. */
static struct map_nodes *map_nodes_new(const struct informer *informer)
{
	struct map_nodes *nodes = xcalloc(1, sizeof(*nodes));

	nodes->nodes = informer;
	nodes->counts = map_new();
	return nodes;
}

/* Takes NULL, returns NULL. */
static struct map_nodes *map_nodes_free(struct map_nodes *nodes)
{
	if (!nodes)
		return NULL;
	map_free_with(nodes->counts, free);
	free(nodes);
	return NULL;
}

/* Have Nodes been read? If not, only claims show faults. */
static bool map_nodes_known(const struct map_nodes *nodes)
{
	return informer_synced(nodes->nodes) && informer_installed(nodes->nodes);
}

static void count(size_t *number, int sign)
{
	assert(sign > 0 || *number > 0);
	*number = sign > 0 ? *number + 1 : *number - 1;
}

/* Count a claim of @node whose NodeReachable shows a fault (@sign 1), or remove it from the
 * count (-1). Reasons that are no fault of a node are ignored. */
static void map_nodes_count(struct map_nodes *nodes, const char *node, const char *reason, int sign)
{
	size_t *counts = map_get(nodes->counts, node);

	if (!counts) {
		counts = xcalloc(FAULT_ROWS, sizeof(*counts));
		map_set(nodes->counts, node, counts);
	}
	for (size_t i = 0; i < FAULT_ROWS; i++) {
		if (strcmp(reason, fault_rows[i][0]) == 0)
			count(&counts[i], sign);
	}
}

/* A Node that cannot be decoded exists, and no fault of it is known. */
static struct node_fault node_fault_of(const struct entry *entry)
{
	if (entry && !entry->object)
		return (struct node_fault){ 0 };
	return node_judge(entry ? entry->object : NULL);
}

/* The fault of @node; its reason is NULL if none is known. */
static struct node_fault map_nodes_fault(const struct map_nodes *nodes, const char *node)
{
	bool known = map_nodes_known(nodes);
	const size_t *counts = map_get(nodes->counts, node);
	struct node_fault fault = { 0 };

	if (known)
		fault = node_fault_of(store_get(informer_store(nodes->nodes), node));
	for (size_t i = known ? FAULT_ROWS - 1 : 0; counts && i < FAULT_ROWS && !fault.reason;
	     i++) {
		if (counts[i] > 0)
			fault = (struct node_fault){ fault_rows[i][0], "", fault_rows[i][1], "" };
	}
	return fault;
}

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Has the fault of a Node changed between @before (NULL: it did not exist) and @after? */
static bool map_nodes_differ(const struct entry *before, const struct entry *after)
{
	struct node_fault was = node_fault_of(before);
	struct node_fault is = node_fault_of(after);

	return !same(was.reason, is.reason) || !same(was.why, is.why) ||
	       !same(was.message, is.message) || !same(was.since, is.since);
}

struct map_watch {
	struct kind {
		struct map_watch *watch;
		enum map_kind what;
		struct api_kind kind;
		struct informer *informer;
	} kinds[MAP_KINDS];
	struct map_error errors[MAP_EVENT_OWN]; /* both kinds of events share one */
	struct map_board *board;
	struct map_nodes *nodes;
	/* "NODE/DEVICE", with the device's name in ResourceSlices -> the ResourceClaim that has it */
	struct map *resource_claims;
	bool claims_stale; /* @resource_claims must be made again */
	void (*changed)(void *arg);
	void *arg;
	char *user; /* whose rights the map has; NULL: not known */
	bool shows_unread;
};

static const void *object(const struct map_watch *watch, enum map_kind what, const char *name)
{
	return store_object(informer_store(watch->kinds[what].informer), name);
}

/* --- cards --- */

/* A card that is being made. */
struct making {
	struct map_watch *watch;
	const char *id;
	const char *name;
	struct node_fault fault;
};

typedef char *make_fn(struct making *making);

/* The fault of the node of @object; NULL: none. Borrowed from @making. */
static const struct node_fault *fault_of(struct making *making, enum map_kind what,
					 const void *object)
{
	const char *node = map_kind_node(what, object);

	if (node[0])
		making->fault = map_nodes_fault(making->watch->nodes, node);
	return making->fault.reason ? &making->fault : NULL;
}

static bool read_both(const struct map_watch *watch, enum map_kind a, enum map_kind b)
{
	return watch->shows_unread || (informer_synced(watch->kinds[a].informer) &&
				       informer_synced(watch->kinds[b].informer));
}

static bool is_on(const struct usbdevice *usb, const struct pcidevice *controller)
{
	const char *node = usb->status.node_name;
	const char *address = usb->status.pci_address;

	return node && address && controller->status.node_name && controller->status.address &&
	       strcmp(node, controller->status.node_name) == 0 &&
	       strcmp(address, controller->status.address) == 0;
}

/* Claims of other functions of its IOMMU group, as in cli/model/cluster_view.c. */
static enum state_conflict group_conflict(const struct map_watch *watch,
					  const struct pcidevice *device)
{
	const struct json_strs *members = &device->status.iommu_group_members;
	enum state_conflict conflict = CONFLICT_NONE;

	for (size_t i = 0; device->status.node_name && i < members->len; i++) {
		auto_free char *name = names_pcidevice(device->status.node_name, members->items[i]);
		const struct pcideviceclaim *claim = object(watch, MAP_PCI_CLAIM, name);
		const char *owner = claim ? str_or_empty(claim->spec.user_name) : "";

		if (!claim || strcmp(name, device->meta.name) == 0)
			continue;
		if (owner[0] && watch->user && strcmp(owner, watch->user) != 0 &&
		    !api_meta_annotation(&claim->meta, NAMES_ANNOTATION_SKIP_VFIO))
			return CONFLICT_OWNER;
		if (claim->spec.include_iommu_group)
			conflict = CONFLICT_GROUP;
	}
	return conflict;
}

/* Why a claim of @device is refused, or that this is not known, as far as the page reads the
 * objects. It does not read those that divide network cards. */
static enum state_conflict conflict_of(const struct map_watch *watch,
				       const struct pcidevice *device)
{
	bool controller = strncmp(str_or_empty(device->status.class_id), "0c03", 4) == 0;
	enum state_conflict conflict;
	const struct store *store = informer_store(watch->kinds[MAP_USB].informer);
	const struct vgpudevice *vgpu = object(watch, MAP_VGPU, device->meta.name);
	const struct entry *entry;
	size_t cursor = 0;

	if (!informer_synced(watch->kinds[MAP_PCI_CLAIM].informer))
		return CONFLICT_HIDDEN;
	if (vgpu && vgpu->spec.enabled)
		return CONFLICT_DIVIDED;
	while (controller && (entry = store_next(store, &cursor)) != NULL) {
		const struct usbdevice *usb = entry->object;

		if (usb && is_on(usb, device) &&
		    (usb->status.allocations.len > 0 || object(watch, MAP_USB_CLAIM, entry->name)))
			return CONFLICT_USB;
	}
	conflict = group_conflict(watch, device);
	if (conflict != CONFLICT_OWNER && controller &&
	    !informer_synced(watch->kinds[MAP_USB_CLAIM].informer))
		return CONFLICT_USB_HIDDEN;
	return conflict;
}

static int compare_claims(const struct resourceclaim *a, const struct resourceclaim *b)
{
	int r = strcmp(str_or_empty(a->meta.namespace_), str_or_empty(b->meta.namespace_));

	return r != 0 ? r : strcmp(a->meta.name, b->meta.name);
}

/* A device that is allocated to two claims is the first one's, by name. */
static void index_claim(struct map_watch *watch, struct resourceclaim *claim)
{
	for (size_t i = 0; i < claim->status.allocation.devices.results.len; i++) {
		const struct resourceclaim_result *result =
			&claim->status.allocation.devices.results.items[i];
		auto_free char *node = dra_pool_node(result->pool);
		auto_free char *key = xasprintf("%s/%s", node, result->device);
		const struct resourceclaim *other = map_get(watch->resource_claims, key);

		if (strcmp(result->driver, DRA_DRIVER) != 0 || result->admin_access)
			continue;
		if (!other || compare_claims(claim, other) < 0)
			map_set(watch->resource_claims, key, claim);
	}
}

static void index_claims(struct map_watch *watch)
{
	const struct store *store = informer_store(watch->kinds[MAP_RESOURCECLAIM].informer);
	const struct entry *entry;
	size_t cursor = 0;

	map_free(watch->resource_claims);
	watch->resource_claims = map_new();
	while ((entry = store_next(store, &cursor)) != NULL) {
		if (entry->object)
			index_claim(watch, entry->object);
	}
	watch->claims_stale = false;
}

/* The ResourceClaim to which a device is allocated; NULL: none is known. */
static const struct resourceclaim *resource_claim_of(struct map_watch *watch, enum device_type type,
						     const char *node, const char *address)
{
	auto_free char *name = dra_name_of(
		&(struct cluster_device){ .type = type, .address = str_or_empty(address) });
	auto_free char *key = name ? xasprintf("%s/%s", node, name) : NULL;

	if (watch->claims_stale)
		index_claims(watch);
	return key ? map_get(watch->resource_claims, key) : NULL;
}

static char *make_pci(struct making *making)
{
	const struct pcidevice *device = object(making->watch, MAP_PCI, making->name);
	const struct pcideviceclaim *claim = object(making->watch, MAP_PCI_CLAIM, making->name);

	if ((!device && !claim) || !read_both(making->watch, MAP_PCI, MAP_PCI_CLAIM))
		return NULL;
	return map_card_pci(
		making->id, device, claim,
		device ? resource_claim_of(making->watch, DEVICE_PCI,
					   map_kind_node(MAP_PCI, device), device->status.address)
		       : NULL,
		device ? fault_of(making, MAP_PCI, device) : fault_of(making, MAP_PCI_CLAIM, claim),
		device ? conflict_of(making->watch, device) : CONFLICT_NONE);
}

static char *make_usb(struct making *making)
{
	const struct usbdevice *device = object(making->watch, MAP_USB, making->name);
	const struct usbdeviceclaim *claim = object(making->watch, MAP_USB_CLAIM, making->name);

	if ((!device && !claim) || !read_both(making->watch, MAP_USB, MAP_USB_CLAIM))
		return NULL;
	return map_card_usb(
		making->id, device, claim,
		device ? resource_claim_of(making->watch, DEVICE_USB,
					   map_kind_node(MAP_USB, device), device->status.port_path)
		       : NULL,
		device ? fault_of(making, MAP_USB, device) : fault_of(making, MAP_USB_CLAIM, claim),
		informer_synced(making->watch->kinds[MAP_USB_CLAIM].informer) ? CONFLICT_NONE
									      : CONFLICT_HIDDEN);
}

static char *make_mdev(struct making *making)
{
	const struct mediateddevice *device = object(making->watch, MAP_MDEV, making->name);

	if (!device)
		return NULL;
	return map_card_mdev(making->id, device,
			     resource_claim_of(making->watch, DEVICE_MDEV,
					       map_kind_node(MAP_MDEV, device),
					       device->status.uuid),
			     fault_of(making, MAP_MDEV, device));
}

/* A vGPU's object has the name of its virtual function. */
static char *make_vgpu(struct making *making)
{
	const struct vgpudevice *vgpu = object(making->watch, MAP_VGPU, making->name);

	if (!vgpu)
		return NULL;
	return map_card_vgpu(making->id, vgpu, object(making->watch, MAP_PCI, making->name),
			     fault_of(making, MAP_VGPU, vgpu));
}

static char *make_mig(struct making *making)
{
	const struct migconfiguration *mig = object(making->watch, MAP_MIG, making->name);

	return mig ? map_card_mig(making->id, mig, fault_of(making, MAP_MIG, mig)) : NULL;
}

static char *make_node(struct making *making)
{
	const struct node *node = object(making->watch, MAP_NODE, making->name);

	return node ? map_card_node(making->id, node, fault_of(making, MAP_NODE, node)) : NULL;
}

static char *make_event(struct making *making)
{
	const struct event *event = object(making->watch, MAP_EVENT_DEVICE, making->name);

	if (!event)
		event = object(making->watch, MAP_EVENT_OWN, making->name);
	return event ? map_card_event(making->id, event) : NULL;
}

static char *make_card(void *arg, const char *id)
{
	static const struct {
		const char *prefix;
		make_fn *make;
	} makers[] = {
		{ "pci/", make_pci },     { "usb/", make_usb }, { "mdev/", make_mdev },
		{ "vgpu/", make_vgpu },   { "mig/", make_mig }, { "node/", make_node },
		{ "event/", make_event },
	};
	struct making making = { .watch = arg, .id = id };

	for (size_t i = 0; i < ARRAY_LEN(makers); i++) {
		size_t len = strlen(makers[i].prefix);

		making.name = id + len;
		if (strncmp(id, makers[i].prefix, len) == 0)
			return makers[i].make(&making);
	}
	return NULL;
}

/* --- informers --- */

static void mark(struct map_watch *watch, enum map_kind what, const char *name)
{
	auto_free char *id = xasprintf("%s/%s", map_kinds[what].prefix, name);

	map_board_mark(watch->board, id);
	watch->changed(watch->arg);
}

/* Mark all cards of a kind, or only those of @node. */
static void mark_all(struct map_watch *watch, enum map_kind what, const char *node)
{
	const struct store *store = informer_store(watch->kinds[what].informer);
	const struct entry *entry;
	size_t cursor = 0;

	while ((entry = store_next(store, &cursor)) != NULL) {
		if (!node ||
		    (entry->object && strcmp(map_kind_node(what, entry->object), node) == 0))
			mark(watch, what, entry->name);
	}
}

/* Mark the card of @node and those of its devices (NULL: of all nodes). */
static void mark_node(struct map_watch *watch, const char *node)
{
	for (enum map_kind what = MAP_PCI; what <= MAP_MIG; what++)
		mark_all(watch, what, node);
	if (node)
		mark(watch, MAP_NODE, node);
}

/* A claim of a node shows whether the node's agent runs, which concerns all its devices. */
static void count_claim(struct map_watch *watch, enum map_kind what, const struct entry *entry,
			int sign)
{
	const void *object = entry ? entry->object : NULL;
	const struct pcideviceclaim *pci = object;
	const struct usbdeviceclaim *usb = object;
	struct node_fault fault;

	if (!object || !map_kind_node(what, object)[0])
		return;
	fault = node_told(what == MAP_PCI_CLAIM ? &pci->status.conditions : &usb->status.conditions,
			  false);
	if (!fault.reason)
		return;
	map_nodes_count(watch->nodes, map_kind_node(what, object), fault.reason, sign);
	mark_node(watch, map_kind_node(what, object));
}

/* The controller cannot be claimed while USB devices behind it are, or while a pod has them. */
static void mark_controller(struct map_watch *watch, const struct usbdevice *usb)
{
	auto_free char *name = NULL;

	if (!usb || !usb->status.node_name || !usb->status.pci_address)
		return;
	name = names_pcidevice(usb->status.node_name, usb->status.pci_address);
	if (object(watch, MAP_PCI, name))
		mark(watch, MAP_PCI, name);
}

/* A claim concerns the other functions of the IOMMU group. */
static void mark_group(struct map_watch *watch, const struct pcidevice *device)
{
	for (size_t i = 0;
	     device && device->status.node_name && i < device->status.iommu_group_members.len;
	     i++) {
		auto_free char *name = names_pcidevice(device->status.node_name,
						       device->status.iommu_group_members.items[i]);

		if (object(watch, MAP_PCI, name))
			mark(watch, MAP_PCI, name);
	}
}

/* Mark the cards of the nodes whose devices are allocated to @claim (may be NULL). */
static void mark_claimed(struct map_watch *watch, const struct resourceclaim *claim)
{
	for (size_t i = 0; claim && i < claim->status.allocation.devices.results.len; i++) {
		const struct resourceclaim_result *result =
			&claim->status.allocation.devices.results.items[i];
		auto_free char *node = dra_pool_node(result->pool);

		if (strcmp(result->driver, DRA_DRIVER) != 0)
			continue;
		mark_all(watch, MAP_PCI, node);
		mark_all(watch, MAP_USB, node);
		mark_all(watch, MAP_MDEV, node);
	}
}

static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	struct kind *kind = arg;
	struct map_watch *watch = kind->watch;

	if (kind->what == MAP_RESOURCECLAIM) {
		watch->claims_stale = true;
		mark_claimed(watch, before ? before->object : NULL);
		mark_claimed(watch, after ? after->object : NULL);
		return;
	}
	mark(watch, kind->what, name);
	if (kind->what == MAP_PCI && object(watch, MAP_VGPU, name))
		mark(watch, MAP_VGPU, name);
	if (kind->what == MAP_VGPU && object(watch, MAP_PCI, name))
		mark(watch, MAP_PCI, name);
	if (kind->what == MAP_PCI_CLAIM)
		mark_group(watch, object(watch, MAP_PCI, name));
	if (kind->what == MAP_USB && before)
		mark_controller(watch, before->object);
	if (kind->what == MAP_USB || kind->what == MAP_USB_CLAIM)
		mark_controller(watch, object(watch, MAP_USB, name));
	if (kind->what == MAP_PCI_CLAIM || kind->what == MAP_USB_CLAIM) {
		count_claim(watch, kind->what, after, 1);
		count_claim(watch, kind->what, before, -1);
	}
	if (kind->what == MAP_NODE && map_nodes_known(watch->nodes) &&
	    map_nodes_differ(before, after))
		mark_node(watch, name);
}

/* Mark the cards that waited for this kind. */
static void on_synced(void *arg)
{
	struct kind *kind = arg;

	if (kind->what == MAP_NODE)
		mark_node(kind->watch, NULL);
	for (enum map_kind what = MAP_PCI; what <= MAP_USB_CLAIM; what++) {
		if (strcmp(map_kinds[what].prefix, map_kinds[kind->what].prefix) == 0)
			mark_all(kind->watch, what, NULL);
	}
	if (kind->what == MAP_USB_CLAIM) /* of devices behind controllers */
		mark_all(kind->watch, MAP_PCI, NULL);
	kind->watch->changed(kind->watch->arg); /* the kind has been read */
}

void map_watch_show_unread(struct map_watch *watch)
{
	if (watch->shows_unread)
		return;
	watch->shows_unread = true;
	for (enum map_kind what = MAP_PCI; what <= MAP_USB_CLAIM; what++)
		mark_all(watch, what, NULL);
}

static void open_kind(struct map_watch *watch, enum map_kind what, const struct informer_deps *deps)
{
	struct kind *kind = &watch->kinds[what];
	struct informer_spec spec = {
		.kind = &kind->kind,
		.field_selector = map_kinds[what].fields,
		.optional = true,
		.handlers = { .on_change = on_change, .on_synced = on_synced },
		.arg = kind,
	};

	kind->watch = watch;
	kind->what = what;
	kind->kind = *map_kinds[what].kind;
	kind->kind.ns = NULL; /* events of any namespace */
	kind->informer = informer_new(deps, &spec);
	informer_start(kind->informer);
}

struct map_watch *map_watch_new(const struct informer_deps *deps, const char *user,
				void (*changed)(void *arg), void *arg)
{
	struct map_watch *watch = xcalloc(1, sizeof(*watch));

	watch->user = xstrdup_or_null(user);
	watch->changed = changed;
	watch->arg = arg;
	watch->board = map_board_new(make_card, watch);
	watch->resource_claims = map_new();
	for (enum map_kind what = 0; what < MAP_KINDS; what++)
		open_kind(watch, what, deps);
	watch->nodes = map_nodes_new(watch->kinds[MAP_NODE].informer);
	return watch;
}

struct map_watch *map_watch_free(struct map_watch *watch)
{
	if (!watch)
		return NULL;
	for (size_t i = 0; i < MAP_KINDS; i++)
		informer_free(watch->kinds[i].informer);
	map_errors_done(watch->errors, ARRAY_LEN(watch->errors));
	map_nodes_free(watch->nodes);
	map_free(watch->resource_claims);
	map_board_free(watch->board);
	free(watch->user);
	free(watch);
	return NULL;
}

struct map_board *map_watch_board(struct map_watch *watch)
{
	return watch->board;
}

/* Most clusters do not have all kinds, which is no error. Without the kinds of devices, the map
 * is useless. */
static const char *error_of(const struct kind *kind)
{
	bool optional = kind->what != MAP_PCI && kind->what != MAP_USB;

	if (optional && !informer_installed(kind->informer))
		return "";
	return informer_error(kind->informer);
}

void map_watch_print_errors(struct map_watch *watch, void (*print)(const char *line))
{
	for (size_t i = 0; i < ARRAY_LEN(watch->errors); i++) {
		watch->errors[i].kind = watch->kinds[i].kind.plural;
		watch->errors[i].error = error_of(&watch->kinds[i]);
	}
	map_errors_print(watch->errors, ARRAY_LEN(watch->errors), print);
}

void map_watch_write_kinds(const struct map_watch *watch, struct str *out)
{
	json_write_open(out, "kinds", '{');
	for (size_t i = 0; i < MAP_KINDS; i++) {
		const struct kind *kind = &watch->kinds[i];

		if (i == MAP_EVENT_OWN)
			continue; /* the other kind reports for both */
		json_write_open(out, kind->kind.plural, '{');
		json_write_bool(out, "read", informer_synced(kind->informer));
		json_write_bool(out, "installed", informer_installed(kind->informer));
		json_write_str(out, "text", informer_text(kind->informer));
		json_write_str(out, "error", map_error_text(kind->kind.plural, error_of(kind)));
		json_write_close(out, '}');
	}
	json_write_close(out, '}');
}
