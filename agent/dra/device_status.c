#include "agent/dra/device_status.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/dra/dra_devices.h"
#include "agent/node/this_node.h"
#include "api/condition.h"
#include "api/json_map.h"
#include "api/resourceclaim.h"
#include "base/array.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "kube/apply.h"
#include "kube/clock.h"
#include "kube/fetch.h"
#include "kube/workq_run.h"

static const char type_ready[] = "Ready";
static const char reason_failed[] = "NotPrepared";

/* A claim with an entry in its status, or with one to be removed. */
struct told {
	char *uid, *ns, *name;
	char *since;     /* time of the first failure             */
	json_t *devices; /* as in status.devices; NULL: no entry  */
	bool pending;    /* the API server does not have them yet */
	bool unread;     /* whether it has entries of ours is to be read; it should have none */
	bool written;    /* the API server may have entries of ours */
};

struct device_status {
	const struct this_node *node;
	struct workq_run *queue; /* of UIDs */
	ARRAY(struct told) claims;
	bool off; /* the API server has not taken such a write; until @again */
	bool warned;
	struct clock_timer *again;

	/* The request in progress. */
	struct kube_call *call; /* NULL: none */
	char *uid;
	json_t *sent; /* its devices; NULL: it removes the entries, or reads the claim */
	work_end_fn *end;
	void *end_arg;
};

static struct told *find(const struct device_status *status, const char *uid)
{
	for (size_t i = 0; i < status->claims.len; i++) {
		if (strcmp(status->claims.items[i].uid, uid) == 0)
			return &status->claims.items[i];
	}
	return NULL;
}

static void told_done(struct told *told)
{
	free(told->uid);
	free(told->ns);
	free(told->name);
	free(told->since);
	json_decref(told->devices);
}

static void forget(struct device_status *status, struct told *told)
{
	told_done(told);
	*told = status->claims.items[--status->claims.len];
}

/* --- what a claim says ------------------------------------------------------------------------ */

/* A device of another node's pool is not ours to write about. */
static bool is_own_pool(const struct this_node *node, const char *pool)
{
	bool own = false;

	for (int kind = 0; kind < DRA_KINDS && !own; kind++) {
		for (size_t i = 0; i < DRA_POOLS_MAX && !own; i++) {
			auto_free char *name = dra_pool_name(node->name, (enum dra_kind)kind, i);

			own = strcmp(name, pool) == 0;
		}
	}
	return own;
}

static bool is_ours(const struct this_node *node, const char *driver, const char *pool)
{
	return str_match(driver, DRA_DRIVER) && pool && is_own_pool(node, pool);
}

static bool has_devices(const struct this_node *node, const struct resourceclaim *claim)
{
	const struct resourceclaim_devices *devices = &claim->status.allocation.devices;
	bool has = false;

	for (size_t i = 0; i < devices->results.len && !has; i++)
		has = is_ours(node, devices->results.items[i].driver,
			      devices->results.items[i].pool);
	return has;
}

/* How many entries the claim has about devices of this node. */
static size_t count_ours(const struct this_node *node, const struct resourceclaim *claim)
{
	size_t count = 0;

	for (size_t i = 0; i < claim->status.devices.len; i++) {
		const struct resourceclaim_device *device = &claim->status.devices.items[i];

		count += is_ours(node, device->driver, device->pool);
	}
	return count;
}

/* The condition of an allocated device that says that it is not ready; NULL: the claim has none. */
static const struct api_condition *find_failure(const struct resourceclaim *claim,
						const struct resourceclaim_result *result)
{
	for (size_t i = 0; i < claim->status.devices.len; i++) {
		const struct resourceclaim_device *device = &claim->status.devices.items[i];

		if (str_match(device->driver, result->driver) &&
		    str_match(device->pool, result->pool) &&
		    str_match(device->device, result->device) &&
		    api_conditions_status(&device->conditions, type_ready) == API_FALSE)
			return api_conditions_find(&device->conditions, type_ready);
	}
	return NULL;
}

