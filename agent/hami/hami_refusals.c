#include "agent/hami/hami_refusals.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/hami/hami_lock.h"
#include "agent/hami/hami_node.h"
#include "agent/hami/hami_pod.h"
#include "agent/node/this_node.h"
#include "api/json_map.h"
#include "api/node.h"
#include "api/object.h"
#include "api/patch.h"
#include "base/array.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/apply.h"
#include "kube/clock.h"
#include "kube/fetch.h"
#include "kube/workq_run.h"

enum { PODS_MAX = 256 }; /* while the API server is away; further ones are not reported */

/* A refused pod, until the scheduler has been told. */
struct refused {
	char *key; /* the lock's text, which is different for each attempt */
	struct hami_lock lock;
	char *uid; /* NULL: not known */
	bool doubt;
	uint64_t since_ms;
};

struct hami_refusals {
	const struct this_node *node;
	struct hami_node *annotations;
	struct workq_run *queue;
	ARRAY(struct refused) pods;

	/* The key in progress; NULL: none. */
	char *key;
	struct kube_call *call;
	struct hami_pod *object; /* as last read */
	work_end_fn *end;
	void *end_arg;
};

static struct refused *find(const struct hami_refusals *refusals, const char *key)
{
	for (size_t i = 0; i < refusals->pods.len; i++) {
		if (strcmp(refusals->pods.items[i].key, key) == 0)
			return &refusals->pods.items[i];
	}
	return NULL;
}

static void refused_done(struct refused *pod)
{
	free(pod->key);
	free(pod->uid);
	hami_lock_done(&pod->lock);
}

/* --- the end of a run ------------------------------------------------------------------------- */

static void end_run(struct hami_refusals *refusals, int result, const struct err *err)
{
	auto_free char *key = take_ptr(refusals->key);

	assert(!refusals->call && key);
	refusals->end(refusals->end_arg, result, err);
}

/* Release the pod's lock and forget the pod. */
static void finish(struct hami_refusals *refusals)
{
	struct refused *pod = find(refusals, refusals->key);

	hami_node_release(refusals->annotations, pod->lock.text);
	refused_done(pod);
	*pod = refusals->pods.items[--refusals->pods.len];
	end_run(refusals, 0, NULL);
}

/* The pod may still get its GPUs: check it again later. */
static void look_later(struct hami_refusals *refusals)
{
	const struct refused *pod = find(refusals, refusals->key);
	uint64_t now_ms = clock_now_ms(refusals->node->clock);

	if (now_ms - pod->since_ms > HAMI_DOUBTS_MS) {
		finish(refusals);
		return;
	}
	workq_run_add_after(refusals->queue, refusals->key, HAMI_DOUBT_MS);
	end_run(refusals, 0, NULL);
}

/* --- a run ------------------------------------------------------------------------------------ */

static void on_failed(void *arg, int result, const struct kube_response *response,
		      const struct err *err)
{
	struct hami_refusals *refusals = arg;

	(void)response;
	refusals->call = NULL;
	if (result < 0 && result != -ENOENT) {
		end_run(refusals, result, err);
		return;
	}
	log_warn("HAMi's scheduler is told that a pod did not get its GPUs",
		 log_str("lock", refusals->key));
	finish(refusals);
}

static void write_failed(struct hami_refusals *refusals, const struct refused *pod,
			 const struct hami_pod *object)
{
	auto_json json_t *body = patch_new(&object->meta);
	const struct api_kind kind = hami_pod_kind_in(pod->lock.namespace);
	json_t *annotations = json_object();

	json_put_text(annotations, HAMI_PHASE, HAMI_FAILED);
	json_put(json_object_get(body, "metadata"), "annotations", annotations);
	refusals->call = apply_merge(refusals->node->client,
				     &(struct apply_request){
					     .kind = &kind,
					     .name = pod->lock.pod,
					     .field_manager = "hostdev-agent",
					     .object = body,
				     },
				     on_failed, refusals);
}

/* Does the pod still wait for GPUs of this node, as far as the scheduler knows? */
static bool is_waiting(const struct hami_refusals *refusals, const struct hami_pod *object)
{
	return str_match(object->spec.node_name, refusals->node->name) &&
	       str_match(api_meta_annotation(&object->meta, HAMI_PHASE), HAMI_ALLOCATING);
}

/* The object in an answer, which the caller frees; NULL: there is none, and the run has ended with
 * the error. */
static void *take_answer(struct hami_refusals *refusals, const struct api_kind *kind, int result,
			 const struct kube_response *response, const struct err *err)
{
	void *object = NULL;
	struct err cause = *err;

	if (result == 0)
		result = fetch_decode(kind, response, &object, &cause);
	if (result < 0) {
		cause.kind = ERR_RETRY;
		end_run(refusals, result, &cause);
	}
	return object;
}

