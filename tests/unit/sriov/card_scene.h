/* card_scene: a made-up node with a network card, and its SRIOVNetworkDevices as an API server keeps them:
 * what is written is stored. JSON stands in C with ' for ". */
#pragma once

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "agent/sriov/sriov_card.h"
#include "agent/sriov/sriov_plan.h"
#include "agent/task/task_line.h"
#include "api/names.h"
#include "api/object.h"
#include "api/sriovnetworkdevice.h"
#include "base/json_read.h"
#include "base/str.h"
#include "kube/store.h"
#include "unit/agent/world.h"

#define PF   "0000:03:00.0"
#define NAME "node1-eth1"

/* The card: as it is, with more members, and with two virtual functions. */
#define CARD_OF(address, id, rest)                                            \
	"{'kind':'pci','address':'" address "','vendor':'8086','device':'" id \
	"','class':'020000','role':'PhysicalFunction','totalVFs':7,'iommuGroup':'20'" rest "}"
#define CARD_WITH(rest) CARD_OF(PF, "10c9", ",'interface':'eth1'" rest)
#define CARD            CARD_WITH("")
#define VFS             ",'virtualFunctions':['0000:03:10.0','0000:03:10.2']"
#define CARD_2          CARD_WITH(VFS)
#define VF(n, rest)                                                                   \
	"{'kind':'pci','address':'0000:03:10." n "','vendor':'8086','device':'10ca'," \
	"'class':'020000','role':'VirtualFunction','physicalFunction':'" PF "'" rest "}"
#define USE(address, reason) \
	"{'kind':'use','pci':'" address "','reason':'" reason "','detail':'it is needed'}"

#define LABELS   "'labels':{'nodename':'node1'}"
#define ETH1     "'sriov.devices.harvesterhi.io/interface-name':'eth1'"
#define FOUND(n) ",'hostdev.io/found-vfs':'" n "'"
#define OBJECT_OF(name, meta, spec, status)                                                   \
	"{'metadata':{'name':'" name "','uid':'u1','resourceVersion':'7','generation':3" meta \
	"},'spec':{" spec "},'status':{" status "}}"
#define SPEC(n)        "'address':'" PF "','nodeName':'node1','numVFs':" n
#define MARKED         "," LABELS ",'annotations':{" ETH1 "}"
#define MADE(when)     ",'creationTimestamp':'" when "'"
#define OBJECT(n)      OBJECT_OF(NAME, MARKED, SPEC(n), "")
#define SEEN           "'status':'sriovNetworkDeviceDisabled','address':'" PF "','device':'8086:10c9'"
#define OBJECT_SEEN(n) OBJECT_OF(NAME, MARKED, SPEC(n), SEEN)
#define OBJECT_FOUND(n, found) \
	OBJECT_OF(NAME, "," LABELS ",'annotations':{" ETH1 FOUND(found) "}", SPEC(n), SEEN)

static inline char *scene_quotes(const char *text)
{
	char *copy = xstrdup(text);

	for (char *s = copy; *s; s++)
		*s = *s == '\'' ? '"' : *s;
	return copy;
}

static inline json_t *scene_json(const char *text)
{
	auto_free char *copy = scene_quotes(text);
	struct err err = { 0 };
	json_t *json = NULL;

	if (json_map_load(copy, strlen(copy), &json, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return json;
}

static inline void scene_heard(void *arg, const struct entry *before, const struct entry *after)
{
	(void)arg;
	(void)before;
	(void)after;
}

static inline void scene_put(struct store *store, const json_t *object)
{
	auto_free char *text = json_map_text(object);
	struct json_text all = { text, strlen(text) };
	struct err err = { 0 };
	struct entry *entry = entry_decode(&sriovnetworkdevice_kind, &all, &err);

	if (!entry || !entry->object) {
		fail_msg("%s: %s", text, err.msg);
		return;
	}
	store_remove(store, entry->name, NULL, scene_heard, NULL);
	store_put(store, entry, scene_heard, NULL);
}

/* RFC 7396, into @target. */
static inline void scene_merge(json_t *target, json_t *patch)
{
	const char *key;
	json_t *value;

	json_object_foreach (patch, key, value) {
		if (json_is_null(value)) {
			json_object_del(target, key);
		} else if (json_is_object(value)) {
			if (!json_is_object(json_object_get(target, key)))
				json_object_set_new(target, key, json_object());
			scene_merge(json_object_get(target, key), value);
		} else {
			json_object_set(target, key, value);
		}
	}
}

static inline void scene_world(struct world *world, const char *const *lines, size_t max)
{
	char *copies[16] = { NULL };

	for (size_t i = 0; i < max && lines[i]; i++)
		copies[i] = scene_quotes(lines[i]);
	world_of(world, (const char *const *)copies, max);
	for (size_t i = 0; i < max && copies[i]; i++)
		free(copies[i]);
}

/* "True Ready", the status and reason of a condition; "-" without one. The caller frees. */
static inline char *scene_condition(const struct sriovnetworkdevice *object, const char *type)
{
	const struct api_condition *condition =
		object ? api_conditions_find(&object->status.conditions, type) : NULL;

	return condition ? xasprintf("%s %s", condition->status, condition->reason) : xstrdup("-");
}