/* Does the claim have an entry with this message for each of its devices, and no other of ours? */
static bool is_told(const struct this_node *node, const struct resourceclaim *claim,
		    const char *message)
{
	const struct resourceclaim_devices *devices = &claim->status.allocation.devices;
	size_t count = 0;

	for (size_t i = 0; i < devices->results.len; i++) {
		const struct resourceclaim_result *result = &devices->results.items[i];
		const struct api_condition *failure;

		if (!is_ours(node, result->driver, result->pool))
			continue;
		failure = find_failure(claim, result);
		if (!failure || !str_match(failure->reason, reason_failed) ||
		    !str_match(failure->message, message))
			return false;
		count++;
	}
	return count == count_ours(node, claim);
}

/* Since when the claim says that a device is not ready; NULL: it does not. Borrowed. */
static const char *failing_since(const struct this_node *node, const struct resourceclaim *claim)
{
	const struct resourceclaim_devices *devices = &claim->status.allocation.devices;
	const struct api_condition *failure = NULL;

	for (size_t i = 0; i < devices->results.len && !failure; i++) {
		const struct resourceclaim_result *result = &devices->results.items[i];

		if (is_ours(node, result->driver, result->pool))
			failure = find_failure(claim, result);
	}
	return failure ? failure->last_transition_time : NULL;
}

/* --- what it should say ----------------------------------------------------------------------- */

static json_t *entry_of(const struct resourceclaim_result *result, const char *since,
			const char *message)
{
	json_t *entry = json_object();
	json_t *condition = json_object();

	json_put_text(condition, "type", type_ready);
	json_put_text(condition, "status", "False");
	json_put_text(condition, "reason", reason_failed);
	json_put_text(condition, "message", message);
	json_put_text(condition, "lastTransitionTime", since);
	json_put_text(entry, "driver", result->driver);
	json_put_text(entry, "pool", result->pool);
	json_put_text(entry, "device", result->device);
	json_put(entry, "conditions", json_array());
	json_add(json_object_get(entry, "conditions"), condition);
	return entry;
}

