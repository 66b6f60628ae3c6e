/*
 * usb_type_scene: a usb_type between sticks, their nodes, claims and a config, all of it in the
 * test's hand; and stand-ins for the plugins and for who has what.
 */
#pragma once

#include "agent/config/config.h"
#include "agent/plugin/device_type.h"
#include "agent/plugin/plugins.h"
#include "agent/resource/offers.h"
#include "agent/usb/usb_type.h"
#include "api/pcidevice.h"
#include "base/array.h"
#include "base/err.h"
#include "unit/same_nodes.h"
#include "unit/this_node.h"
#include "unit/usb/nodes.h"
#include "unit/usb/sticks.h"

#define RESOURCE "kubevirt.io/" STICK
#define ENV      "USB_RESOURCE_KUBEVIRT_IO_NODE1-0951-1666-001005"
#define MINE     CLAIM(STICK, KNOWN("1-2", "A"))
#define DELETED \
	CLAIM_OF(STICK, "," MARKED ",'deletionTimestamp':'2026-01-01T00:00:00Z'", KNOWN("1-2", "A"))
#define MOUNTED "{'kind':'use','usb':'1-2','reason':'Mounted','detail':'sdb1 is mounted at /mnt'}"

/* In place of agent/plugin's and agent/resource's: what was offered last, and who has what. */
static struct stage {
	struct str offered;
	struct str troubles;
	const char *held; /* an ID that a pod has: itself and its parts */
	const char *as;   /* the resource that it has it as; NULL: not asked for */
	bool others;      /* which this agent offers no more */
	bool unknown;     /* the kubelet has not said anything yet       */
	bool numbered;    /* a pod has the number of the device in 1-2   */
	const char *left; /* the port of a device that a process of a former pod has */
} stage;

void plugins_set(struct plugins *plugins, const struct device_type *type, void *type_arg,
		 const struct plugin_resource *resources, size_t len)
{
	(void)plugins;
	(void)type_arg;
	assert_ptr_equal(type, &usb_device_type);
	str_clear(&stage.offered);
	for (size_t i = 0; i < len; i++) {
		assert_int_equal(resources[i].claimed, strcmp(resources[i].name, RESOURCE) == 0);
		str_addf(&stage.offered, "%s%s:", i ? "; " : "", resources[i].name);
		for (size_t k = 0; k < resources[i].ndevices; k++) {
			const struct plugin_device *device = &resources[i].devices[k];

			assert_int_equal(device->healthy, device->trouble == NULL);
			str_addf(&stage.offered, " %s%s", device->id, device->dra ? " by DRA" : "");
			if (device->trouble)
				str_addf(&stage.offered, "! (%s)", device->trouble);
		}
	}
}

static inline bool stage_is_held(const char *id)
{
	size_t len = strlen(id);
	const char *at = stage.held ? strstr(stage.held, id) : NULL;

	return at && (at == stage.held || at[-1] == ',') && (at[len] == '\0' || at[len] == ',');
}

bool offers_is_free(struct offers *offers, const char *id, char **ret_holder)
{
	(void)offers;
	*ret_holder = stage_is_held(id) ? xstrdup("pod default/vm") : NULL;
	return !stage_is_held(id);
}

const struct pcidevice_allocations *offers_allocations(const struct offers *offers, const char *id)
{
	static const struct pcidevice_allocations none = { 0 };
	static const struct pcidevice_allocations some = { .len = 1 };

	(void)offers;
	if (stage.unknown)
		return NULL;
	return stage_is_held(id) ? &some : &none;
}

bool offers_is_busy(struct offers *offers, const char *id)
{
	(void)offers;
	return stage.left && strcmp(id, stage.left) == 0;
}

char *offers_start_trouble(struct offers *offers, const char *id)
{
	(void)offers;
	return stage.left && strcmp(id, stage.left) == 0 ? xasprintf("a process has %s", id) : NULL;
}

char *offers_number_trouble(struct offers *offers, const char *id)
{
	(void)offers;
	return stage.numbered && strcmp(id, "1-2") == 0 ? xstrdup("a pod has its number") : NULL;
}

const char *offers_resource(const struct offers *offers, const char *id, bool *ret_ours)
{
	(void)offers;
	*ret_ours = stage_is_held(id) && stage.as && !stage.others;
	return stage_is_held(id) ? stage.as : NULL;
}

/* --- the scene -------------------------------------------------------------------------------- */

struct scene {
	struct sticks node;
	struct this_node this_node;
	struct config config;
	struct usb_view view;
	struct usb_type *type;
};

static inline void scene_scan(struct scene *scene, const char *plugged)
{
	sticks_plug_all(&scene->node, plugged);
	sticks_scan(&scene->node);
	scene->this_node.inventory = scene->node.world.inventory;
	usb_type_seen(scene->type);
}

