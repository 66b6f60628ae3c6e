/*
 * cluster: two nodes with devices, as the controller knows them, and requests about them.
 *
 * JSON is written with ' for ". Objects of the table below are there always; a row adds its own,
 * one after the other, each with its kind; one of the same name replaces what is there.
 */
#pragma once

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "api/kind.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/admission/known.h"
#include "controller/admission/resources.h"
#include "controller/admission/rules.h"
#include "controller/webhook/admission_review.h"
#include "kube/store.h"
#include "unit/suite.h"

/* clang-format off */
#define OBJECT(kind, name, rest) "{'kind':'" kind "','metadata':{'name':'" name "','uid':'u-" name "'}" rest "}"
#define CLAIMABLE(status, reason, message) \
	"'conditions':[{'type':'Claimable','status':'" status "','reason':'" reason "','message':'" message "'}]"
#define PCI(name, node, address, group, members, driver, rest) \
	OBJECT("PCIDevice", name, ",'status':{'address':'" address "','nodeName':'" node "','iommuGroup':'" group \
	"','iommuGroupMembers':[" members "],'kernelDriverInUse':'" driver "','resourceName':'x.com/" driver "'," rest "}")
#define AVAILABLE CLAIMABLE("True", "Available", "may be claimed")
#define SHARED    CLAIMABLE("True", "GroupShared", "shares")
#define STICK     "node1-0951-1666-001005"

static const char *const cluster_objects[] = {
	OBJECT("Node", "node1", ",'status':{'allocatable':{'cpu':'4','other.com/thing':'2'}}"),
	OBJECT("Node", "node2", ""),
	PCI("node1-000001000", "node1", "0000:01:00.0", "1", "'0000:01:00.0'", "e1000e", AVAILABLE),
	PCI("node2-000001000", "node2", "0000:01:00.0", "1", "'0000:01:00.0'", "e1000e", AVAILABLE),
	PCI("node1-000002000", "node1", "0000:02:00.0", "2", "'0000:02:00.0','0000:02:00.1'", "nouveau", SHARED),
	PCI("node1-000002001", "node1", "0000:02:00.1", "2", "'0000:02:00.0','0000:02:00.1'", "snd_hda_intel", SHARED),
	PCI("node1-000000020", "node1", "0000:00:02.0", "3", "'0000:00:02.0'", "virtio",
	    CLAIMABLE("False", "HostNetwork", "eth0 has the default route")),
	PCI("node1-000003000", "node1", "0000:03:00.0", "4", "'0000:03:00.0'", "igb", "'totalVFs':7,'numVFs':0," AVAILABLE),
	PCI("node1-000003100", "node1", "0000:03:10.0", "5", "'0000:03:10.0'", "igbvf",
	    "'physicalFunction':'0000:03:00.0'," AVAILABLE),
	PCI("node1-000004000", "node1", "0000:04:00.0", "6", "'0000:04:00.0'", "nvme",
	    CLAIMABLE("False", "InUse", "nvme0n1 is mounted at /mnt")),
	PCI("node1-000000140", "node1", "0000:00:14.0", "7", "'0000:00:14.0','0000:00:14.2'", "xhci_hcd", AVAILABLE),
	PCI("node1-000000142", "node1", "0000:00:14.2", "7", "'0000:00:14.0','0000:00:14.2'", "", AVAILABLE),
	PCI("node1-000005000", "node1", "0000:05:00.0", "", "", "ahci", CLAIMABLE("False", "NoIOMMU", "no IOMMU")),
	PCI("node1-000006000", "node1", "0000:06:00.0", "", "", "nobody", "'numVFs':0"),
	OBJECT("USBDevice", STICK, ",'status':{'nodeName':'node1','pciAddress':'0000:00:14.0','portPath':'1-2',"
	       "'resourceName':'kubevirt.io/" STICK "'," AVAILABLE "}"),
	OBJECT("USBDevice", "node1-1d6b-0002-001001", ",'status':{'nodeName':'node1',"
	       CLAIMABLE("False", "Hub", "a hub") "}"),
};
/* clang-format on */

struct cluster {
	struct api_kind kinds[VIEW_KINDS];
	struct store *stores[VIEW_KINDS];
	const struct store *seen[VIEW_KINDS]; /* the same, for who only reads */
	enum view_kind changing;
	struct resources *resources;
	struct known known;
	bool unverified; /* anybody may have sent what it is asked */
};

/* A row of a test's table. Texts are JSON, but for the last two. */
struct cluster_case {
	const char *name;
	const char *more; /* objects, one after the other; NULL: none */
	enum admission_operation operation;
	const char *resource; /* "pcideviceclaims" */
	const char *object;   /* new; NULL: none   */
	const char *old;      /* NULL: none        */
	const char *user;     /* NULL: alice       */
	bool dry_run;
	const char *refused; /* part of the message; NULL: it is allowed         */
	const char *warned;  /* part of a warning; NULL: there is none at all   */
};

static inline json_t *cluster_json(const char *text)
{
	auto_free char *copy = xstrdup(text);
	struct err err = { 0 };
	json_t *json = NULL;

	for (char *s = copy; *s; s++)
		*s = *s == '\'' ? '"' : *s;
	if (json_map_load(copy, strlen(copy), &json, &err) < 0)
		fail_msg("%s: %s", text, err.msg);
	return json;
}

static inline void cluster_heard(void *arg, const struct entry *before, const struct entry *after)
{
	struct cluster *cluster = arg;

	resources_on_change(cluster->resources, cluster->changing, before, after);
}