/* One entry for each device: if one cannot be prepared, the pod gets none of them. */
static json_t *entries_of(const struct this_node *node, const struct resourceclaim *claim,
			  const char *since, const char *message)
{
	const struct resourceclaim_devices *devices = &claim->status.allocation.devices;
	json_t *entries = json_array();

	for (size_t i = 0; i < devices->results.len; i++) {
		const struct resourceclaim_result *result = &devices->results.items[i];

		if (is_ours(node, result->driver, result->pool))
			json_add(entries, entry_of(result, since, message));
	}
	return entries;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void end_write(struct device_status *status, int result, const struct err *err)
{
	status->call = NULL;
	free(take_ptr(status->uid));
	json_decref(take_ptr(status->sent));
	status->end(status->end_arg, result, err);
}

/* Does the answer have an entry of ours? Without the feature gate, the API server drops the
 * field. */
static bool is_kept(const struct kube_response *response)
{
	auto_json json_t *claim = NULL;
	const json_t *device;
	size_t i;

	if (json_map_load(response->body, response->body_len, &claim, NULL) < 0)
		return false;
	json_array_foreach (json_object_get(json_object_get(claim, "status"), "devices"), i,
			    device) {
		if (str_match(json_string_value(json_object_get(device, "driver")), DRA_DRIVER))
			return true;
	}
	return false;
}

/* Why the API server will not take any such write; NULL: it may take others. */
static const char *find_obstacle(const struct device_status *status, const struct told *told,
				 int result, const struct kube_response *response,
				 const struct err *err)
{
	enum { FORBIDDEN = 403 };

	if (result == 0 && status->sent && !is_kept(response))
		return "it does not keep status.devices: is its feature gate "
		       "DRAResourceClaimDeviceStatus off?";
	if (result == -EACCES && response->status == FORBIDDEN)
		return err->msg;
	if (result == -ENOENT && !fetch_says_gone(response, told->name))
		return err->msg;
	return NULL;
}

/* Rights and feature gates change while agents run, and nothing tells that. */
static void give_up(struct device_status *status, const char *why)
{
	if (!status->warned)
		log_warn("the status of ResourceClaims does not say why devices are not prepared",
			 log_str("reason", why),
			 log_int("next_attempt_s", DEVICE_STATUS_AGAIN_MS / 1000));
	status->warned = true;
	status->off = true;
	clock_timer_start(status->node->clock, status->again, DEVICE_STATUS_AGAIN_MS);
}

/* The first of these that is refused ends the attempt. */
static void on_again(void *arg)
{
	struct device_status *status = arg;

	status->off = false;
	for (size_t i = 0; i < status->claims.len; i++) {
		if (status->claims.items[i].pending)
			workq_run_add(status->queue, status->claims.items[i].uid);
	}
}

static void note_success(struct device_status *status)
{
	if (status->warned)
		log_info("the status of ResourceClaims says again why devices are not prepared");
	status->warned = false;
}

/* There is nothing to be removed, and no write under way. */
static bool needs_no_removal(const struct device_status *status, const struct told *told)
{
	return !told->written && !str_match(status->uid, told->uid);
}

/* An entry that the API server refuses as invalid is not sent again: the claim was replaced, or
 * does not have the device any more. */
static void on_written(void *arg, int result, const struct kube_response *response,
		       const struct err *err)
{
	struct device_status *status = arg;
	struct told *told = find(status, status->uid);
	bool gone = result == -ENOENT;
	const char *obstacle = find_obstacle(status, told, result, response, err);

	if (obstacle) {
		give_up(status, obstacle);
		if (!told->devices && !told->written)
			forget(status, told);
		end_write(status, 0, NULL);
		return;
	}
	if (result == 0 && status->sent)
		note_success(status);
	told->written |= status->sent && result != -EINVAL;
	if (gone) {
		forget(status, told);
	} else if ((result == 0 || result == -EINVAL) && told->devices == status->sent) {
		told->pending = false;
		if (!told->devices)
			forget(status, told);
	}
	end_write(status, gone ? 0 : result, err);
}

/* --- what an earlier agent has written -------------------------------------------------------- */

/* Does the response have the claim with this UID, with entries of ours? */
static bool is_stale(const struct this_node *node, const struct kube_response *response,
		     const char *uid)
{
	struct resourceclaim *claim = NULL;
	bool stale = resourceclaim_parse(response->body, response->body_len, &claim, NULL) == 0 &&
		     str_match(claim->meta.uid, uid) && count_ours(node, claim) > 0;

	resourceclaim_free(claim);
	return stale;
}

/* What is missing, or may not be read, is left as it is. */
static void on_read(void *arg, int result, const struct kube_response *response,
		    const struct err *err)
{
	struct device_status *status = arg;
	struct told *told = find(status, status->uid);
	bool final = result == 0 || result == -ENOENT || result == -EACCES;

	if (final && told && told->unread) {
		if (result == 0 && is_stale(status->node, response, told->uid)) {
			told->unread = false;
			told->written = true;
			workq_run_add(status->queue, told->uid);
		} else {
			forget(status, told);
		}
	}
	end_write(status, final ? 0 : result, err);
}

/* The UID makes sure that it is the same claim: the API server refuses another one. */
static json_t *body_of(const struct told *told)
{
	json_t *body = json_object();

	json_put(body, "metadata", json_object());
	json_put_text(json_object_get(body, "metadata"), "uid", told->uid);
	if (told->devices) {
		json_put(body, "status", json_object());
		json_put(json_object_get(body, "status"), "devices", json_incref(told->devices));
	}
	return body;
}

/* Server-side apply: without status.devices, it removes the entries that this manager has. */
static void work(void *arg, const char *uid, work_end_fn *end, void *end_arg)
{
	struct device_status *status = arg;
	const struct told *told = find(status, uid);
	struct api_kind kind = resourceclaim_kind;
	auto_json json_t *body = NULL;

	if (!told || !told->pending || status->off) {
		end(end_arg, 0, NULL);
		return;
	}
	kind.ns = told->ns;
	status->uid = xstrdup(uid);
	status->sent = json_incref(told->devices);
	status->end = end;
	status->end_arg = end_arg;
	if (told->unread) {
		status->call =
			fetch_object(status->node->client, &kind, told->name, on_read, status);
		return;
	}
	body = body_of(told);
	status->call = apply_send(status->node->client,
				  &(struct apply_request){ .kind = &kind,
							   .name = told->name,
							   .subresource = "status",
							   .field_manager = "hostdev-agent",
							   .force = true,
							   .object = body },
				  on_written, status);
}

/* Takes @devices. */
static void set(struct device_status *status, struct told *told, json_t *devices)
{
	json_decref(told->devices);
	told->devices = devices;
	told->pending = true;
	told->unread = false;
	workq_run_add(status->queue, told->uid);
}

/* NULL: there are too many. */
static struct told *add(struct device_status *status, const char *uid, const char *ns,
			const char *name)
{
	struct told *told = find(status, uid);

	if (told || status->claims.len == DEVICE_STATUS_CLAIMS_MAX)
		return told;
	told = array_add(&status->claims);
	*told = (struct told){ .uid = xstrdup(uid), .ns = xstrdup(ns), .name = xstrdup(name) };
	return told;
}

/* The same, of a claim as the API server has it. */
static struct told *add_read(struct device_status *status, const char *ns,
			     const struct resourceclaim *claim)
{
	const char *since = failing_since(status->node, claim);
	struct told *told = add(status, claim->meta.uid, ns, claim->meta.name);
	char now[TIMEFMT_MAX];

	if (!told)
		return NULL;
	told->written |= count_ours(status->node, claim) > 0;
	if (!told->since)
		told->since = xstrdup(
			since ? since : timefmt_rfc3339(clock_wall_ms(status->node->clock), now));
	return told;
}

static void take_back(struct device_status *status, struct told *told)
{
	if (needs_no_removal(status, told))
		forget(status, told);
	else
		set(status, told, NULL);
}

void device_status_failed(struct device_status *status, const char *ns,
			  const struct resourceclaim *claim, const char *message)
{
	auto_free char *text = str_clean(message, DEVICE_STATUS_MESSAGE_MAX);
	auto_json json_t *devices = NULL;
	struct told *told;

	if (!has_devices(status->node, claim))
		return;
	told = add_read(status, ns, claim);
	if (!told || (!told->pending && is_told(status->node, claim, text)))
		return;
	devices = entries_of(status->node, claim, told->since, text);
	if (!told->pending || !json_equal(told->devices, devices))
		set(status, told, take_ptr(devices));
}

void device_status_prepared(struct device_status *status, const char *ns,
			    const struct resourceclaim *claim)
{
	struct told *told = NULL;

	if (device_status_is_told(status, claim))
		told = add_read(status, ns, claim);
	if (told)
		take_back(status, told);
}

bool device_status_is_told(const struct device_status *status, const struct resourceclaim *claim)
{
	return find(status, claim->meta.uid) || count_ours(status->node, claim) > 0;
}

void device_status_check(struct device_status *status, const char *uid, const char *ns,
			 const char *name)
{
	struct told *told = add(status, uid, ns, name);

	if (!told)
		return;
	told->unread = true;
	told->pending = true;
	workq_run_add(status->queue, told->uid);
}

void device_status_unprepared(struct device_status *status, const char *uid)
{
	struct told *told = find(status, uid);

	if (told && !told->unread)
		take_back(status, told);
}

/* --- life ------------------------------------------------------------------------------------- */

struct device_status *device_status_new(const struct this_node *node)
{
	struct device_status *status = xcalloc(1, sizeof(*status));

	status->node = node;
	status->again = clock_timer_new(node->clock, on_again, status);
	status->queue = workq_run_new(&(struct workq_run_spec){
		.name = "resourceclaims",
		.max_running = 1,
		.work = work,
		.arg = status,
		.clock = node->clock,
		.metrics = node->metrics,
	});
	return status;
}

struct device_status *device_status_free(struct device_status *status)
{
	if (!status)
		return NULL;
	if (status->call) {
		kube_call_cancel(status->call);
		end_write(status, 0, NULL);
	}
	workq_run_free(status->queue);
	clock_timer_free(status->node->clock, status->again);
	for (size_t i = 0; i < status->claims.len; i++)
		told_done(&status->claims.items[i]);
	array_done(&status->claims);
	free(status);
	return NULL;
}