static inline void scene_again(struct scene *scene, const char *plugged)
{
	sticks_again(&scene->node);
	scene_scan(scene, plugged);
}

static inline void scene_open(struct scene *scene, const char *claim)
{
	stage = (struct stage){ 0 };
	*scene = (struct scene){ 0 };
	nodes_open();
	sticks_open(&scene->node);
	if (claim)
		sticks_claim(&scene->node, claim);
	scene->this_node = this_node_of(NULL, NULL, NULL);
	scene->this_node.helper.dev_root = nodes()->dev;
	scene->this_node.helper.state_dir = nodes()->state;
	scene->view = (struct usb_view){ .node = &scene->this_node,
					 .claims = scene->node.claims,
					 .config = &scene->config,
					 .calls = nodes_calls() };
	scene->type = usb_type_new(&scene->view);
}

static inline void scene_close(struct scene *scene)
{
	usb_type_free(scene->type);
	for (size_t i = 0; i < scene->config.usb.len; i++) {
		array_done(&scene->config.usb.items[i].selectors);
		free(scene->config.usb.items[i].resource);
	}
	array_done(&scene->config.usb);
	sticks_close(&scene->node);
	nodes_close();
	str_done(&stage.offered);
	str_done(&stage.troubles);
}

SUITE_CLOSING(scene, struct scene, scene_close);

/* Every stick is selected, one or @each in a unit. */
static inline void scene_select(struct scene *scene, const char *resource, size_t each)
{
	struct config_usb *entry = array_add(&scene->config.usb);

	entry->resource = xstrdup(resource);
	for (size_t i = 0; i < each; i++)
		*array_add(&entry->selectors) =
			(struct config_usb_selector){ .vendor = 0x951, .product = 0x1666 };
}

/* As usb.c does it. */
static inline void scene_offer(struct scene *scene)
{
	struct config_troubles troubles = { 0 };

	usb_type_offer(scene->type, NULL, &troubles);
	usb_type_clear(scene->type);
	str_clear(&stage.troubles);
	for (size_t i = 0; i < troubles.len; i++)
		str_addf(&stage.troubles, "%s[%d] %s %s: %s|", troubles.items[i].list,
			 (int)troubles.items[i].index, troubles.items[i].resource,
			 troubles.items[i].reason, troubles.items[i].message);
	config_troubles_done(&troubles);
}

static inline void assert_offers(struct scene *scene, const char *wanted)
{
	scene_offer(scene);
	assert_string_equal(str_cstr(&stage.offered), wanted);
}

static inline void assert_owner(unsigned device, const char *wanted)
{
	auto_free char *owner = nodes_owner(device);

	assert_string_equal(owner, wanted);
}

/* What a container gets of @ids (joined by blanks): "NAME=value node:permissions ..."; or the
 * code. */
static inline int scene_allocate(struct scene *scene, const char *resource, const char *ids,
				 struct str *ret_said)
{
	struct allocation allocation = { 0 };
	struct json_strs list = { 0 };
	auto_free char *copy = xstrdup(ids);
	char *rest = copy;
	const char *id;
	struct err err = { 0 };
	int r;

	while ((id = strsep(&rest, " ")))
		json_strs_add(&list, id);
	r = usb_device_type.allocate(scene->type, resource, &list, &allocation, &err);
	if (r < 0)
		str_add(ret_said, err.msg);
	for (size_t i = 0; i < allocation.envs.len && r == 0; i++)
		str_addf(ret_said, "%s=%s", allocation.envs.items[i].key,
			 allocation.envs.items[i].value);
	for (size_t i = 0; i < allocation.devices.len && r == 0; i++)
		str_addf(ret_said, " %s:%s", allocation.devices.items[i].host_path,
			 allocation.devices.items[i].permissions);
	if (r == 0)
		assert_same_nodes(&usb_device_type, scene->type, &list, &allocation, NULL);
	allocation_done(&allocation);
	json_strs_done(&list);
	return r;
}

static inline void assert_allocates(struct scene *scene, const char *resource, const char *ids,
				    const char *wanted)
{
	auto_str struct str said = STR_INIT;

	assert_int_equal(scene_allocate(scene, resource, ids, &said), 0);
	assert_string_equal(str_cstr(&said), wanted);
}

static inline void assert_refuses(struct scene *scene, const char *resource, const char *ids,
				  int code, const char *message)
{
	auto_str struct str said = STR_INIT;

	assert_int_equal(scene_allocate(scene, resource, ids, &said), code);
	if (!strstr(str_cstr(&said), message))
		fail_msg("no '%s' in '%s'", message, str_cstr(&said));
}
