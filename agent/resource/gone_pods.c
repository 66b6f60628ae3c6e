#include "agent/resource/gone_pods.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/node/this_node.h"
#include "agent/plugin/checkpoint.h"
#include "agent/resource/boot_record.h"
#include "agent/resource/pod_processes.h"
#include "api/json_map.h"
#include "api/json_values.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "kube/clock.h"

enum {
	FIRST_MS = 250, /* between two checks whether the processes have ended: doubled */
	MAX_MS = 8000,  /* after each, up to this                                      */
};

struct gone_pods {
	const struct this_node *node;
	struct checkpoint *checkpoint;
	void (*ended)(void *arg, const char *id);
	void *arg;
	struct map *pods; /* UID -> struct json_strs *: the devices of a pod that it has named */
	uint64_t version; /* the checkpoint's, when they were read                             */
	struct boot_record *record;
	struct json_strs awaited; /* devices that are not free, as such a pod still has a process */
	struct clock_timer *timer; /* for the next check of the processes */
	uint64_t wait_ms;          /* until then                     */
};

static struct json_strs *devices_free(struct json_strs *devices)
{
	if (devices)
		json_strs_done(devices);
	free(devices);
	return NULL;
}

/* --- which pods there were -------------------------------------------------------------------- */

/* Returns whether that is new. */
static bool note(struct gone_pods *gone, const char *uid, const char *id)
{
	struct json_strs *devices = map_get(gone->pods, uid);

	if (!devices) {
		devices = xcalloc(1, sizeof(*devices));
		map_set(gone->pods, uid, devices);
	}
	return json_strs_add_new(devices, id);
}

static void keep(struct gone_pods *gone)
{
	json_t *pods = json_object();
	const char *uid;
	size_t cursor = 0;
	void *value;

	while (map_next(gone->pods, &cursor, &uid, &value)) {
		const struct json_strs *devices = value;
		json_t *list = json_array();

		for (size_t i = 0; i < devices->len; i++)
			json_array_append_new(list, json_string(devices->items[i]));
		json_object_set_new(pods, uid, list);
	}
	boot_record_keep(gone->record, pods);
}

static void recall(struct gone_pods *gone)
{
	auto_json json_t *pods = NULL;
	const char *uid;
	json_t *list;
	json_t *item;
	size_t i;

	gone->record = boot_record_new(gone->node->helper.state_dir, "pods.json", "pods", &pods);
	json_object_foreach (pods, uid, list) {
		json_array_foreach (list, i, item) {
			if (json_is_string(item))
				note(gone, uid, json_string_value(item));
		}
	}
}

void gone_pods_note(struct gone_pods *gone)
{
	struct json_strs ids = { 0 };
	bool changed = false;

	if (checkpoint_version(gone->checkpoint) == gone->version) {
		if (boot_record_is_behind(gone->record))
			keep(gone);
		return;
	}
	gone->version = checkpoint_version(gone->checkpoint);
	checkpoint_ids(gone->checkpoint, &ids);
	for (size_t i = 0; i < ids.len; i++) {
		const char *uid = checkpoint_pod(gone->checkpoint, ids.items[i]);

		if (uid && *uid)
			changed |= note(gone, uid, ids.items[i]);
	}
	json_strs_done(&ids);
	if (changed || boot_record_is_behind(gone->record))
		keep(gone);
}

static bool is_named(struct gone_pods *gone, const char *uid, const struct json_strs *devices)
{
	for (size_t i = 0; i < devices->len; i++) {
		const char *named = checkpoint_pod(gone->checkpoint, devices->items[i]);

		if (named && strcmp(named, uid) == 0)
			return true;
	}
	return false;
}

/* Forget the pods @uids, which have no process, except those that the checkpoint still names. */
static void forget(struct gone_pods *gone, const struct json_strs *uids)
{
	size_t before = map_len(gone->pods);

	for (size_t i = 0; i < uids->len; i++) {
		const struct json_strs *devices = map_get(gone->pods, uids->items[i]);

		if (!is_named(gone, uids->items[i], devices))
			devices_free(map_remove(gone->pods, uids->items[i]));
	}
	if (map_len(gone->pods) != before)
		keep(gone);
}

/* --- their processes -------------------------------------------------------------------------- */

static int find_process(const struct gone_pods *gone, const struct json_strs *uids,
			const char **ret_uid, int *ret_pid, struct err *err)
{
	const struct helper_place *place = &gone->node->helper;
	auto_free char *beside =
		xasprintf("%s/../proc", place->sysfs_root ? place->sysfs_root : "/sys");

	return pod_processes_find(place->proc_root ? place->proc_root : beside, uids, ret_uid,
				  ret_pid, err);
}

/* Adds the UIDs of the pods but @but (NULL: none) that had the device @id and may still have
 * processes. */
