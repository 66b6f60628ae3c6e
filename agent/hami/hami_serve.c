#include "agent/hami/hami_serve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/hami/hami_lock.h"
#include "agent/hami/hami_node.h"
#include "agent/hami/hami_pod.h"
#include "agent/hami/hami_refusals.h"
#include "agent/hami/hami_request.h"
#include "agent/node/this_node.h"
#include "agent/plugin/device_type.h"
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

/* Does the lock name a pod that waits for GPUs here? */
enum whose {
	NOT_READ, /* not known yet */
	OURS,
	NOT_OURS, /* HAMi's scheduler has not bound the pod to this node, or not for GPUs */
};

/* An Allocate call: a container that waits for its GPUs. */
struct job {
	struct deferred *deferred;
	char *resource;
	size_t wanted;
	uint64_t until_ms;
	bool fresh; /* the lock was read from the API server, not from the cache */
	struct hami_lock lock;
	enum whose whose;
	char *uid;   /* of the pod */
	char *wrote; /* the annotation in the last patch, whether it arrived or not; NULL: none */
	bool last;   /* it is the pod's last container with GPUs */
	struct allocation given;
	struct err trouble; /* the last error of the API server */
};

/* In the order of the kubelet's calls. */
struct waiting {
	struct job *job;
};

struct hami_serve {
	struct hami_serve_deps deps;
	struct hami_refusals *refusals;
	ARRAY(struct waiting) jobs; /* the first one runs if `busy` */
	bool busy;
	struct kube_call *call; /* in progress; NULL: none */
	struct clock_timer *deadline;
	struct clock_timer *again;
	struct clock_timer *next; /* starts the next job */
};

static void read_lock(struct hami_serve *serve);
static void read_pod(struct hami_serve *serve);

static struct job *job_of(const struct hami_serve *serve)
{
	return serve->jobs.items[0].job;
}

static uint64_t now_ms(const struct hami_serve *serve)
{
	return clock_now_ms(serve->deps.node->clock);
}

/* --- the end of a job ------------------------------------------------------------------------- */

static void job_free(struct job *job)
{
	free(job->resource);
	hami_lock_done(&job->lock);
	free(job->uid);
	free(job->wrote);
	allocation_done(&job->given);
	free(job);
}

static void job_end(struct hami_serve *serve)
{
	struct clock *clock = serve->deps.node->clock;

	job_free(job_of(serve));
	serve->jobs.len--;
	memmove(serve->jobs.items, serve->jobs.items + 1,
		serve->jobs.len * sizeof(*serve->jobs.items));
	clock_timer_stop(clock, serve->deadline);
	clock_timer_stop(clock, serve->again);
	serve->busy = false;
	clock_timer_start(clock, serve->next, 0);
}

/* -ESTALE: the call may be for another pod than the one of the lock. */
static void refuse(struct hami_serve *serve, const struct err *err)
{
	struct job *job = job_of(serve);

	deferred_refuse(job->deferred, err);
	if (job->lock.text && job->whose != NOT_OURS)
		hami_refusals_add(serve->refusals, &job->lock, job->uid, err->code == -ESTALE);
	job_end(serve);
}

static void answer(struct hami_serve *serve)
{
	struct job *job = job_of(serve);

	deferred_answer(job->deferred, &job->given);
	if (job->last)
		hami_node_release(serve->deps.annotations, job->lock.text);
	job_end(serve);
}

/* --- the API server has no answer ------------------------------------------------------------- */

/* Until the deadline. */
static void try_again(struct hami_serve *serve, const struct err *err)
{
	job_of(serve)->trouble = *err;
	clock_timer_start(serve->deps.node->clock, serve->again, HAMI_RETRY_MS);
}

static void on_again(void *arg)
{
	struct hami_serve *serve = arg;

	if (job_of(serve)->lock.text)
		read_pod(serve);
	else
		read_lock(serve);
}

static void on_deadline(void *arg)
{
	struct hami_serve *serve = arg;
	const struct job *job = job_of(serve);
	struct err err = { 0 };

	if (serve->call)
		kube_call_cancel(serve->call);
	serve->call = NULL;
	err_set(&err, ERR_RETRY, -ETIMEDOUT,
		"the API server has not told within %d ms which GPUs the pod gets: %s",
		HAMI_SERVE_MS, job->trouble.kind ? job->trouble.msg : "it has not answered");
	refuse(serve, &err);
}

/* A request to the API server has failed. */
static void take_error(struct hami_serve *serve, const struct err *err)
{
	if (err->kind == ERR_INVALID)
		refuse(serve, err);
	else
		try_again(serve, err);
}

/* --- the pod ---------------------------------------------------------------------------------- */

