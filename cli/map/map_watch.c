#include "cli/map/map_watch.h"

#include <stdlib.h>
#include <string.h>

#include "api/event.h"
#include "api/kind.h"
#include "api/mediateddevice.h"
#include "api/migconfiguration.h"
#include "api/node.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "api/vgpudevice.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/map/map_board.h"
#include "cli/map/map_card.h"
#include "cli/map/map_card_parts.h"
#include "cli/map/map_nodes.h"
#include "cli/map/map_trouble.h"
#include "kube/informer.h"
#include "kube/store.h"

enum watched {
	PCI,
	PCI_CLAIM,
	USB,
	USB_CLAIM,
	MDEV,
	VGPU,
	MIG,
	NODE,
	EVENT_DEVICE,
	EVENT_OWN,
	WATCHED
};

struct map_watch {
	struct kind {
		struct map_watch *watch;
		enum watched what;
		struct api_kind kind;
		struct informer *informer;
	} kinds[WATCHED];
	struct map_trouble troubles[EVENT_OWN]; /* events are told of once */
	struct map_board *board;
	struct map_nodes *nodes;
	void (*changed)(void *arg);
	void *arg;
	bool hurried;
};

/* A card's id is this and the name; a claim is told on the card of its device. */
static const struct {
	const struct api_kind *kind;
	const char *prefix;
	const char *fields; /* field selector */
} rows[WATCHED] = {
	[PCI] = { &pcidevice_kind, "pci", NULL },
	[PCI_CLAIM] = { &pcideviceclaim_kind, "pci", NULL },
	[USB] = { &usbdevice_kind, "usb", NULL },
	[USB_CLAIM] = { &usbdeviceclaim_kind, "usb", NULL },
	[MDEV] = { &mediateddevice_kind, "mdev", NULL },
	[VGPU] = { &vgpudevice_kind, "vgpu", NULL },
	[MIG] = { &migconfiguration_kind, "mig", NULL },
	[NODE] = { &node_kind, "node", NULL },
	/* Of all the events of a cluster only those about devices. */
	[EVENT_DEVICE] = { &event_kind, "event",
			   "involvedObject.apiVersion=devices.harvesterhci.io/v1beta1" },
	[EVENT_OWN] = { &event_kind, "event", "involvedObject.apiVersion=hostdev.io/v1alpha1" },
};

static const void *object(const struct map_watch *watch, enum watched what, const char *name)
{
	return store_object(informer_store(watch->kinds[what].informer), name);
}

/* --- cards -------------------------------------------------------------------------------------- */

typedef char *make_fn(const struct map_watch *watch, const char *id, const char *name);

/* What the object says itself; may be NULL. */
static const char *said_node_of(enum watched what, const void *object)
{
	switch (what) {
	case PCI:
		return ((const struct pcidevice *)object)->status.node_name;
	case PCI_CLAIM:
		return ((const struct pcideviceclaim *)object)->spec.node_name;
	case USB:
		return ((const struct usbdevice *)object)->status.node_name;
	case USB_CLAIM:
		return ((const struct usbdeviceclaim *)object)->status.node_name;
	case MDEV:
		return ((const struct mediateddevice *)object)->status.node_name;
	case VGPU:
		return ((const struct vgpudevice *)object)->spec.node_name;
	case MIG:
		return ((const struct migconfiguration *)object)->spec.node_name;
	case NODE:
	case EVENT_DEVICE:
	case EVENT_OWN:
	case WATCHED:
		break;
	}
	return NULL;
}

/* "" if it does not say. */
static const char *node_of(enum watched what, const void *object)
{
	const char *node = map_card_node_name(said_node_of(what, object), object);

	return node ? node : "";
}

static struct node_fault fault_of(const struct map_watch *watch, const char *node)
{
	return node[0] ? map_nodes_fault(watch->nodes, node) : (struct node_fault){ 0 };
}

static bool read_both(const struct map_watch *watch, enum watched a, enum watched b)
{
	return watch->hurried || (informer_synced(watch->kinds[a].informer) &&
				  informer_synced(watch->kinds[b].informer));
}

static char *make_pci(const struct map_watch *watch, const char *id, const char *name)
{
	const struct pcidevice *device = object(watch, PCI, name);
	const struct pcideviceclaim *claim = object(watch, PCI_CLAIM, name);

	struct node_fault fault;

	if ((!device && !claim) || !read_both(watch, PCI, PCI_CLAIM))
		return NULL;
	fault = fault_of(watch, device ? node_of(PCI, device) : node_of(PCI_CLAIM, claim));
	return map_card_pci(id, device, claim, fault.reason ? &fault : NULL);
}

