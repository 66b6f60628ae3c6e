#include "agent/resource/ledger.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/node/this_node.h"
#include "agent/plugin/checkpoint.h"
#include "agent/plugin/podresources.h"
#include "agent/resource/gone_pods.h"
#include "agent/resource/pod_allocations.h"
#include "api/json_values.h"
#include "api/pcidevice.h"
#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "kube/clock.h"

/* --- when a restarted kubelet lists all of its pods ------------------------------------------- */

/*
 * From when on a restarted kubelet lists all of its pods. Pure.
 *
 * Until it has read them from the API server it lists none, or only those of the node's own files,
 * although they run: such a list shows holders, but not that a device has none. The Node shows that
 * the kubelet has reached the API server: the heartbeat of the condition Ready is the kubelet's own
 * (the node controller, which makes the condition Unknown, leaves the heartbeat), and the first one
 * is posted as it begins. The list of its pods comes by another request, which it may try again
 * only after half a minute (client-go's reflector).
 */

enum {
	KUBELET_YOUNG_MS = 10000,   /* without a heartbeat: a kubelet knows its pods after this */
	HEARTBEAT_AFTER_MS = 30000, /* after the first heartbeat                                */
	HEARTBEAT_AGAIN_MS = 5000,  /* without one since it began: its time is not known */
};

/* All zero at first. */
struct kubelet_age {
	int64_t heartbeat_ms; /* wall clock, the last one that was heard of; 0: none ever */
	int64_t began_ms;     /* wall clock, of the kubelet                               */
	int64_t first_ms;     /* its first heartbeat since; 0: not heard of               */
};

enum { HEARTBEAT_GRAIN_MS = 999 }; /* metav1.Time has whole seconds, and cuts */

static void set_heartbeat(struct kubelet_age *age, int64_t heartbeat_ms)
{
	age->heartbeat_ms = heartbeat_ms;
}

static uint64_t remaining_ms(int64_t until_ms, int64_t now_ms)
{
	return until_ms > now_ms ? (uint64_t)(until_ms - now_ms) : 0;
}

/* For how many ms a list of the kubelet that began at @began_ms is not all there is; 0: it is. Wall
 * clock. */
static uint64_t kubelet_wait_ms(struct kubelet_age *age, int64_t began_ms, int64_t now_ms)
{
	uint64_t young_ms = remaining_ms(began_ms + KUBELET_YOUNG_MS, now_ms);
	uint64_t first_ms;

	if (began_ms > now_ms)
		return 0; /* the clock was set back, so that kubelet's age is unknown */
	if (began_ms != age->began_ms) {
		age->began_ms = began_ms;
		age->first_ms = 0;
	}
	if (!age->heartbeat_ms)
		return young_ms;
	if (age->heartbeat_ms + HEARTBEAT_GRAIN_MS < began_ms)
		return HEARTBEAT_AGAIN_MS;
	if (!age->first_ms)
		age->first_ms = age->heartbeat_ms;
	first_ms = remaining_ms(age->first_ms + HEARTBEAT_AFTER_MS, now_ms);
	return first_ms > young_ms ? first_ms : young_ms;
}

/* --- ledger ----------------------------------------------------------------------------------- */

enum {
	GROWN_ANSWER_MS = 2000, /* a requested answer arrives within this */
	STARTING_MS = 20000,    /* an admitted pod is in podresources within this */
	WRITTEN_MS = 100,       /* after the kubelet was made to write its checkpoint     */
	WRITTEN_CHECKS = 100,   /* so often, until it has: it may have to open a stream first   */
	UNLISTED_MS = 30000,    /* between two questions whether the pod still has them   */
};

/* What the checkpoint names and no list does. */
struct unlisted {
	struct json_strs ids;   /* when the kubelet had written it last     */
	struct json_strs asked; /* since when the kubelet was made to write it */
	struct clock_timer *timer;
	unsigned checks_left; /* until the kubelet has written; 0: ask it for its list */
	uint64_t version;     /* the checkpoint's when it was made to write                      */
};