/* A patch may have been applied although it seems to have failed; is_patched() finds out. */
static void on_patched(void *arg, int result, const struct kube_response *response,
		       const struct err *err)
{
	struct hami_serve *serve = arg;

	(void)response;
	serve->call = NULL;
	if (result == 0)
		answer(serve);
	else if (result == -ESTALE)
		read_pod(serve);
	else
		take_error(serve, err);
}

static void patch_pod(struct hami_serve *serve, const struct hami_pod *pod)
{
	const struct job *job = job_of(serve);
	auto_json json_t *body = patch_new(&pod->meta);
	const struct api_kind kind = hami_pod_kind_in(job->lock.namespace);
	json_t *annotations = json_object();

	json_put_text(annotations, HAMI_TO_ALLOCATE, job->wrote);
	if (job->last)
		json_put_text(annotations, HAMI_PHASE, HAMI_SUCCESS);
	json_put(json_object_get(body, "metadata"), "annotations", annotations);
	serve->call = apply_merge(serve->deps.node->client,
				  &(struct apply_request){
					  .kind = &kind,
					  .name = job->lock.pod,
					  .field_manager = "hostdev-agent",
					  .object = body,
				  },
				  on_patched, serve);
}

/* Allocate the GPUs of the pod's next container. */
static int grant(struct hami_serve *serve, const struct hami_pod *pod, struct err *err)
{
	const struct hami_serve_deps *deps = &serve->deps;
	struct job *job = job_of(serve);
	auto_free struct hami_requester *requesters = NULL;
	struct hami_request request;
	struct hami_next next;
	size_t len;
	int r;

	if (hami_request_parse(api_meta_annotation(&pod->meta, HAMI_TO_ALLOCATE), &request, err) <
	    0)
		return err->code;
	requesters = hami_pod_requesters(pod, job->resource, &len);
	allocation_done(&job->given);
	r = hami_request_next(&request, requesters, len, job->wanted, &next, err);
	if (r == 0)
		r = deps->grant(deps->arg, &request.items[next.entry], pod,
				hami_pod_container(pod, next.requester), &job->given, err);
	if (r == 0) {
		free(job->wrote);
		job->wrote = hami_request_without(&request, next.entry);
		job->last = !hami_request_has_more(&request, next.entry);
		log_info("GPUs of HAMi's scheduler given",
			 log_str("namespace", job->lock.namespace), log_str("pod", job->lock.pod),
			 log_str("container", requesters[next.requester].name),
			 log_int("gpus", job->wanted));
	}
	hami_request_done(&request);
	return r;
}

/* Was a patch applied whose answer was lost? */
static bool is_patched(const struct job *job, const struct hami_pod *pod)
{
	return job->wrote && str_match(job->uid, pod->meta.uid) &&
	       str_match(api_meta_annotation(&pod->meta, HAMI_TO_ALLOCATE), job->wrote);
}

/* The lock in the cache may be an earlier pod's: read it from the API server before refusing. */
static void doubt_lock(struct hami_serve *serve, const struct err *err)
{
	struct job *job = job_of(serve);

	job->whose = NOT_OURS;
	if (job->fresh) {
		refuse(serve, err);
		return;
	}
	hami_lock_done(&job->lock);
	job->fresh = true;
	read_lock(serve);
}

static void take_pod(struct hami_serve *serve, const struct hami_pod *pod)
{
	struct job *job = job_of(serve);
	struct err err = { 0 };

	if (is_patched(job, pod)) {
		answer(serve);
		return;
	}
	if (hami_pod_check(pod, serve->deps.node->name, &err) < 0) {
		err_wrap(&err, "pod %s/%s, which the Node's annotation " HAMI_LOCK " names",
			 job->lock.namespace, job->lock.pod);
		doubt_lock(serve, &err);
		return;
	}
	job->whose = OURS;
	free(job->uid);
	job->uid = xstrdup(pod->meta.uid);
	if (!deferred_is_wanted(job->deferred))
		err_set(&err, ERR_RETRY, -ESTALE, "the kubelet does not wait any more");
	else if (grant(serve, pod, &err) == 0) {
		patch_pod(serve, pod);
		return;
	}
	err_wrap(&err, "pod %s/%s", job->lock.namespace, job->lock.pod);
	refuse(serve, &err);
}

/* The object in an answer, which the caller frees; NULL: there is none, and the error has been
 * handled. */
static void *take_answer(struct hami_serve *serve, const struct api_kind *kind, int result,
			 const struct kube_response *response, const struct err *err)
{
	void *object = NULL;
	struct err cause = *err;

	if (result == 0)
		result = fetch_decode(kind, response, &object, &cause);
	if (result == -ENOENT)
		cause.kind = ERR_RETRY; /* the path is not served */
	if (result < 0)
		take_error(serve, &cause);
	return object;
}