static char *make_usb(const struct map_watch *watch, const char *id, const char *name)
{
	const struct usbdevice *device = object(watch, USB, name);
	const struct usbdeviceclaim *claim = object(watch, USB_CLAIM, name);

	struct node_fault fault;

	if ((!device && !claim) || !read_both(watch, USB, USB_CLAIM))
		return NULL;
	fault = fault_of(watch, device ? node_of(USB, device) : node_of(USB_CLAIM, claim));
	return map_card_usb(id, device, claim, fault.reason ? &fault : NULL);
}

static char *make_mdev(const struct map_watch *watch, const char *id, const char *name)
{
	const struct mediateddevice *device = object(watch, MDEV, name);

	struct node_fault fault;

	if (!device)
		return NULL;
	fault = fault_of(watch, node_of(MDEV, device));
	return map_card_mdev(id, device, fault.reason ? &fault : NULL);
}

/* It has the name of its virtual function. */
static char *make_vgpu(const struct map_watch *watch, const char *id, const char *name)
{
	const struct vgpudevice *vgpu = object(watch, VGPU, name);
	struct node_fault fault;

	if (!vgpu)
		return NULL;
	fault = fault_of(watch, node_of(VGPU, vgpu));
	return map_card_vgpu(id, vgpu, object(watch, PCI, name), fault.reason ? &fault : NULL);
}

static char *make_mig(const struct map_watch *watch, const char *id, const char *name)
{
	const struct migconfiguration *mig = object(watch, MIG, name);
	struct node_fault fault;

	if (!mig)
		return NULL;
	fault = fault_of(watch, node_of(MIG, mig));
	return map_card_mig(id, mig, fault.reason ? &fault : NULL);
}

static char *make_node(const struct map_watch *watch, const char *id, const char *name)
{
	const struct node *node = object(watch, NODE, name);

	struct node_fault fault;

	if (!node)
		return NULL;
	fault = fault_of(watch, name);
	return map_card_node(id, node, fault.reason ? &fault : NULL);
}

static char *make_event(const struct map_watch *watch, const char *id, const char *name)
{
	const struct event *event = object(watch, EVENT_DEVICE, name);

	if (!event)
		event = object(watch, EVENT_OWN, name);
	return event ? map_card_event(id, event) : NULL;
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

	for (size_t i = 0; i < ARRAY_LEN(makers); i++) {
		size_t len = strlen(makers[i].prefix);

		if (strncmp(id, makers[i].prefix, len) == 0)
			return makers[i].make(arg, id, id + len);
	}
	return NULL;
}

/* --- informers ---------------------------------------------------------------------------------- */

static void touch(struct map_watch *watch, enum watched what, const char *name)
{
	auto_free char *id = xasprintf("%s/%s", rows[what].prefix, name);

	map_board_touch(watch->board, id);
	watch->changed(watch->arg);
}

/* All of a kind, or of these those of @node. */
static void touch_all(struct map_watch *watch, enum watched what, const char *node)
{
	const struct store *store = informer_store(watch->kinds[what].informer);
	const struct entry *entry;
	size_t cursor = 0;

	while ((entry = store_next(store, &cursor)) != NULL) {
		if (!node || (entry->object && strcmp(node_of(what, entry->object), node) == 0))
			touch(watch, what, entry->name);
	}
}

/* What stands on the card of @node, and on those of its devices (NULL: of all), may be another. */
static void touch_node(struct map_watch *watch, const char *node)
{
	for (enum watched what = PCI; what <= MIG; what++)
		touch_all(watch, what, node);
	if (node)
		touch(watch, NODE, node);
}

/* The claims of a node say whether its agent runs, for all of its devices. */
static void hear_claim(struct map_watch *watch, enum watched what, const struct entry *entry,
		       int sign)
{
	const void *object = entry ? entry->object : NULL;
	const struct pcideviceclaim *pci = object;
	const struct usbdeviceclaim *usb = object;
	struct node_fault said;

	if (!object || !node_of(what, object)[0])
		return;
	said = node_told(what == PCI_CLAIM ? &pci->status.conditions : &usb->status.conditions,
			 false);
	if (!said.reason)
		return;
	map_nodes_tell(watch->nodes, node_of(what, object), said.reason, sign);
	touch_node(watch, node_of(what, object));
}