static inline void cluster_put_json(struct cluster *cluster, const json_t *object)
{
	const char *kind = json_string_value(json_object_get(object, "kind"));
	auto_free char *text = json_map_text(object);
	struct json_text all = { text, strlen(text) };
	struct entry *entry;
	struct err err = { 0 };

	for (int i = 0; kind && i < VIEW_KINDS; i++) {
		if (strcmp(cluster->kinds[i].kind, kind) != 0)
			continue;
		entry = entry_decode(&cluster->kinds[i], &all, &err);
		if (!entry || !entry->object)
			fail_msg("%s: %s", text, err.msg);
		cluster->changing = (enum view_kind)i;
		store_put(cluster->stores[i], entry, cluster_heard, cluster);
		return;
	}
	fail_msg("no such kind: %s", text);
}

static inline void cluster_put(struct cluster *cluster, const char *text)
{
	auto_json json_t *object = cluster_json(text);

	cluster_put_json(cluster, object);
}

/* Each object on its own: "{...}{...}". */
static inline void cluster_put_all(struct cluster *cluster, const char *text)
{
	auto_free char *list = xasprintf("[%s]", text);
	auto_str struct str apart = STR_INIT;
	auto_json json_t *objects = NULL;

	for (const char *s = list; *s; s++) {
		str_add_char(&apart, *s);
		if (s[0] == '}' && s[1] == '{')
			str_add_char(&apart, ',');
	}
	objects = cluster_json(str_cstr(&apart));
	for (size_t i = 0; i < json_array_size(objects); i++)
		cluster_put_json(cluster, json_array_get(objects, i));
}

static inline void cluster_open(struct cluster *cluster)
{
	*cluster = (struct cluster){ .resources = resources_new() };
	cluster->known.resources = cluster->resources;
	cluster->known.stores = cluster->seen;
	for (int i = 0; i < VIEW_KINDS; i++) {
		cluster->kinds[i] = view_kind((enum view_kind)i);
		cluster->stores[i] = store_new(&cluster->kinds[i]);
		cluster->seen[i] = cluster->stores[i];
		cluster->known.synced[i] = true;
	}
	for (size_t i = 0; i < ARRAY_LEN(cluster_objects); i++)
		cluster_put(cluster, cluster_objects[i]);
}

static inline void cluster_close(struct cluster *cluster)
{
	for (int i = 0; i < VIEW_KINDS; i++)
		store_free(cluster->stores[i]);
	resources_free(cluster->resources);
}

SUITE_FIXTURE(cluster, struct cluster, cluster_open, cluster_close);

static inline const char *cluster_meta(const json_t *object, const char *key)
{
	const char *text =
		json_string_value(json_object_get(json_object_get(object, "metadata"), key));

	return text ? text : "";
}

typedef void cluster_ask_fn(const struct known *known, const struct admission_request *request,
			    struct admission_answer *answer);

/* The caller releases the answer. */
static inline void cluster_ask(const struct cluster *cluster, const struct cluster_case *row,
			       cluster_ask_fn *ask, struct admission_answer *ret_answer)
{
	auto_json json_t *object = row->object ? cluster_json(row->object) : NULL;
	auto_json json_t *old = row->old ? cluster_json(row->old) : NULL;
	auto_json json_t *user = json_object();
	const json_t *named = object ? object : old;
	bool kubevirt = strcmp(row->resource, "virtualmachines") == 0;
	bool core = strcmp(row->resource, "pods") == 0;
	struct admission_request request = {
		.uid = "1",
		.group = kubevirt ? "kubevirt.io"
			 : core   ? ""
				  : "devices.harvesterhci.io",
		.version = kubevirt || core ? "v1" : "v1beta1",
		.resource = row->resource,
		.subresource = "",
		.name = cluster_meta(named, "name"),
		.ns = cluster_meta(named, "namespace"),
		.user = row->user ? row->user : "alice",
		.operation = row->operation,
		.dry_run = row->dry_run,
		.verified = !cluster->unverified,
		.object = object,
		.old_object = old,
		.user_info = user,
	};

	admission_answer_init(ret_answer);
	ask(&cluster->known, &request, ret_answer);
}

static inline bool cluster_warned(const struct admission_answer *answer, const char *part)
{
	for (size_t i = 0; i < answer->warnings.len; i++) {
		if (strstr(answer->warnings.items[i], part))
			return true;
	}
	return false;
}

static inline void cluster_check(struct admission_answer *answer, const struct cluster_case *row)
{
	const char *message = str_cstr(&answer->message);
	const char *warning = answer->warnings.len ? answer->warnings.items[0] : "";

	if (answer->allowed != !row->refused)
		fail_msg("%s: %s", answer->allowed ? "allowed" : "refused", message);
	if (row->refused && !strstr(message, row->refused))
		fail_msg("'%s' does not say '%s'", message, row->refused);
	if (row->refused && answer->code < 400)
		fail_msg("a refusal has no code");
	if (!row->warned && answer->warnings.len > 0)
		fail_msg("warned: %s", warning);
	if (row->warned && !cluster_warned(answer, row->warned))
		fail_msg("'%s' does not warn '%s'", warning, row->warned);
}

/* The test of a row. */
static inline void cluster_answers_as_the_table_says(void **state)
{
	const struct cluster_case *row = suite_row(state);
	struct admission_answer answer;
	struct cluster *cluster = *state;

	if (row->more)
		cluster_put_all(cluster, row->more);
	cluster_ask(cluster, row, rules_validate, &answer);
	cluster_check(&answer, row);
	assert_null(answer.patch);
	admission_answer_done(&answer);
}
