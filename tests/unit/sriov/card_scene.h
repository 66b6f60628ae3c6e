/* card_scene: a made-up node with a network card, and its SRIOVNetworkDevices as an API server
 * keeps them: what is written is stored. JSON stands in C with ' for ". */
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
#include "unit/kube/objects.h"
#include "unit/made_json.h"

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

static inline void scene_world(struct world *world, const char *const *lines, size_t max)
{
	char *copies[16] = { NULL };

	for (size_t i = 0; i < max && lines[i]; i++)
		copies[i] = made_json(lines[i]);
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