static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	struct kind *kind = arg;
	struct map_watch *watch = kind->watch;

	touch(watch, kind->what, name);
	if (kind->what == PCI && object(watch, VGPU, name))
		touch(watch, VGPU, name);
	if (kind->what == PCI_CLAIM || kind->what == USB_CLAIM) {
		hear_claim(watch, kind->what, after, 1);
		hear_claim(watch, kind->what, before, -1);
	}
	if (kind->what == NODE && map_nodes_known(watch->nodes) && map_nodes_differ(before, after))
		touch_node(watch, name);
}

/* What has waited for this kind. */
static void on_synced(void *arg)
{
	struct kind *kind = arg;

	if (kind->what == NODE)
		touch_node(kind->watch, NULL);
	for (enum watched what = PCI; what <= USB_CLAIM; what++) {
		if (strcmp(rows[what].prefix, rows[kind->what].prefix) == 0)
			touch_all(kind->watch, what, NULL);
	}
	kind->watch->changed(kind->watch->arg); /* that it has been read */
}

void map_watch_hurry(struct map_watch *watch)
{
	if (watch->hurried)
		return;
	watch->hurried = true;
	for (enum watched what = PCI; what <= USB_CLAIM; what++)
		touch_all(watch, what, NULL);
}

static void open_kind(struct map_watch *watch, enum watched what, const struct informer_deps *deps)
{
	struct kind *kind = &watch->kinds[what];
	struct informer_spec spec = {
		.kind = &kind->kind,
		.field_selector = rows[what].fields,
		.optional = true,
		.handlers = { .on_change = on_change, .on_synced = on_synced },
		.arg = kind,
	};

	kind->watch = watch;
	kind->what = what;
	kind->kind = *rows[what].kind;
	kind->kind.ns = NULL; /* events of any namespace */
	kind->informer = informer_new(deps, &spec);
	informer_start(kind->informer);
}

struct map_watch *map_watch_new(const struct informer_deps *deps, void (*changed)(void *arg),
				void *arg)
{
	struct map_watch *watch = xcalloc(1, sizeof(*watch));

	watch->changed = changed;
	watch->arg = arg;
	watch->board = map_board_new(make_card, watch);
	for (enum watched what = 0; what < WATCHED; what++)
		open_kind(watch, what, deps);
	watch->nodes = map_nodes_new(watch->kinds[NODE].informer);
	return watch;
}

struct map_watch *map_watch_free(struct map_watch *watch)
{
	if (!watch)
		return NULL;
	for (size_t i = 0; i < WATCHED; i++)
		informer_free(watch->kinds[i].informer);
	map_troubles_done(watch->troubles, ARRAY_LEN(watch->troubles));
	map_nodes_free(watch->nodes);
	map_board_free(watch->board);
	free(watch);
	return NULL;
}

struct map_board *map_watch_board(struct map_watch *watch)
{
	return watch->board;
}

/* Most clusters lack some kinds, which is no trouble; those of devices are what the map is for. */
static const char *error_of(const struct kind *kind)
{
	bool optional = kind->what != PCI && kind->what != USB;

	if (optional && !informer_installed(kind->informer))
		return "";
	return informer_error(kind->informer);
}

void map_watch_say(struct map_watch *watch, void (*say)(const char *line))
{
	for (size_t i = 0; i < ARRAY_LEN(watch->troubles); i++) {
		watch->troubles[i].kind = watch->kinds[i].kind.plural;
		watch->troubles[i].error = error_of(&watch->kinds[i]);
	}
	map_troubles_say(watch->troubles, ARRAY_LEN(watch->troubles), say);
}

void map_watch_tell(const struct map_watch *watch, struct str *out)
{
	json_write_open(out, "kinds", '{');
	for (size_t i = 0; i < WATCHED; i++) {
		const struct kind *kind = &watch->kinds[i];

		if (i == EVENT_OWN)
			continue; /* the other one tells for both */
		json_write_open(out, kind->kind.plural, '{');
		json_write_bool(out, "read", informer_synced(kind->informer));
		json_write_bool(out, "installed", informer_installed(kind->informer));
		json_write_str(out, "text", informer_text(kind->informer));
		json_write_str(out, "error", map_trouble_text(kind->kind.plural, error_of(kind)));
		json_write_close(out, '}');
	}
	json_write_close(out, '}');
}