static void on_node(void *arg, int result, const struct kube_response *response,
		    const struct err *err)
{
	struct hami_refusals *refusals = arg;
	const struct refused *pod = find(refusals, refusals->key);
	struct node *node;

	refusals->call = NULL;
	node = take_answer(refusals, &node_kind, result, response, err);
	if (!node)
		return;
	if (str_match(api_meta_annotation(&node->meta, HAMI_LOCK), pod->lock.text))
		write_failed(refusals, pod, refusals->object);
	else
		finish(refusals);
	api_object_free(&node_kind, node);
}

/* If the UID of the refused pod is unknown, the Node's lock shows whether this is that pod: a new
 * pod with the same name has a lock of its own. So the lock is read after the pod. */
static void take_pod(struct hami_refusals *refusals, const struct hami_pod *object)
{
	const struct this_node *node = refusals->node;
	const struct refused *pod = find(refusals, refusals->key);

	if (!is_waiting(refusals, object) || (pod->uid && !str_match(object->meta.uid, pod->uid)))
		finish(refusals);
	else if (pod->doubt && hami_pod_is_pending(object))
		look_later(refusals);
	else if (pod->uid)
		write_failed(refusals, pod, object);
	else
		refusals->call =
			fetch_object(node->client, &node_kind, node->name, on_node, refusals);
}

static void on_pod(void *arg, int result, const struct kube_response *response,
		   const struct err *err)
{
	struct hami_refusals *refusals = arg;

	refusals->call = NULL;
	if (result == -ENOENT &&
	    fetch_says_gone(response, find(refusals, refusals->key)->lock.pod)) {
		finish(refusals);
		return;
	}
	api_object_free(&hami_pod_kind, refusals->object);
	refusals->object = take_answer(refusals, &hami_pod_kind, result, response, err);
	if (refusals->object)
		take_pod(refusals, refusals->object);
}

static void work(void *arg, const char *key, work_end_fn *end, void *end_arg)
{
	struct hami_refusals *refusals = arg;
	const struct refused *pod = find(refusals, key);
	struct api_kind kind;

	if (!pod) {
		end(end_arg, 0, NULL);
		return;
	}
	kind = hami_pod_kind_in(pod->lock.namespace);
	refusals->key = xstrdup(key);
	refusals->end = end;
	refusals->end_arg = end_arg;
	refusals->call =
		fetch_object(refusals->node->client, &kind, pod->lock.pod, on_pod, refusals);
}

/* --- life ------------------------------------------------------------------------------------- */

void hami_refusals_add(struct hami_refusals *refusals, const struct hami_lock *lock,
		       const char *uid, bool doubt)
{
	struct refused *pod = find(refusals, lock->text);

	if (!pod && refusals->pods.len < PODS_MAX) {
		pod = array_add(&refusals->pods);
		*pod = (struct refused){ .key = xstrdup(lock->text),
					 .lock = { .text = xstrdup(lock->text),
						   .namespace = xstrdup(lock->namespace),
						   .pod = xstrdup(lock->pod) },
					 .uid = xstrdup_or_null(uid),
					 .doubt = doubt,
					 .since_ms = clock_now_ms(refusals->node->clock) };
	} else if (pod) {
		pod->doubt = pod->doubt && doubt;
	}
	if (pod)
		workq_run_add(refusals->queue, pod->key);
}

struct hami_refusals *hami_refusals_new(const struct this_node *node, struct hami_node *annotations)
{
	struct hami_refusals *refusals = xcalloc(1, sizeof(*refusals));

	refusals->node = node;
	refusals->annotations = annotations;
	refusals->queue = workq_run_new(&(struct workq_run_spec){
		.name = "hami-refused",
		.max_running = 1,
		.work = work,
		.arg = refusals,
		.clock = node->clock,
		.metrics = node->metrics,
	});
	return refusals;
}

struct hami_refusals *hami_refusals_free(struct hami_refusals *refusals)
{
	if (!refusals)
		return NULL;
	if (refusals->call) {
		kube_call_cancel(refusals->call);
		refusals->call = NULL;
		end_run(refusals, 0, NULL);
	}
	workq_run_free(refusals->queue);
	api_object_free(&hami_pod_kind, refusals->object);
	for (size_t i = 0; i < refusals->pods.len; i++)
		refused_done(&refusals->pods.items[i]);
	array_done(&refusals->pods);
	free(refusals);
	return NULL;
}
