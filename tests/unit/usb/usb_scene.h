/* usb_scene: usb, which ties claims, names and offers together; offers, plugins and API server are
 * fakes. */
#pragma once

#include "agent/config/config.h"
#include "agent/plugin/plugins.h"
#include "agent/plugin/podresources.h"
#include "agent/resource/offers.h"
#include "agent/usb/usb.h"
#include "api/pcidevice.h"
#include "base/log.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "unit/resource/quiet_offers.h"
#include "unit/this_node.h"
#include "unit/usb/sticks.h"

#define DELETED \
	CLAIM_OF(STICK, "," MARKED ",'deletionTimestamp':'2026-01-01T00:00:00Z'", KNOWN("1-2", "A"))
#define HELD(holder)                                                              \
	CLAIM_OF(STICK, "," MARKED ",'deletionTimestamp':'2026-01-01T00:00:00Z'", \
		 KNOWN("1-2", "A") ",'holder':'" holder "'")

enum { WATCHES = 3 };

struct events {
	int unused;
};

void events_record(struct events *events, const struct events_about *about, enum events_type type,
		   const char *reason, const char *fmt, ...)
{
	(void)events;
	(void)about;
	(void)type;
	(void)reason;
	(void)fmt;
}

/* In place of agent/resource's: one kind, a kubelet or none, and no allocations. */
struct offers {
	struct offers_type type;
	bool on;
	unsigned touches;
	const char *held;  /* an ID that a pod has */
	const char *as;    /* the resource that it has it as; NULL: not known */
	bool silent;       /* no kubelet has said a word */
	bool unlisted;     /* the Node and its kubelet list nothing */
	size_t offered;    /* resources, lately */
	const char *owner; /* of every resource, NULL: none */
};

static struct offers *offering; /* whose plugins_set() sees */

void offers_add(struct offers *offers, const struct offers_type *type)
{
	offers->type = *type;
}

void offers_update_soon(struct offers *offers)
{
	offers->touches++;
}

bool offers_is_on(const struct offers *offers)
{
	return offers->on;
}

bool offers_can_allocate(const struct offers *offers, const struct device_type *type,
			 const char *resource, const char *id)
{
	(void)type;
	(void)resource;
	(void)id;
	return !offers->unlisted;
}

bool offers_is_free(struct offers *offers, const char *id, char **ret_holder)
{
	(void)offers;
	(void)id;
	*ret_holder = NULL;
	return true;
}

const struct pcidevice_allocations *offers_allocations(const struct offers *offers, const char *id)
{
	static const struct pcidevice_allocations none = { 0 };
	static const struct pcidevice_allocations some = { .len = 1 };

	if (offers->silent)
		return NULL;
	return offers->held && strcmp(offers->held, id) == 0 ? &some : &none;
}

const char *offers_resource(const struct offers *offers, const char *id, bool *ret_ours)
{
	*ret_ours = false;
	return offers->held && strcmp(offers->held, id) == 0 ? offers->as : NULL;
}

const char *offers_owner(const struct offers *offers, const char *resource)
{
	(void)resource;
	return offers->owner;
}

void plugins_set(struct plugins *plugins, const struct device_type *type, void *type_arg,
		 const struct plugin_resource *resources, size_t len)
{
	(void)plugins;
	(void)type;
	(void)type_arg;
	(void)resources;
	offering->offered = len;
}

struct scene {
	struct kube_client *client;
	struct fake_clock *clock;
	struct events events;
	struct offers offers;
	struct informer *claims, *devices, *pci_claims;
	struct this_node this_node;
	struct usb *usb;
	unsigned selections; /* usb_selected() has another answer */
	unsigned renames;    /* devices have other names          */
	struct sticks node;
};

static inline void on_selected(void *arg)
{
	struct scene *scene = arg;

	scene->selections++;
}

static inline void on_renamed(void *arg)
{
	struct scene *scene = arg;

	scene->renames++;
}

static inline void on_change(void *arg, const char *name, const struct entry *before,
			     const struct entry *after)
{
	struct scene *scene = arg;

	(void)before;
	(void)after;
	usb_enqueue(scene->usb, name);
}