static void add_pods_of(const struct gone_pods *gone, const char *id, const char *but,
			struct json_strs *uids)
{
	const char *uid;
	size_t cursor = 0;
	void *devices;

	while (map_next(gone->pods, &cursor, &uid, &devices)) {
		if (json_strs_has(devices, id) && (!but || strcmp(uid, but) != 0))
			json_strs_add(uids, uid);
	}
}

/* A process of a pod but @but that had the device. The caller frees. */
static char *find_holder(struct gone_pods *gone, const char *id, const char *but)
{
	struct json_strs uids = { 0 };
	struct err err = { 0 };
	char *holder = NULL;
	const char *uid;
	int pid = 0;
	int r = 0;

	gone_pods_note(gone);
	add_pods_of(gone, id, but, &uids);
	if (uids.len > 0)
		r = find_process(gone, &uids, &uid, &pid, &err);
	if (r == POD_PROCESSES_RUN)
		holder = xasprintf("process %d of a deleted pod (UID %s)", pid, uid);
	else if (r < 0)
		holder = xasprintf("a deleted pod that may have processes (%s)", err.msg);
	else
		forget(gone, &uids);
	json_strs_done(&uids);
	return holder;
}

/* While the checkpoint does not name the pod, the only one that has ever had the device is taken
 * for it. */
char *gone_pods_other(struct gone_pods *gone, const char *id)
{
	auto_free char *now = NULL;
	struct json_strs uids = { 0 };
	size_t len;

	gone_pods_note(gone);
	now = xstrdup_or_null(checkpoint_pod(gone->checkpoint, id));
	add_pods_of(gone, id, now, &uids);
	len = uids.len;
	json_strs_done(&uids);
	return len > (now ? 0 : 1) ? find_holder(gone, id, now) : NULL;
}

bool gone_pods_have(struct gone_pods *gone, const char *id)
{
	auto_free char *holder = find_holder(gone, id, NULL);

	return holder;
}

static void check_later(struct gone_pods *gone, uint64_t wait_ms)
{
	gone->wait_ms = wait_ms < MAX_MS ? wait_ms : MAX_MS;
	clock_timer_start(gone->node->clock, gone->timer, gone->wait_ms);
}

char *gone_pods_await(struct gone_pods *gone, const char *id)
{
	char *holder = find_holder(gone, id, NULL);

	if (holder && json_strs_add_new(&gone->awaited, id))
		check_later(gone, FIRST_MS);
	return holder;
}

static void on_due(void *arg)
{
	struct gone_pods *gone = arg;
	struct json_strs awaited = gone->awaited;
	uint64_t wait_ms = gone->wait_ms;

	gone->awaited = (struct json_strs){ 0 };
	for (size_t i = 0; i < awaited.len; i++) {
		auto_free char *holder = gone_pods_await(gone, awaited.items[i]);

		if (!holder)
			gone->ended(gone->arg, awaited.items[i]);
	}
	if (gone->awaited.len > 0)
		check_later(gone, wait_ms * 2);
	json_strs_done(&awaited);
}

void gone_pods_ids(struct gone_pods *gone, struct json_strs *ids)
{
	struct json_strs all = { 0 };
	const char *uid;
	size_t cursor = 0;
	void *value;

	while (map_next(gone->pods, &cursor, &uid, &value)) {
		const struct json_strs *devices = value;

		if (is_named(gone, uid, devices))
			continue;
		for (size_t i = 0; i < devices->len; i++)
			json_strs_add_new(&all, devices->items[i]);
	}
	for (size_t i = 0; i < all.len; i++) {
		auto_free char *holder = gone_pods_await(gone, all.items[i]);

		if (holder)
			json_strs_add(ids, all.items[i]);
	}
	json_strs_done(&all);
}

/* --- life ------------------------------------------------------------------------------------- */

struct gone_pods *gone_pods_new(const struct this_node *node, struct checkpoint *checkpoint,
				void (*ended)(void *arg, const char *id), void *arg)
{
	struct gone_pods *gone = xcalloc(1, sizeof(*gone));

	gone->node = node;
	gone->checkpoint = checkpoint;
	gone->ended = ended;
	gone->arg = arg;
	gone->pods = map_new();
	gone->timer = clock_timer_new(node->clock, on_due, gone);
	recall(gone);
	gone_pods_note(gone);
	return gone;
}

struct gone_pods *gone_pods_free(struct gone_pods *gone)
{
	size_t cursor = 0;
	void *devices;

	if (!gone)
		return NULL;
	clock_timer_free(gone->node->clock, gone->timer);
	while (map_next(gone->pods, &cursor, NULL, &devices))
		devices_free(devices);
	map_free(gone->pods);
	json_strs_done(&gone->awaited);
	boot_record_free(gone->record);
	free(gone);
	return NULL;
}