static void on_pod(void *arg, int result, const struct kube_response *response,
		   const struct err *err)
{
	struct hami_serve *serve = arg;
	struct hami_pod *pod;

	serve->call = NULL;
	if (result == -ENOENT && fetch_says_gone(response, job_of(serve)->lock.pod)) {
		doubt_lock(serve, err);
		return;
	}
	pod = take_answer(serve, &hami_pod_kind, result, response, err);
	if (pod)
		take_pod(serve, pod);
	api_object_free(&hami_pod_kind, pod);
}

static void read_pod(struct hami_serve *serve)
{
	const struct job *job = job_of(serve);
	const struct api_kind kind = hami_pod_kind_in(job->lock.namespace);

	serve->call = fetch_object(serve->deps.node->client, &kind, job->lock.pod, on_pod, serve);
}

/* --- the lock --------------------------------------------------------------------------------- */

static void take_lock(struct hami_serve *serve, const char *text)
{
	struct job *job = job_of(serve);
	struct err err = { 0 };

	if (!text) {
		err_set(&err, ERR_INVALID, -ENOENT,
			"no pod is to get GPUs here: the Node has no annotation " HAMI_LOCK
			" (only HAMi's scheduler may bind pods that ask for this resource)");
		refuse(serve, &err);
	} else if (hami_lock_parse(text, &job->lock, &err) < 0) {
		refuse(serve, &err);
	} else {
		job->whose = NOT_READ;
		read_pod(serve);
	}
}

static void on_node(void *arg, int result, const struct kube_response *response,
		    const struct err *err)
{
	struct hami_serve *serve = arg;
	struct node *node;
	const char *lock;

	serve->call = NULL;
	node = take_answer(serve, &node_kind, result, response, err);
	if (!node)
		return;
	lock = api_meta_annotation(&node->meta, HAMI_LOCK);
	job_of(serve)->fresh = true;
	take_lock(serve, lock); /* if the lock has ended, its pod shows that */
	api_object_free(&node_kind, node);
}

static void read_lock(struct hami_serve *serve)
{
	const struct this_node *node = serve->deps.node;
	const char *cached = hami_node_lock(serve->deps.annotations);

	if (cached && !job_of(serve)->fresh)
		take_lock(serve, cached);
	else
		serve->call = fetch_object(node->client, &node_kind, node->name, on_node, serve);
}

/* --- one after the other ---------------------------------------------------------------------- */

static void on_next(void *arg)
{
	struct hami_serve *serve = arg;
	uint64_t now = now_ms(serve);
	const struct job *job;

	if (serve->busy || serve->jobs.len == 0)
		return;
	job = job_of(serve);
	serve->busy = true;
	clock_timer_start(serve->deps.node->clock, serve->deadline,
			  job->until_ms > now ? job->until_ms - now : 0);
	read_lock(serve);
}

void hami_serve_add(struct hami_serve *serve, const char *resource, size_t wanted,
		    struct deferred *deferred)
{
	struct job *job = xcalloc(1, sizeof(*job));

	*job = (struct job){ .deferred = deferred,
			     .resource = xstrdup(resource),
			     .wanted = wanted,
			     .until_ms = now_ms(serve) + HAMI_SERVE_MS };
	array_add(&serve->jobs)->job = job;
	if (!serve->busy)
		clock_timer_start(serve->deps.node->clock, serve->next, 0);
}

struct hami_serve *hami_serve_new(const struct hami_serve_deps *deps)
{
	struct hami_serve *serve = xcalloc(1, sizeof(*serve));
	struct clock *clock = deps->node->clock;

	serve->deps = *deps;
	serve->refusals = hami_refusals_new(deps->node, deps->annotations);
	serve->deadline = clock_timer_new(clock, on_deadline, serve);
	serve->again = clock_timer_new(clock, on_again, serve);
	serve->next = clock_timer_new(clock, on_next, serve);
	return serve;
}

struct hami_serve *hami_serve_free(struct hami_serve *serve)
{
	struct err err = { 0 };
	struct clock *clock;

	if (!serve)
		return NULL;
	clock = serve->deps.node->clock;
	if (serve->call)
		kube_call_cancel(serve->call);
	err_set(&err, ERR_RETRY, -ECANCELED, "the agent ends");
	for (size_t i = 0; i < serve->jobs.len; i++) {
		deferred_refuse(serve->jobs.items[i].job->deferred, &err);
		job_free(serve->jobs.items[i].job);
	}
	array_done(&serve->jobs);
	clock_timer_free(clock, serve->deadline);
	clock_timer_free(clock, serve->again);
	clock_timer_free(clock, serve->next);
	hami_refusals_free(serve->refusals);
	free(serve);
	return NULL;
}