static inline void on_synced(void *arg)
{
	struct scene *scene = arg;

	usb_rename(scene->usb);
	usb_enqueue_all(scene->usb);
}

static inline struct informer *informer(struct scene *scene, const struct api_kind *kind)
{
	struct informer *made =
		informer_new(&(struct informer_deps){ .client = scene->client,
						      .clock = fake_clock_as_clock(scene->clock) },
			     &(struct informer_spec){
				     .kind = kind,
				     .handlers = { .on_change = on_change, .on_synced = on_synced },
				     .arg = scene });

	return made;
}

static inline void scene_open(struct scene *scene, bool kubelet)
{
	*scene = (struct scene){ .client = fake_client_new(),
				 .clock = fake_clock_new(),
				 .offers = { .on = kubelet } };
	offering = &scene->offers;
	sticks_open(&scene->node);
	scene->claims = informer(scene, &usbdeviceclaim_kind);
	scene->devices = informer(scene, &usbdevice_kind);
	scene->pci_claims = informer(scene, &pcideviceclaim_kind);
	scene->this_node =
		this_node_of(scene->client, fake_clock_as_clock(scene->clock), &scene->events);
	scene->this_node.claims[INVENTORY_USB] = scene->claims;
	scene->this_node.claims[INVENTORY_PCI] = scene->pci_claims;
	scene->this_node.devices[INVENTORY_USB] = scene->devices;
	scene->usb = usb_new(&scene->this_node, &(struct usb_deps){ .offers = &scene->offers,
								    .selected = on_selected,
								    .renamed = on_renamed,
								    .arg = scene });
	informer_start(scene->claims);
	informer_start(scene->devices);
	informer_start(scene->pci_claims);
	fake_clock_settle(scene->clock);
}

static inline void scene_close(struct scene *scene)
{
	usb_free(scene->usb);
	informer_free(scene->claims);
	informer_free(scene->devices);
	informer_free(scene->pci_claims);
	assert_int_equal(fake_client_open(scene->client), 0);
	kube_client_free(scene->client);
	fake_clock_free(scene->clock);
	sticks_close(&scene->node);
}

SUITE_CLOSING(scene, struct scene, scene_close);

/* A kind's list; @claim is JSON with ' for ", "" for none. */
static inline void list(struct scene *scene, const char *path, const char *claim)
{
	auto_json json_t *json = *claim ? object_json(claim) : NULL;
	auto_free char *item = json ? json_map_text(json) : xstrdup("");
	auto_free char *text =
		xasprintf("{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[%s]}", item);

	fake_client_choose(scene->client, path);
	fake_client_answer(scene->client, 200, text);
	fake_clock_settle(scene->clock);
}

static inline void list_all(struct scene *scene, const char *claim)
{
	list(scene, "/usbdeviceclaims?", claim);
	list(scene, "/usbdevices?", "");
	list(scene, "/pcideviceclaims?", "");
}

/* The device has other numbers than its claim's name says; the node has it mounted if it is
 * @used. */
static inline void monitor_used(struct scene *scene, bool used)
{
	sticks_again(&scene->node);
	if (used)
		sticks_line(&scene->node, "{'kind':'use','usb':'1-2','reason':'Mounted',"
					  "'detail':'sdb1 is mounted at /mnt'}");
	sticks_plug_all(&scene->node, "1-2=77:A");
	world_look(&scene->node.world, &(struct inventory_options){ .node_name = "node1" });
	scene->node.world.inventory->began_ms = clock_now_ms(fake_clock_as_clock(scene->clock));
	scene->this_node.inventory = scene->node.world.inventory;
	usb_name_devices(scene->usb, scene->node.world.inventory);
	usb_enqueue_all(scene->usb);
	fake_clock_settle(scene->clock);
}

static inline void scan(struct scene *scene)
{
	monitor_used(scene, false);
}

static inline bool is_named(const struct scene *scene, const char *name)
{
	return inventory_find(scene->node.world.inventory, INVENTORY_USB, name);
}

static inline size_t asking(const struct scene *scene)
{
	return fake_client_open(scene->client) - WATCHES;
}