struct ledger {
	const struct this_node *node;
	struct ledger_deps deps;
	struct podresources *podresources;
	struct pod_allocations *pods;
	struct pod_allocations *claims; /* by ResourceClaims */
	struct checkpoint *checkpoint;
	struct map *starting; /* ID -> struct starting *              */
	struct unlisted unlisted;
	struct gone_pods *gone;
	struct kubelet_age kubelet_age;
	struct clock_timer *grown; /* the kubelet may have settled, and is asked again */
	bool asked_grown;
	struct clock_timer *passed; /* ends an uncertainty, with or without an answer */
	bool waits;                 /* for that */
	bool answered;              /* the kubelet has answered once */
	bool doubted;               /* a caller got an answer from its checkpoint instead */
	uint64_t calls;             /* Allocate calls so far */
	uint64_t began_ms;
};

/* Given to a pod that the kubelet has not named yet. */
struct starting {
	uint64_t since_ms;
	uint64_t until_ms; /* then it is listed, if it lives */
	bool listed;       /* kept for a moment: since when is asked for */
	uint64_t version;  /* of the checkpoint at the allocation */
	uint64_t call;     /* the call of the allocation */
	char *resource;
};

static void starting_free(void *arg)
{
	struct starting *starting = arg;

	if (starting)
		free(starting->resource);
	free(starting);
}

static void on_pods_changed(void *arg, const char *id)
{
	struct ledger *ledger = arg;

	ledger->deps.changed(ledger->deps.arg, id);
}

static bool is_offered(void *arg, const char *resource)
{
	const struct ledger *ledger = arg;
	size_t cursor = 0;
	void *starting;

	/* Allocated devices are ours, even if their resource disappears before the kubelet lists
	 * the pod. */
	while (map_next(ledger->starting, &cursor, NULL, &starting)) {
		if (strcmp(((const struct starting *)starting)->resource, resource) == 0)
			return true;
	}
	return ledger->deps.offers(ledger->deps.arg, resource);
}

static bool had_device(void *arg, const struct pod_device *device)
{
	const struct ledger *ledger = arg;

	return ledger->deps.had && ledger->deps.had(ledger->deps.arg, device);
}

