#include "agent/lend/custody.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/lend/gone_pods.h"
#include "agent/lend/lent_pods.h"
#include "agent/node/this_node.h"
#include "agent/plugin/checkpoint.h"
#include "agent/plugin/podresources.h"
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
 * although they run: such a list shows holders, but not that a device has none. The Node shows that the
 * kubelet has reached the API server: the heartbeat of the condition Ready is the kubelet's own (the node
 * controller, which makes the condition Unknown, leaves the heartbeat), and the first one is posted as it
 * begins. The list of its pods comes by another request, which it may try again only after half a minute
 * (client-go's reflector).
 */

enum {
	SETTLED_YOUNG_MS = 10000, /* without a heartbeat: a kubelet knows its pods by then    */
	SETTLED_AFTER_MS = 30000, /* after the first heartbeat                                */
	SETTLED_AGAIN_MS = 5000,  /* without one since it began: nothing says when it comes   */
};

/* All zero at first. */
struct settled {
	int64_t heartbeat_ms; /* wall clock, the last one that was heard of; 0: none ever */
	int64_t began_ms;     /* wall clock, of the kubelet                               */
	int64_t touch_ms;     /* its first heartbeat since; 0: not heard of               */
};

enum { HEARTBEAT_GRAIN_MS = 999 }; /* metav1.Time has whole seconds, and cuts */

static void settled_hear(struct settled *settled, int64_t heartbeat_ms)
{
	settled->heartbeat_ms = heartbeat_ms;
}

static uint64_t left_ms(int64_t until_ms, int64_t now_ms)
{
	return until_ms > now_ms ? (uint64_t)(until_ms - now_ms) : 0;
}

/* For how many ms a list of the kubelet that began at @began_ms is not all there is; 0: it is. Wall clock. */
static uint64_t settled_wait_ms(struct settled *settled, int64_t began_ms, int64_t now_ms)
{
	uint64_t young_ms = left_ms(began_ms + SETTLED_YOUNG_MS, now_ms);
	uint64_t touch_ms;

	if (began_ms > now_ms)
		return 0; /* the clock was set back: nothing can be said of that kubelet's age */
	if (began_ms != settled->began_ms) {
		settled->began_ms = began_ms;
		settled->touch_ms = 0;
	}
	if (!settled->heartbeat_ms)
		return young_ms;
	if (settled->heartbeat_ms + HEARTBEAT_GRAIN_MS < began_ms)
		return SETTLED_AGAIN_MS;
	if (!settled->touch_ms)
		settled->touch_ms = settled->heartbeat_ms;
	touch_ms = left_ms(settled->touch_ms + SETTLED_AFTER_MS, now_ms);
	return touch_ms > young_ms ? touch_ms : young_ms;
}

/* --- custody ---------------------------------------------------------------------------------- */

enum {
	GROWN_ANSWER_MS = 2000, /* an answer that was asked for is here by then */
	STARTING_MS = 20000,    /* a pod that was admitted shows in podresources by then */
	WRITTEN_MS = 100,       /* after the kubelet was made to write its checkpoint     */
	WRITTEN_LOOKS = 30,     /* so often, until it has                                 */
	UNLISTED_MS = 30000,    /* between two questions whether the pod still has them   */
};

/* What the checkpoint names and no list does. */
struct unlisted {
	struct json_strs ids;   /* when the kubelet had written it last     */
	struct json_strs asked; /* since when the kubelet was made to write it */
	struct clock_timer *timer;
	unsigned looks; /* left, until the kubelet has written; 0: it is to be asked for its list */
	uint64_t version; /* the checkpoint's when it was made to write                      */
};

struct custody {
	const struct this_node *node;
	struct custody_deps deps;
	struct podresources *podresources;
	struct lent_pods *pods;
	struct checkpoint *checkpoint;
	struct map *starting; /* ID -> struct starting *              */
	struct unlisted unlisted;
	struct gone_pods *gone;
	struct settled settled;
	struct clock_timer *grown; /* the kubelet may have settled, and is asked again */
	bool asked_grown;
	struct clock_timer *passed; /* what was not known for a while is by then, said or not */
	bool waits;                 /* for that */
	bool answered;              /* the kubelet has said once who has what */
	bool doubted;               /* somebody was told what its checkpoint says instead */
	uint64_t calls;             /* Allocate calls so far */
	uint64_t began_ms;
};

/* Given to a pod that the kubelet has not named yet. */
struct starting {
	uint64_t since_ms;
	uint64_t until_ms; /* then it is listed, if it lives */
	bool listed;       /* kept for a moment: since when is asked for */
	uint64_t version;  /* the checkpoint's when it was given         */
	uint64_t call;     /* which one it was given in                  */
	char *resource;
};

static void starting_free(struct starting *starting)
{
	if (starting)
		free(starting->resource);
	free(starting);
}

static void on_pods_changed(void *arg, const char *id)
{
	struct custody *custody = arg;

	custody->deps.changed(custody->deps.arg, id);
}

static bool is_offered(void *arg, const char *resource)
{
	const struct custody *custody = arg;
	size_t cursor = 0;
	void *starting;

	/* What was given is ours, although the resource may have gone before the kubelet listed the pod. */
	while (map_next(custody->starting, &cursor, NULL, &starting)) {
		if (strcmp(((const struct starting *)starting)->resource, resource) == 0)
			return true;
	}
	return custody->deps.offers(custody->deps.arg, resource);
}

static bool was_told(void *arg, const struct pod_device *device)
{
	const struct custody *custody = arg;

	return custody->deps.had && custody->deps.had(custody->deps.arg, device);
}

/* For how long what the kubelet does not list may be a pod's all the same; 0: it is not. */
static uint64_t unsure_for_ms(struct custody *custody)
{
	struct stat st;

	if (stat(custody->deps.socket_path, &st) < 0)
		return 0;
	return settled_wait_ms(&custody->settled,
			       (int64_t)st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000,
			       clock_wall_ms(custody->node->clock));
}

/* Has a list named its pod? What was asked for before the device was given says who had it before. */
static bool is_listed(const struct custody *custody, const char *id,
		      const struct starting *starting)
{
	return starting->listed ||
	       (podresources_asked_ms(custody->podresources) > starting->since_ms &&
		lent_pods_of(custody->pods, id)->len > 0);
}

/* A pod that is listed is being started no more. */
static void forget_started(struct custody *custody)
{
	uint64_t now_ms = clock_now_ms(custody->node->clock);
	const char *id;
	size_t cursor = 0;
	void *value;

	while (map_next(custody->starting, &cursor, &id, &value)) {
		struct starting *starting = value;

		starting->listed = is_listed(custody, id, starting);
		if (starting->listed && now_ms > starting->since_ms + CUSTODY_RECENT_MS)
			starting_free(map_remove(custody->starting, id));
	}
}

/* What the last answer says of what is offered now. */
static void match_pods(struct custody *custody, bool whole)
{
	static const struct lent_pods_ops ops = { is_offered, on_pods_changed, was_told };

	lent_pods_set(custody->pods, podresources_devices(custody->podresources), whole, &ops,
		      custody);
}

/* The kubelet says nothing now, so that nothing can be concluded from what it has not said. */
static bool is_silent(struct custody *custody)
{
	return !custody->answered || podresources_stale(custody->podresources) ||
	       unsure_for_ms(custody) > 0;
}

/* The first whole answer tells of every device, since nothing was known of any; and so does one that ends a doubt. */
static void take_pods(struct custody *custody, bool whole)
{
	bool all = whole && (!custody->answered || custody->doubted);

	custody->answered = custody->answered || whole;
	match_pods(custody, whole);
	forget_started(custody);
	if (!all)
		return;
	custody->doubted = false;
	custody->deps.changed(custody->deps.arg, NULL);
}

/* The kubelet was unsure at its last answer. Its next answer may be the same, and an equal answer causes no callback. */
static void on_grown(void *arg)
{
	struct custody *custody = arg;
	uint64_t unsure_ms = unsure_for_ms(custody);

	if (unsure_ms > 0) {
		custody->asked_grown = false;
		clock_timer_start(custody->node->clock, custody->grown, unsure_ms);
	} else if (!custody->asked_grown) {
		custody->asked_grown = true;
		podresources_ask(custody->podresources);
		clock_timer_start(custody->node->clock, custody->grown, GROWN_ANSWER_MS);
	} else if (!podresources_stale(custody->podresources)) {
		take_pods(custody, true);
	}
}

static void look_when_grown(struct custody *custody, uint64_t unsure_ms)
{
	if (unsure_ms == 0)
		return;
	custody->asked_grown = false;
	clock_timer_start(custody->node->clock, custody->grown, unsure_ms);
}

static void on_podresources(void *arg)
{
	struct custody *custody = arg;
	const struct err *stale = podresources_stale(custody->podresources);
	uint64_t unsure_ms = unsure_for_ms(custody);

	if (stale) {
		log_warn("cannot refresh device allocations from podresources",
			 log_str("reason", stale->msg));
		return;
	}
	take_pods(custody, unsure_ms == 0);
	look_when_grown(custody, unsure_ms);
}

/* --- what only the checkpoint names ----------------------------------------------------------- */

/*
 * The kubelet lists the devices of containers, but not those of init containers (List() of
 * pkg/kubelet/apis/podresources/server_v1.go, 1.34); it keeps them for their pod until that ends. Its checkpoint names them, but
 * may name pods that have ended, too. The kubelet forgets these when it is asked for its list, and writes what it knows when a
 * plugin sends it a list: so after each of its answers it is made to write.
 */

/* A checkpoint that cannot be read names what it named last. */
static bool is_in_checkpoint(struct custody *custody, const char *id)
{
	enum checkpoint_says says = checkpoint_find(custody->checkpoint, id);

	return says == CHECKPOINT_NAMES ||
	       (says == CHECKPOINT_UNKNOWN && json_strs_has(&custody->unlisted.ids, id));
}

/* An ID of the forms that are ours is a device of ours whatever its resource: the entry of the HostDeviceConfig by which it was
 * given may have gone while no agent ran. */
static bool is_unlisted(struct custody *custody, const char *id)
{
	return (lent_pods_is_device(id) || lent_pods_is_port(id)) &&
	       lent_pods_of(custody->pods, id)->len == 0 && is_in_checkpoint(custody, id);
}

static void add_unlisted(struct custody *custody, struct json_strs *ids)
{
	struct json_strs all = { 0 };

	checkpoint_ids(custody->checkpoint, &all);
	for (size_t i = 0; i < all.len; i++) {
		if (is_unlisted(custody, all.items[i]))
			json_strs_add_new(ids, all.items[i]);
	}
	json_strs_done(&all);
	for (size_t i = 0; i < custody->unlisted.ids.len; i++) {
		if (is_unlisted(custody, custody->unlisted.ids.items[i]))
			json_strs_add_new(ids, custody->unlisted.ids.items[i]);
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

static void look_at_unlisted(struct custody *custody)
{
	struct unlisted *unlisted = &custody->unlisted;
	struct json_strs differ = { 0 };
	struct json_strs now = { 0 };

	add_unlisted(custody, &now);
	add_missing(&now, &unlisted->ids, &differ);
	add_missing(&unlisted->ids, &now, &differ);
	add_missing(&unlisted->asked, &now, &differ);
	json_strs_done(&unlisted->ids);
	json_strs_done(&unlisted->asked);
	unlisted->ids = now;
	for (size_t i = 0; i < differ.len; i++)
		custody->deps.changed(custody->deps.arg, differ.items[i]);
	json_strs_done(&differ);
}

static void on_unlisted(void *arg)
{
	struct custody *custody = arg;
	struct unlisted *unlisted = &custody->unlisted;

	if (unlisted->looks == 0) {
		podresources_ask(custody->podresources);
		return;
	}
	unlisted->looks = checkpoint_version(custody->checkpoint) != unlisted->version
				  ? 0
				  : unlisted->looks - 1;
	if (unlisted->looks == 0)
		look_at_unlisted(custody);
	if (unlisted->looks > 0 || unlisted->ids.len > 0)
		clock_timer_start(custody->node->clock, unlisted->timer,
				  unlisted->looks > 0 ? WRITTEN_MS : UNLISTED_MS);
}

bool custody_wants_written(const struct custody *custody)
{
	return custody->unlisted.asked.len > 0 || custody->unlisted.ids.len > 0;
}

static void on_answered(void *arg)
{
	struct custody *custody = arg;
	struct unlisted *unlisted = &custody->unlisted;

	gone_pods_note(custody->gone);
	if (is_silent(custody))
		return;
	clock_timer_stop(custody->node->clock, unlisted->timer);
	json_strs_done(&unlisted->asked);
	add_unlisted(custody, &unlisted->asked);
	if (unlisted->asked.len == 0) {
		look_at_unlisted(custody);
		return;
	}
	unlisted->version = checkpoint_version(custody->checkpoint);
	unlisted->looks = WRITTEN_LOOKS;
	if (custody->deps.make_kubelet_write)
		custody->deps.make_kubelet_write(custody->deps.arg);
	clock_timer_start(custody->node->clock, unlisted->timer, WRITTEN_MS);
}

/* The answer may be older than what was given since: it may name who had that before. */
void custody_offered(struct custody *custody)
{
	if (custody->answered && !podresources_stale(custody->podresources))
		match_pods(custody, unsure_for_ms(custody) == 0);
}

void custody_hear(struct custody *custody, int64_t heartbeat_ms)
{
	settled_hear(&custody->settled, heartbeat_ms);
}

static void tell_when_passed(struct custody *custody, uint64_t wait_ms)
{
	if (custody->waits)
		return; /* that is earlier, and looks again */
	custody->waits = true;
	clock_timer_start(custody->node->clock, custody->passed, wait_ms);
}

/* From then on who has what counts as known, answer or not. */
static uint64_t known_ms(const struct custody *custody)
{
	return custody->began_ms + CUSTODY_UNKNOWN_MS;
}

/* A device counts as free after a time without an answer, or when no list names its pod. No event reports that. */
static void on_passed(void *arg)
{
	struct custody *custody = arg;
	bool silent = is_silent(custody);
	uint64_t now_ms = clock_now_ms(custody->node->clock);
	uint64_t next_ms = UINT64_MAX;
	bool due = !custody->answered &&
		   (now_ms >= known_ms(custody) || checkpoint_version(custody->checkpoint) > 0);
	const char *id;
	size_t cursor = 0;
	void *value;

	custody->waits = false;
	if (!custody->answered && now_ms < known_ms(custody))
		next_ms = known_ms(custody);
	while (map_next(custody->starting, &cursor, &id, &value)) {
		const struct starting *starting = value;

		uint64_t until_ms = starting->until_ms;

		if (is_listed(custody, id, starting))
			continue;
		if (until_ms <= now_ms) {
			due = true;
			until_ms = silent ? now_ms + STARTING_MS : UINT64_MAX;
		}
		if (until_ms < next_ms)
			next_ms = until_ms;
	}
	if (next_ms < UINT64_MAX)
		tell_when_passed(custody, next_ms - now_ms);
	if (due)
		custody->deps.changed(custody->deps.arg, NULL);
}

static bool is_starting(struct custody *custody, const char *id)
{
	const struct starting *starting = map_get(custody->starting, id);

	if (!starting || is_listed(custody, id, starting))
		return false;
	if (clock_now_ms(custody->node->clock) < starting->until_ms || is_silent(custody))
		return true;
	starting_free(map_remove(custody->starting, id));
	return false;
}

static void give(struct custody *custody, const char *resource, const char *id)
{
	struct starting *starting = xcalloc(1, sizeof(*starting));

	starting->since_ms = clock_now_ms(custody->node->clock);
	starting->until_ms = starting->since_ms + STARTING_MS;
	starting->resource = xstrdup(resource);
	starting->version = checkpoint_version(custody->checkpoint);
	starting->call = custody->calls;
	starting_free(map_set(custody->starting, id, starting));
	tell_when_passed(custody, STARTING_MS);
}

void custody_give(struct custody *custody, const char *resource, const struct json_strs *ids)
{
	custody->calls++;
	for (size_t i = 0; i < ids->len; i++) {
		auto_free char *copy = xstrdup(ids->items[i]);
		char *rest = copy;
		const char *id;

		give(custody, resource, ids->items[i]);
		while (strchr(ids->items[i], ',') && (id = strsep(&rest, ",")))
			give(custody, resource, id);
	}
}

const char *custody_resource(struct custody *custody, const char *id)
{
	const struct starting *starting = map_get(custody->starting, id);
	const char *listed = lent_pods_resource(custody->pods, id);

	if (listed)
		return listed;
	if (starting && !is_listed(custody, id, starting) &&
	    (clock_now_ms(custody->node->clock) < starting->until_ms || is_silent(custody)))
		return starting->resource;
	return is_silent(custody) || is_unlisted(custody, id)
		       ? checkpoint_resource(custody->checkpoint, id)
		       : NULL;
}

/* Has the kubelet written its checkpoint since? What it named before that somebody had before. */
static bool is_written(struct custody *custody, const struct starting *starting)
{
	uint64_t version = checkpoint_version(custody->checkpoint);

	return version > 0 && version != starting->version;
}

static bool is_open(struct custody *custody, const char *id, const struct starting *starting)
{
	uint64_t ago_ms = clock_now_ms(custody->node->clock) - starting->since_ms;
	enum checkpoint_says says = checkpoint_find(custody->checkpoint, id);

	if (says == CHECKPOINT_NAMES && !is_written(custody, starting))
		says = CHECKPOINT_NAMES_NOT;
	return says == CHECKPOINT_NAMES_NOT && ago_ms <= CUSTODY_RECENT_MS;
}

/* A list may name the pod before its containers have all of theirs. */
static bool is_given(struct custody *custody, const char *id, const struct starting *starting,
		     bool open)
{
	if (is_listed(custody, id, starting))
		return open;
	return clock_now_ms(custody->node->clock) < starting->until_ms || is_silent(custody);
}

struct custody_gift custody_gift(struct custody *custody, const char *id)
{
	const struct starting *starting = map_get(custody->starting, id);
	struct custody_gift gift = { 0 };

	if (!starting)
		return gift;
	gift.call = starting->call;
	gift.open = is_open(custody, id, starting);
	gift.recent = clock_now_ms(custody->node->clock) <= starting->since_ms + CUSTODY_RECENT_MS;
	if (is_given(custody, id, starting, gift.open))
		gift.resource = starting->resource;
	return gift;
}

/* The pod's UID in the checkpoint; NULL: it names none since the device was given last. */
static const char *written_pod(struct custody *custody, const char *id)
{
	const struct starting *starting = map_get(custody->starting, id);

	return starting && !is_written(custody, starting) ? NULL
							  : checkpoint_pod(custody->checkpoint, id);
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

/* The pod in the list; NULL: it names none since the device was given last, or several: kubelets up to 1.33 list pods that
 * have ended beside the one that has the device now. */
static const struct pcidevice_allocation *listed_pod(const struct custody *custody, const char *id)
{
	const struct starting *starting = map_get(custody->starting, id);
	const struct pcidevice_allocations *list = lent_pods_of(custody->pods, id);

	return is_one_pods(list) && (!starting || is_listed(custody, id, starting))
		       ? &list->items[0]
		       : NULL;
}

static bool is_readable(struct custody *custody, const char *id)
{
	enum checkpoint_says says = checkpoint_find(custody->checkpoint, id);

	return says == CHECKPOINT_NAMES || says == CHECKPOINT_NAMES_NOT;
}

bool custody_same_pod(struct custody *custody, const char *a, const char *b)
{
	const struct pcidevice_allocation *x = listed_pod(custody, a);
	const struct pcidevice_allocation *y = listed_pod(custody, b);
	auto_free char *uid = NULL;
	const char *other;

	if (!is_readable(custody, a))
		return x && y && strcmp(x->namespace, y->namespace) == 0 &&
		       strcmp(x->pod, y->pod) == 0;
	uid = xstrdup_or_null(written_pod(custody, a));
	other = written_pod(custody, b);
	return uid && other && strcmp(uid, other) == 0;
}

/* The checkpoint may name too many, but has all devices that were given, but for those that a process before this one has just
 * given. */
static bool is_written_nobodys(struct custody *custody, const char *id)
{
	return clock_now_ms(custody->node->clock) >= custody->began_ms + CUSTODY_RECENT_MS &&
	       checkpoint_find(custody->checkpoint, id) == CHECKPOINT_NAMES_NOT;
}

/* NULL: it is not known yet whether the pod has ended. */
static char *unlisted_holder(struct custody *custody, const char *id)
{
	const char *uid = checkpoint_pod(custody->checkpoint, id);

	if (!json_strs_has(&custody->unlisted.ids, id))
		return NULL;
	return uid ? xasprintf("an init container of the pod with the UID %s", uid)
		   : xstrdup("an init container of a pod");
}

bool custody_is_free(struct custody *custody, const char *id, char **ret_holder)
{
	const struct pcidevice_allocations *list = lent_pods_of(custody->pods, id);
	bool is_known = true;

	*ret_holder = NULL;
	if (list->len > 0)
		*ret_holder = xasprintf("pod %s/%s", list->items[0].namespace, list->items[0].pod);
	else if (is_starting(custody, id))
		*ret_holder = xstrdup(is_silent(custody) ? "a pod that the kubelet does not name"
							 : "a pod that is being started");
	else if (custody->answered && is_unlisted(custody, id))
		is_known = (*ret_holder = unlisted_holder(custody, id)) != NULL;
	else if (custody->answered || clock_now_ms(custody->node->clock) >= known_ms(custody) ||
		 is_written_nobodys(custody, id))
		*ret_holder = gone_pods_await(custody->gone, id);
	else
		is_known = false;
	if (is_known && !*ret_holder)
		return true;
	custody_ask(custody);
	return false;
}

/* The checkpoint counts only while the kubelet is silent. An equal answer ends that without a callback: ask again. */
static void doubt(struct custody *custody)
{
	custody->doubted = true;
	look_when_grown(custody, unsure_for_ms(custody));
}

const char *custody_written(struct custody *custody, const char *id)
{
	if (!is_silent(custody))
		return is_unlisted(custody, id)
			       ? "a pod in the kubelet's checkpoint, which lists init containers too"
			       : NULL;
	switch (checkpoint_find(custody->checkpoint, id)) {
	case CHECKPOINT_NAMES:
		doubt(custody);
		return "a pod in the kubelet's checkpoint; the kubelet does not say who has what";
	case CHECKPOINT_UNKNOWN:
		doubt(custody);
		return "a pod that is not known; the kubelet does not say who has what, and its "
		       "checkpoint cannot be read";
	case CHECKPOINT_MISSING:
	case CHECKPOINT_NAMES_NOT:
		break;
	}
	return NULL;
}

bool custody_is_left(struct custody *custody, const char *id)
{
	return gone_pods_have(custody->gone, id);
}

char *custody_former(struct custody *custody, const char *id)
{
	return gone_pods_other(custody->gone, id);
}

void custody_ids(struct custody *custody, struct json_strs *ids)
{
	const char *id;
	size_t cursor = 0;
	void *starting;

	lent_pods_ids(custody->pods, ids);
	while (map_next(custody->starting, &cursor, &id, &starting)) {
		if (is_given(custody, id, starting, false))
			json_strs_add(ids, id);
	}
	if (is_silent(custody))
		checkpoint_ids(custody->checkpoint, ids);
	else
		add_unlisted(custody, ids);
	gone_pods_ids(custody->gone, ids);
}

const struct pcidevice_allocations *custody_allocations(const struct custody *custody,
							const char *id)
{
	const struct pcidevice_allocations *list = lent_pods_of(custody->pods, id);

	return custody->answered || list->len > 0 ? list : NULL;
}

void custody_ask(struct custody *custody)
{
	podresources_ask(custody->podresources);
}

struct custody *custody_new(const struct this_node *node, const struct custody_deps *deps)
{
	struct custody *custody = xcalloc(1, sizeof(*custody));

	custody->node = node;
	custody->deps = *deps;
	custody->pods = lent_pods_new();
	custody->checkpoint = checkpoint_new(deps->checkpoint_path);
	custody->starting = map_new();
	custody->grown = clock_timer_new(node->clock, on_grown, custody);
	custody->passed = clock_timer_new(node->clock, on_passed, custody);
	custody->unlisted.timer = clock_timer_new(node->clock, on_unlisted, custody);
	custody->gone = gone_pods_new(node, custody->checkpoint, on_pods_changed, custody);
	custody->began_ms = clock_now_ms(node->clock);
	tell_when_passed(custody, CUSTODY_RECENT_MS);
	custody->podresources = podresources_new(&(struct podresources_deps){
		.loop = node->loop,
		.clock = node->clock,
		.socket_path = deps->socket_path,
		.changed = on_podresources,
		.answered = on_answered,
		.arg = custody,
		.metrics = node->metrics,
	});
	return custody;
}

struct custody *custody_free(struct custody *custody)
{
	size_t cursor = 0;
	void *starting;

	if (!custody)
		return NULL;
	podresources_free(custody->podresources);
	clock_timer_free(custody->node->clock, custody->grown);
	clock_timer_free(custody->node->clock, custody->passed);
	clock_timer_free(custody->node->clock, custody->unlisted.timer);
	json_strs_done(&custody->unlisted.ids);
	json_strs_done(&custody->unlisted.asked);
	lent_pods_free(custody->pods);
	gone_pods_free(custody->gone);
	checkpoint_free(custody->checkpoint);
	while (map_next(custody->starting, &cursor, NULL, &starting))
		starting_free(starting);
	map_free(custody->starting);
	free(custody);
	return NULL;
}