/* For how long what the kubelet does not list may be a pod's all the same; 0: it is not. */
static uint64_t unsure_for_ms(struct ledger *ledger)
{
	struct stat st;

	if (stat(ledger->deps.socket_path, &st) < 0)
		return 0;
	return kubelet_wait_ms(&ledger->kubelet_age,
			       (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000,
			       clock_wall_ms(ledger->node->clock));
}

/* Has a list named its pod? A list that was requested before the allocation names the earlier
 * holder. */
static bool is_listed(const struct ledger *ledger, const char *id, const struct starting *starting)
{
	return starting->listed ||
	       (podresources_asked_ms(ledger->podresources) > starting->since_ms &&
		pod_allocations_of(ledger->pods, id)->len > 0);
}

/* A pod that is listed is not starting any more. */
static void forget_started(struct ledger *ledger)
{
	uint64_t now_ms = clock_now_ms(ledger->node->clock);
	const char *id;
	size_t cursor = 0;
	void *value;

	while (map_next(ledger->starting, &cursor, &id, &value)) {
		struct starting *starting = value;

		starting->listed = is_listed(ledger, id, starting);
		if (starting->listed && now_ms > starting->since_ms + LEDGER_RECENT_MS)
			starting_free(map_remove(ledger->starting, id));
	}
}

static bool is_any(void *arg, const char *resource)
{
	(void)arg;
	(void)resource;
	return true;
}

/* A claim that is not prepared any more may still be listed. */
static void match_claims(struct ledger *ledger, bool whole)
{
	static const struct pod_allocations_ops ops = { is_any, on_pods_changed, NULL };
	const struct pod_devices *all = podresources_devices(ledger->podresources);
	struct pod_devices claimed = { .items = xcalloc(all->len + 1, sizeof(*all->items)) };

	for (size_t i = 0; i < all->len; i++) {
		struct pod_device device = all->items[i];

		if (device.claim)
			device.device = ledger->deps.claimed_id(ledger->deps.arg, &device);
		if (device.claim && device.device)
			claimed.items[claimed.len++] = device;
	}
	pod_allocations_set(ledger->claims, &claimed, whole, &ops, ledger);
	free(claimed.items);
}

/* Read the last answer for the resources that are offered now. */
static void match_pods(struct ledger *ledger, bool whole)
{
	static const struct pod_allocations_ops ops = { is_offered, on_pods_changed, had_device };

	pod_allocations_set(ledger->pods, podresources_devices(ledger->podresources), whole, &ops,
			    ledger);
	match_claims(ledger, whole);
}

/* The kubelet does not answer now, so nothing follows from a missing device. */
static bool is_silent(struct ledger *ledger)
{
	return !ledger->answered || podresources_stale(ledger->podresources) ||
	       unsure_for_ms(ledger) > 0;
}

/* The first complete answer changes every device, because none was known before; so does an answer
 * that ends an uncertainty. */
static void take_pods(struct ledger *ledger, bool whole)
{
	bool all = whole && (!ledger->answered || ledger->doubted);

	ledger->answered = ledger->answered || whole;
	match_pods(ledger, whole);
	forget_started(ledger);
	if (!all)
		return;
	ledger->doubted = false;
	ledger->deps.changed(ledger->deps.arg, NULL);
}

/* The kubelet was unsure at its last answer. Its next answer may be the same, and an equal answer
 * causes no callback. */
static void on_grown(void *arg)
{
	struct ledger *ledger = arg;
	uint64_t unsure_ms = unsure_for_ms(ledger);

	if (unsure_ms > 0) {
		ledger->asked_grown = false;
		clock_timer_start(ledger->node->clock, ledger->grown, unsure_ms);
	} else if (!ledger->asked_grown) {
		ledger->asked_grown = true;
		podresources_ask(ledger->podresources);
		clock_timer_start(ledger->node->clock, ledger->grown, GROWN_ANSWER_MS);
	} else if (!podresources_stale(ledger->podresources)) {
		take_pods(ledger, true);
	}
}

static void refresh_when_grown(struct ledger *ledger, uint64_t unsure_ms)
{
	if (unsure_ms == 0)
		return;
	ledger->asked_grown = false;
	clock_timer_start(ledger->node->clock, ledger->grown, unsure_ms);
}

static void on_podresources(void *arg)
{
	struct ledger *ledger = arg;
	const struct err *stale = podresources_stale(ledger->podresources);
	uint64_t unsure_ms = unsure_for_ms(ledger);

	if (stale) {
		log_warn("cannot refresh device allocations from podresources",
			 log_str("reason", stale->msg));
		return;
	}
	take_pods(ledger, unsure_ms == 0);
	refresh_when_grown(ledger, unsure_ms);
}

/* --- what only the checkpoint names ----------------------------------------------------------- */

/*
 * The kubelet lists the devices of containers, but not those of init containers (List() of
 * pkg/kubelet/apis/podresources/server_v1.go, 1.34); it keeps them for their pod until that ends.
 * Its checkpoint names them, but may name pods that have ended, too. The kubelet forgets these when
 * it is asked for its list, and writes what it knows when a plugin sends it a list: so after each
 * of its answers it is made to write.
 */

/* A checkpoint that cannot be read names what it named last. */
static bool is_in_checkpoint(struct ledger *ledger, const char *id)
{
	enum checkpoint_answer answer = checkpoint_find(ledger->checkpoint, id);

	return answer == CHECKPOINT_ALLOCATED ||
	       (answer == CHECKPOINT_UNKNOWN && json_strs_has(&ledger->unlisted.ids, id));
}

/* An ID of one of our forms is our device, whatever its resource: the entry of the HostDeviceConfig
 * that offered it may have disappeared while no agent ran. */
static bool is_unlisted(struct ledger *ledger, const char *id)
{
	return (pod_allocations_is_device(id) || pod_allocations_is_port(id)) &&
	       pod_allocations_of(ledger->pods, id)->len == 0 && is_in_checkpoint(ledger, id);
}

static void add_unlisted(struct ledger *ledger, struct json_strs *ids)
{
	struct json_strs all = { 0 };

	checkpoint_ids(ledger->checkpoint, &all);
	for (size_t i = 0; i < all.len; i++) {
		if (is_unlisted(ledger, all.items[i]))
			json_strs_add_new(ids, all.items[i]);
	}
	json_strs_done(&all);
	for (size_t i = 0; i < ledger->unlisted.ids.len; i++) {
		if (is_unlisted(ledger, ledger->unlisted.ids.items[i]))
			json_strs_add_new(ids, ledger->unlisted.ids.items[i]);
	}
}

/* Adds the items of @ids that @others do not have. */
static void add_missing(const struct json_strs *ids, const struct json_strs *others,
			struct json_strs *missing)
{
	for (size_t i = 0; i < ids->len; i++) {
		if (!json_strs_has(others, ids->items[i]))
			json_strs_add(missing, ids->items[i]);
	}
}

static void update_unlisted(struct ledger *ledger)
{
	struct unlisted *unlisted = &ledger->unlisted;
	struct json_strs differ = { 0 };
	struct json_strs now = { 0 };

	add_unlisted(ledger, &now);
	add_missing(&now, &unlisted->ids, &differ);
	add_missing(&unlisted->ids, &now, &differ);
	add_missing(&unlisted->asked, &now, &differ);
	json_strs_done(&unlisted->ids);
	json_strs_done(&unlisted->asked);
	unlisted->ids = now;
	for (size_t i = 0; i < differ.len; i++)
		ledger->deps.changed(ledger->deps.arg, differ.items[i]);
	json_strs_done(&differ);
}

static void on_unlisted(void *arg)
{
	struct ledger *ledger = arg;
	struct unlisted *unlisted = &ledger->unlisted;

	if (unlisted->checks_left == 0) {
		podresources_ask(ledger->podresources);
		return;
	}
	unlisted->checks_left = checkpoint_version(ledger->checkpoint) != unlisted->version
					? 0
					: unlisted->checks_left - 1;
	if (unlisted->checks_left == 0)
		update_unlisted(ledger);
	if (unlisted->checks_left > 0 || unlisted->ids.len > 0)
		clock_timer_start(ledger->node->clock, unlisted->timer,
				  unlisted->checks_left > 0 ? WRITTEN_MS : UNLISTED_MS);
}

bool ledger_wants_written(const struct ledger *ledger)
{
	return ledger->unlisted.asked.len > 0 || ledger->unlisted.ids.len > 0;
}

/* Returns whether there are any. What was asked about before stays, too, until update_unlisted() has
 * reported it: the kubelet may have written since. */
static bool ask_unlisted(struct ledger *ledger)
{
	struct json_strs now = { 0 };
	bool any;

	add_unlisted(ledger, &now);
	any = now.len > 0;
	for (size_t i = 0; i < now.len; i++)
		json_strs_add_new(&ledger->unlisted.asked, now.items[i]);
	json_strs_done(&now);
	return any;
}

static void on_answered(void *arg)
{
	struct ledger *ledger = arg;
	struct unlisted *unlisted = &ledger->unlisted;

	gone_pods_note(ledger->gone);
	if (is_silent(ledger))
		return;
	clock_timer_stop(ledger->node->clock, unlisted->timer);
	if (!ask_unlisted(ledger)) {
		update_unlisted(ledger);
		return;
	}
	unlisted->version = checkpoint_version(ledger->checkpoint);
	unlisted->checks_left = WRITTEN_CHECKS;
	if (ledger->deps.make_kubelet_write)
		ledger->deps.make_kubelet_write(ledger->deps.arg);
	clock_timer_start(ledger->node->clock, unlisted->timer, WRITTEN_MS);
}

/* The answer may be older than an allocation since, and name the earlier holder. */
void ledger_offered(struct ledger *ledger)
{
	if (ledger->answered && !podresources_stale(ledger->podresources))
		match_pods(ledger, unsure_for_ms(ledger) == 0);
}

void ledger_set_heartbeat(struct ledger *ledger, int64_t heartbeat_ms)
{
	set_heartbeat(&ledger->kubelet_age, heartbeat_ms);
}

static void notify_when_passed(struct ledger *ledger, uint64_t wait_ms)
{
	if (ledger->waits)
		return; /* the timer runs already, and ends earlier */
	ledger->waits = true;
	clock_timer_start(ledger->node->clock, ledger->passed, wait_ms);
}

/* After this, the holders count as known, with or without an answer. */
static uint64_t known_ms(const struct ledger *ledger)
{
	return ledger->began_ms + LEDGER_UNKNOWN_MS;
}

/* A device counts as free after a time without an answer, or when no list names its pod. No event
 * reports that. */
static void on_passed(void *arg)
{
	struct ledger *ledger = arg;
	bool silent = is_silent(ledger);
	uint64_t now_ms = clock_now_ms(ledger->node->clock);
	uint64_t next_ms = UINT64_MAX;
	bool due = !ledger->answered &&
		   (now_ms >= known_ms(ledger) || checkpoint_version(ledger->checkpoint) > 0);
	const char *id;
	size_t cursor = 0;
	void *value;

	ledger->waits = false;
	if (!ledger->answered && now_ms < known_ms(ledger))
		next_ms = known_ms(ledger);
	while (map_next(ledger->starting, &cursor, &id, &value)) {
		const struct starting *starting = value;

		uint64_t until_ms = starting->until_ms;

		if (is_listed(ledger, id, starting))
			continue;
		if (until_ms <= now_ms) {
			due = true;
			until_ms = silent ? now_ms + STARTING_MS : UINT64_MAX;
		}
		if (until_ms < next_ms)
			next_ms = until_ms;
	}
	if (next_ms < UINT64_MAX)
		notify_when_passed(ledger, next_ms - now_ms);
	if (due)
		ledger->deps.changed(ledger->deps.arg, NULL);
}

static bool is_starting(struct ledger *ledger, const char *id)
{
	const struct starting *starting = map_get(ledger->starting, id);

	if (!starting || is_listed(ledger, id, starting))
		return false;
	if (clock_now_ms(ledger->node->clock) < starting->until_ms || is_silent(ledger))
		return true;
	starting_free(map_remove(ledger->starting, id));
	return false;
}

static void add_allocation(struct ledger *ledger, const char *resource, const char *id)
{
	struct starting *starting = xcalloc(1, sizeof(*starting));

	starting->since_ms = clock_now_ms(ledger->node->clock);
	starting->until_ms = starting->since_ms + STARTING_MS;
	starting->resource = xstrdup(resource);
	starting->version = checkpoint_version(ledger->checkpoint);
	starting->call = ledger->calls;
	starting_free(map_set(ledger->starting, id, starting));
	notify_when_passed(ledger, STARTING_MS);
}

void ledger_allocate(struct ledger *ledger, const char *resource, const struct json_strs *ids)
{
	ledger->calls++;
	for (size_t i = 0; i < ids->len; i++) {
		auto_free char *copy = xstrdup(ids->items[i]);
		char *rest = copy;
		const char *id;

		add_allocation(ledger, resource, ids->items[i]);
		while (strchr(ids->items[i], ',') && (id = strsep(&rest, ",")))
			add_allocation(ledger, resource, id);
	}
}

const char *ledger_resource(struct ledger *ledger, const char *id)
{
	const struct starting *starting = map_get(ledger->starting, id);
	const char *listed = pod_allocations_resource(ledger->pods, id);

	if (listed)
		return listed;
	if (starting && !is_listed(ledger, id, starting) &&
	    (clock_now_ms(ledger->node->clock) < starting->until_ms || is_silent(ledger)))
		return starting->resource;
	return is_silent(ledger) || is_unlisted(ledger, id)
		       ? checkpoint_resource(ledger->checkpoint, id)
		       : NULL;
}

/* Has the kubelet written its checkpoint since the allocation? Before, it names the earlier
 * holder. */
static bool is_written(struct ledger *ledger, const struct starting *starting)
{
	uint64_t version = checkpoint_version(ledger->checkpoint);

	return version > 0 && version != starting->version;
}

static bool is_open(struct ledger *ledger, const char *id, const struct starting *starting)
{
	uint64_t ago_ms = clock_now_ms(ledger->node->clock) - starting->since_ms;
	enum checkpoint_answer answer = checkpoint_find(ledger->checkpoint, id);

	if (answer == CHECKPOINT_ALLOCATED && !is_written(ledger, starting))
		answer = CHECKPOINT_FREE;
	return answer == CHECKPOINT_FREE && ago_ms <= LEDGER_RECENT_MS;
}

/* A list may name the pod before its containers have all of their devices. */
static bool is_allocated(struct ledger *ledger, const char *id, const struct starting *starting,
			 bool open)
{
	if (is_listed(ledger, id, starting))
		return open;
	return clock_now_ms(ledger->node->clock) < starting->until_ms || is_silent(ledger);
}

struct ledger_allocation ledger_allocation(struct ledger *ledger, const char *id)
{
	const struct starting *starting = map_get(ledger->starting, id);
	struct ledger_allocation allocation = { 0 };

	if (!starting)
		return allocation;
	allocation.call = starting->call;
	allocation.open = is_open(ledger, id, starting);
	allocation.recent =
		clock_now_ms(ledger->node->clock) <= starting->since_ms + LEDGER_RECENT_MS;
	if (is_allocated(ledger, id, starting, allocation.open))
		allocation.resource = starting->resource;
	return allocation;
}

/* The pod's UID in the checkpoint; NULL: none since the last allocation of the device. */
static const char *written_pod(struct ledger *ledger, const char *id)
{
	const struct starting *starting = map_get(ledger->starting, id);

	return starting && !is_written(ledger, starting) ? NULL
							 : checkpoint_pod(ledger->checkpoint, id);
}

static bool is_one_pods(const struct pcidevice_allocations *list)
{
	for (size_t i = 1; i < list->len; i++) {
		if (strcmp(list->items[i].namespace, list->items[0].namespace) != 0 ||
		    strcmp(list->items[i].pod, list->items[0].pod) != 0)
			return false;
	}
	return list->len > 0;
}

/* The pod in the list; NULL: none since the last allocation of the device, or several: kubelets up
 * to 1.33 list ended pods beside the one that has the device now. */
static const struct pcidevice_allocation *listed_pod(const struct ledger *ledger, const char *id)
{
	const struct starting *starting = map_get(ledger->starting, id);
	const struct pcidevice_allocations *list = pod_allocations_of(ledger->pods, id);

	return is_one_pods(list) && (!starting || is_listed(ledger, id, starting)) ? &list->items[0]
										   : NULL;
}

static bool is_readable(struct ledger *ledger, const char *id)
{
	enum checkpoint_answer answer = checkpoint_find(ledger->checkpoint, id);

	return answer == CHECKPOINT_ALLOCATED || answer == CHECKPOINT_FREE;
}

bool ledger_same_pod(struct ledger *ledger, const char *a, const char *b)
{
	const struct pcidevice_allocation *x = listed_pod(ledger, a);
	const struct pcidevice_allocation *y = listed_pod(ledger, b);
	auto_free char *uid = NULL;
	const char *other;

	if (!is_readable(ledger, a))
		return x && y && strcmp(x->namespace, y->namespace) == 0 &&
		       strcmp(x->pod, y->pod) == 0;
	uid = xstrdup_or_null(written_pod(ledger, a));
	other = written_pod(ledger, b);
	return uid && other && strcmp(uid, other) == 0;
}

/* The checkpoint may name too many devices, but has all allocated ones, except those that the
 * previous agent has just allocated. */
static bool is_written_nobodys(struct ledger *ledger, const char *id)
{
	return clock_now_ms(ledger->node->clock) >= ledger->began_ms + LEDGER_RECENT_MS &&
	       checkpoint_find(ledger->checkpoint, id) == CHECKPOINT_FREE;
}

/* NULL: it is not known yet whether the pod has ended. */
static char *unlisted_holder(struct ledger *ledger, const char *id)
{
	const char *uid = checkpoint_pod(ledger->checkpoint, id);

	if (!json_strs_has(&ledger->unlisted.ids, id))
		return NULL;
	return uid ? xasprintf("an init container of the pod with the UID %s", uid)
		   : xstrdup("an init container of a pod");
}

bool ledger_is_free(struct ledger *ledger, const char *id, char **ret_holder)
{
	const struct pcidevice_allocations *list = pod_allocations_of(ledger->pods, id);
	bool is_known = true;

	*ret_holder = NULL;
	if (list->len > 0)
		*ret_holder = xasprintf("pod %s/%s", list->items[0].namespace, list->items[0].pod);
	else if (is_starting(ledger, id))
		*ret_holder = xstrdup(is_silent(ledger) ? "a pod that the kubelet does not name"
							: "a pod that is being started");
	else if (ledger->answered && is_unlisted(ledger, id))
		is_known = (*ret_holder = unlisted_holder(ledger, id)) != NULL;
	else if (ledger->answered || clock_now_ms(ledger->node->clock) >= known_ms(ledger) ||
		 is_written_nobodys(ledger, id))
		*ret_holder = gone_pods_await(ledger->gone, id);
	else
		is_known = false;
	if (is_known && !*ret_holder)
		return true;
	ledger_ask(ledger);
	return false;
}

/* The checkpoint counts only while the kubelet is silent. An equal answer ends that without a
 * callback: ask again. */
static void doubt(struct ledger *ledger)
{
	ledger->doubted = true;
	refresh_when_grown(ledger, unsure_for_ms(ledger));
}

const char *ledger_written(struct ledger *ledger, const char *id)
{
	if (!is_silent(ledger))
		return is_unlisted(ledger, id)
			       ? "a pod in the kubelet's checkpoint, which lists init containers "
				 "too"
			       : NULL;
	switch (checkpoint_find(ledger->checkpoint, id)) {
	case CHECKPOINT_ALLOCATED:
		doubt(ledger);
		return "a pod in the kubelet's checkpoint; the kubelet does not say who has what";
	case CHECKPOINT_UNKNOWN:
		doubt(ledger);
		return "a pod that is not known; the kubelet does not say who has what, and its "
		       "checkpoint cannot be read";
	case CHECKPOINT_MISSING:
	case CHECKPOINT_FREE:
		break;
	}
	return NULL;
}

bool ledger_is_busy(struct ledger *ledger, const char *id)
{
	return gone_pods_have(ledger->gone, id);
}

char *ledger_former(struct ledger *ledger, const char *id)
{
	return gone_pods_other(ledger->gone, id);
}

void ledger_ids(struct ledger *ledger, struct json_strs *ids)
{
	const char *id;
	size_t cursor = 0;
	void *starting;

	pod_allocations_ids(ledger->pods, ids);
	while (map_next(ledger->starting, &cursor, &id, &starting)) {
		if (is_allocated(ledger, id, starting, false))
			json_strs_add(ids, id);
	}
	if (is_silent(ledger))
		checkpoint_ids(ledger->checkpoint, ids);
	else
		add_unlisted(ledger, ids);
	gone_pods_ids(ledger->gone, ids);
}

const struct pcidevice_allocations *ledger_allocations(const struct ledger *ledger, const char *id)
{
	const struct pcidevice_allocations *list = pod_allocations_of(ledger->pods, id);

	return ledger->answered || list->len > 0 ? list : NULL;
}

const struct pcidevice_allocations *ledger_claims(const struct ledger *ledger, const char *id)
{
	const struct pcidevice_allocations *list = pod_allocations_of(ledger->claims, id);

	return ledger->answered || list->len > 0 ? list : NULL;
}

void ledger_ask(struct ledger *ledger)
{
	podresources_ask(ledger->podresources);
}

struct ledger *ledger_new(const struct this_node *node, const struct ledger_deps *deps)
{
	struct ledger *ledger = xcalloc(1, sizeof(*ledger));

	ledger->node = node;
	ledger->deps = *deps;
	ledger->pods = pod_allocations_new();
	ledger->claims = pod_allocations_new();
	ledger->checkpoint = checkpoint_new(deps->checkpoint_path);
	ledger->starting = map_new();
	ledger->grown = clock_timer_new(node->clock, on_grown, ledger);
	ledger->passed = clock_timer_new(node->clock, on_passed, ledger);
	ledger->unlisted.timer = clock_timer_new(node->clock, on_unlisted, ledger);
	ledger->gone = gone_pods_new(node, ledger->checkpoint, on_pods_changed, ledger);
	ledger->began_ms = clock_now_ms(node->clock);
	notify_when_passed(ledger, LEDGER_RECENT_MS);
	ledger->podresources = podresources_new(&(struct podresources_deps){
		.loop = node->loop,
		.clock = node->clock,
		.socket_path = deps->socket_path,
		.changed = on_podresources,
		.answered = on_answered,
		.dra_driver = deps->dra_driver,
		.arg = ledger,
		.metrics = node->metrics,
	});
	return ledger;
}

struct ledger *ledger_free(struct ledger *ledger)
{
	if (!ledger)
		return NULL;
	podresources_free(ledger->podresources);
	clock_timer_free(ledger->node->clock, ledger->grown);
	clock_timer_free(ledger->node->clock, ledger->passed);
	clock_timer_free(ledger->node->clock, ledger->unlisted.timer);
	json_strs_done(&ledger->unlisted.ids);
	json_strs_done(&ledger->unlisted.asked);
	pod_allocations_free(ledger->pods);
	pod_allocations_free(ledger->claims);
	gone_pods_free(ledger->gone);
	checkpoint_free(ledger->checkpoint);
	map_free_with(ledger->starting, starting_free);
	free(ledger);
	return NULL;
}
