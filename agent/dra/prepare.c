#include "agent/dra/prepare.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/dra/cdi_guard.h"
#include "agent/dra/claim_draft.h"
#include "agent/dra/device_status.h"
#include "agent/dra/dra_codec.h"
#include "agent/dra/dra_devices.h"
#include "agent/dra/on_demand_binder.h"
#include "agent/dra/prepared.h"
#include "agent/node/this_node.h"
#include "agent/plugin/device_type.h"
#include "api/resourceclaim.h"
#include "base/err.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/client.h"
#include "kube/clock.h"
#include "kube/fetch.h"
#include "kube/url.h"

struct prepare_job {
	struct prepare *prepare;
	struct dra_claim claim;
	struct kube_call *get;
	prepare_done_fn *done;
	void *arg;
	bool undone;                  /* the claim was unprepared after the job began */
	struct resourceclaim *object; /* the claim as read; NULL: it was not read yet */
	struct prepared_claim *draft; /* whose devices are being bound; NULL: none    */
	struct on_demand_bind *bind;  /* likewise */
	struct clock_timer *deadline;
	struct prepare_job *next;
	struct prepare_job **link; /* the pointer to this job */
};

/* A claim whose last job ran out of time while its devices were being bound. */
struct unfinished {
	struct prepare *prepare;
	char *uid;
	struct clock_timer *timer; /* until it is given up */
	struct unfinished *next;
};

struct prepare {
	const struct this_node *node;
	struct prepare_deps deps;
	struct prepared *prepared;
	struct cdi_guard *guard;
	struct device_status *status;
	struct prepare_job *jobs;
	struct unfinished *unfinished; /* each claim once */
};

/* --- who has a device ------------------------------------------------------------------------- */

static char *claim_text(const struct prepared_claim *claim)
{
	return xasprintf("ResourceClaim %s/%s", claim->ns, claim->name);
}

char *prepare_holder(const struct prepare *prepare, const char *id)
{
	const struct prepared_claim *claim = prepared_holder(prepare->prepared, id);

	return claim ? claim_text(claim) : NULL;
}

const char *prepare_device_id(const struct prepare *prepare, const char *ns, const char *name,
			      const char *device)
{
	return prepared_device_id(prepare->prepared, ns, name, device);
}

static const struct prepared_device *find_prepared(const struct prepared_claim *claim,
						   const char *id)
{
	for (size_t i = 0; i < claim->devices.len; i++) {
		if (strcmp(claim->devices.items[i].id, id) == 0)
			return &claim->devices.items[i];
	}
	return NULL;
}

char *prepare_bound_for(const struct prepare *prepare, const char *id)
{
	const struct prepared_claim *claim = prepared_holder(prepare->prepared, id);
	const struct prepared_device *device = claim ? find_prepared(claim, id) : NULL;

	return device && device->on_demand ? claim_text(claim) : NULL;
}

void prepare_ids(const struct prepare *prepare, struct json_strs *ids)
{
	const struct prepared_claim *claim;
	size_t cursor = 0;

	while ((claim = prepared_next(prepare->prepared, &cursor))) {
		for (size_t i = 0; i < claim->devices.len; i++)
			json_strs_add(ids, claim->devices.items[i].id);
	}
}

size_t prepare_len(const struct prepare *prepare)
{
	return prepared_len(prepare->prepared);
}

bool prepare_is_known(const struct prepare *prepare, const char *uid)
{
	return prepared_get(prepare->prepared, uid);
}

/* --- from the draft to the files -------------------------------------------------------------- */

static void notify(const struct prepare *prepare, const struct json_strs *ids)
{
	for (size_t i = 0; prepare->deps.changed && i < ids->len; i++)
		prepare->deps.changed(prepare->deps.arg, ids->items[i]);
}

static void ids_of(const struct prepared_claim *claim, struct json_strs *ids)
{
	for (size_t i = 0; claim && i < claim->devices.len; i++)
		json_strs_add_new(ids, claim->devices.items[i].id);
}

/* Takes @claim. The checkpoint is written first: without it a device that a pod has would look
 * free. */
static int commit(struct prepare *prepare, struct prepared_claim *claim, struct err *err)
{
	auto_free char *uid = xstrdup(claim->uid);
	struct json_strs ids = { 0 };
	int r;

	ids_of(prepared_get(prepare->prepared, uid), &ids); /* by the first checkpoint */
	failpoint("dra-checkpoint-before");
	r = prepared_add(prepare->prepared, claim, err);
	if (r < 0) {
		json_strs_done(&ids);
		return r;
	}
	failpoint("dra-checkpoint-after");
	r = cdi_spec_write(&prepare->deps.place, claim, err);
	failpoint("dra-files-after");
	if (r < 0) {
		(void)cdi_spec_remove(&prepare->deps.place, uid, NULL);
		(void)prepared_remove(prepare->prepared, uid, NULL);
	} else {
		cdi_guard_add(prepare->guard, claim);
		ids_of(claim, &ids);
	}
	notify(prepare, &ids);
	json_strs_done(&ids);
	return r < 0 ? r : 0;
}

/* Takes @claim, whose devices are bound. */
static int complete(struct prepare *prepare, struct prepared_claim *claim, struct err *err)
{
	int r = claim_draft_allocate(prepare->deps.devices, claim, err);

	if (r == 0)
		return commit(prepare, claim, err);
	prepared_claim_free(claim);
	return r;
}

/* --- claims that the kubelet has given up ----------------------------------------------------- */

static bool has_job(const struct prepare *prepare, const char *uid)
{
	const struct prepare_job *job = prepare->jobs;

	while (job && strcmp(job->claim.uid, uid) != 0)
		job = job->next;
	return job;
}

/* There is only the first checkpoint of the claim: it is not prepared. */
static bool is_unfinished(const struct prepare *prepare, const char *uid)
{
	const struct prepared_claim *claim = prepared_get(prepare->prepared, uid);

	return claim && claim->binding;
}

/* The devices that were bound for it are released from now on. */
static void drop(struct prepare *prepare, const char *uid)
{
	struct json_strs ids = { 0 };
	struct err err = { 0 };

	if (!is_unfinished(prepare, uid))
		return;
	ids_of(prepared_get(prepare->prepared, uid), &ids);
	if (prepared_remove(prepare->prepared, uid, &err) < 0)
		log_warn("a ResourceClaim that is not prepared cannot be forgotten",
			 log_str("reason", err.msg));
	notify(prepare, &ids);
	json_strs_done(&ids);
}

static void unfinished_free(struct unfinished *unfinished)
{
	clock_timer_free(unfinished->prepare->node->clock, unfinished->timer);
	free(unfinished->uid);
	free(unfinished);
}

/* Its pod is gone, and a kubelet that has lost its state sends no Unprepare. */
static void on_given_up(void *arg)
{
	struct unfinished *unfinished = arg;
	struct prepare *prepare = unfinished->prepare;
	struct unfinished **at = &prepare->unfinished;

	if (is_unfinished(prepare, unfinished->uid) && !has_job(prepare, unfinished->uid)) {
		log_info("ResourceClaim given up: the kubelet does not ask for it any more",
			 log_str("uid", unfinished->uid));
		drop(prepare, unfinished->uid);
	}
	/* A job is under way, or the checkpoint could not be removed. */
	if (is_unfinished(prepare, unfinished->uid)) {
		clock_timer_start(prepare->node->clock, unfinished->timer, PREPARE_AGAIN_MS);
		return;
	}
	while (*at != unfinished)
		at = &(*at)->next;
	*at = unfinished->next;
	unfinished_free(unfinished);
}

/* A job of the claim has ended. */
static void await_kubelet(struct prepare *prepare, const char *uid)
{
	struct unfinished *unfinished = prepare->unfinished;

	if (!is_unfinished(prepare, uid))
		return;
	while (unfinished && strcmp(unfinished->uid, uid) != 0)
		unfinished = unfinished->next;
	if (!unfinished) {
		unfinished = xcalloc(1, sizeof(*unfinished));
		*unfinished = (struct unfinished){ .prepare = prepare,
						   .uid = xstrdup(uid),
						   .next = prepare->unfinished };
		unfinished->timer = clock_timer_new(prepare->node->clock, on_given_up, unfinished);
		prepare->unfinished = unfinished;
	}
	clock_timer_start(prepare->node->clock, unfinished->timer, PREPARE_AGAIN_MS);
}

/* --- jobs ------------------------------------------------------------------------------------- */

/* The job is no longer in the list. */
static void job_free(struct prepare_job *job)
{
	await_kubelet(job->prepare, job->claim.uid);
	clock_timer_free(job->prepare->node->clock, job->deadline);
	prepared_claim_free(job->draft);
	resourceclaim_free(job->object);
	free(job->claim.ns);
	free(job->claim.name);
	free(job->claim.uid);
	free(job);
}

static void job_unlink(struct prepare_job *job)
{
	*job->link = job->next;
	if (job->next)
		job->next->link = job->link;
}

/* Write the result into the claim's status, but not into that of another claim which has the name
 * now. */
static void tell(const struct prepare_job *job, const struct err *err)
{
	struct device_status *status = job->prepare->status;

	if (!job->object || job->undone || !str_match(job->object->meta.uid, job->claim.uid))
		return;
	if (err)
		device_status_failed(status, job->claim.ns, job->object, err->msg);
	else
		device_status_prepared(status, job->claim.ns, job->object);
}

static void job_end(struct prepare_job *job, const struct prepared_claim *claim,
		    const struct err *err)
{
	job_unlink(job);
	job->done(job->arg, claim, err);
	tell(job, err);
	job_free(job);
}

/* The result of the job is < 0, with @err, or its claim is prepared. */
static void job_finish(struct prepare_job *job, int result, const struct err *err)
{
	if (result < 0)
		job_end(job, NULL, err);
	else
		job_end(job, prepared_get(job->prepare->prepared, job->claim.uid), NULL);
}

static int undone(const struct prepare_job *job, struct err *err)
{
	return err_set(err, ERR_RETRY, -ECANCELED, "ResourceClaim %s/%s was unprepared meanwhile",
		       job->claim.ns, job->claim.name);
}

/* --- devices that are bound for the claim ----------------------------------------------------- */

static bool is_on_demand(const struct prepared_claim *claim)
{
	for (size_t i = 0; i < claim->devices.len; i++) {
		if (claim->devices.items[i].on_demand)
			return true;
	}
	return false;
}

/* Does another call of the kubelet wait for the same? */
static bool is_bound_by_other(const struct prepare_job *job)
{
	for (const struct prepare_job *other = job->prepare->jobs; other; other = other->next) {
		if (other != job && other->bind && strcmp(other->claim.uid, job->claim.uid) == 0)
			return true;
	}
	return false;
}

/* A device that is being bound stays with the claim: the kubelet asks again, or unprepares it. */
static void stop_on_demand(struct prepare_job *job, struct err *err)
{
	const struct on_demand_binder *binder = job->prepare->deps.on_demand;
	struct on_demand_bind *bind = job->bind;

	job->bind = NULL;
	if (bind && !binder->stop(binder->arg, bind, err) && !job->undone &&
	    !is_bound_by_other(job))
		drop(job->prepare, job->claim.uid);
}

static void on_deadline(void *arg)
{
	struct prepare_job *job = arg;
	struct err err = { 0 };

	if (job->get)
		kube_call_cancel(job->get);
	err_set(&err, ERR_RETRY, -ETIMEDOUT, "the API server does not answer");
	stop_on_demand(job, &err);
	if (job->undone)
		undone(job, &err);
	else
		err_wrap(&err, "ResourceClaim %s/%s is not prepared after %d s", job->claim.ns,
			 job->claim.name, PREPARE_MS / 1000);
	job_end(job, NULL, &err);
}

/* Another job may have prepared it meanwhile. */
static int take_bound(struct prepare_job *job, const struct err *cause, struct err *err)
{
	struct prepare *prepare = job->prepare;
	const struct prepared_claim *claim = NULL;
	int r;

	if (job->undone)
		return undone(job, err);
	failpoint("dra-bind-after");
	r = prepare_again(prepare, job->claim.uid, &claim, err);
	if (r != PREPARE_UNKNOWN)
		return r;
	if (cause)
		*err = *cause;
	r = cause ? cause->code : complete(prepare, take_ptr(job->draft), err);
	if (r < 0 && !is_bound_by_other(job))
		drop(prepare, job->claim.uid);
	return r < 0 ? err_wrap(err, "ResourceClaim %s/%s", job->claim.ns, job->claim.name) : 0;
}

static void on_bound(void *arg, const struct err *cause)
{
	struct prepare_job *job = arg;
	struct err err = { 0 };

	job->bind = NULL;
	job_finish(job, take_bound(job, cause, &err), &err);
}

/* Takes @draft. The claim has the devices from its first checkpoint on. */
static int begin_on_demand(struct prepare_job *job, struct prepared_claim *draft, struct err *err)
{
	struct prepare *prepare = job->prepare;
	const struct on_demand_binder *binder = prepare->deps.on_demand;
	struct prepared_claim *first = prepared_claim_copy(draft);
	auto_free char *to = claim_text(draft);
	struct json_strs all = { 0 };
	struct json_strs ids = { 0 };
	int r;

	job->draft = draft;
	first->binding = true;
	/* It may have been allocated again since an earlier call. */
	ids_of(prepared_get(prepare->prepared, job->claim.uid), &all);
	ids_of(draft, &all);
	for (size_t i = 0; i < draft->devices.len; i++) {
		if (draft->devices.items[i].on_demand)
			json_strs_add(&ids, draft->devices.items[i].id);
	}
	failpoint("dra-bind-checkpoint-before");
	r = prepared_add(prepare->prepared, first, err);
	failpoint("dra-bind-checkpoint-after");
	if (r == 0) {
		notify(prepare, &all);
		job->bind = binder->begin(binder->arg,
					  &(struct on_demand_devices){ &ids, job->claim.uid, to },
					  on_bound, job);
	}
	json_strs_done(&ids);
	json_strs_done(&all);
	return r;
}

/* --- from the answer of the API server -------------------------------------------------------- */

enum { BINDING = 1 };

static int draft_claim(const struct prepare_job *job, struct prepared_claim **ret_claim,
		       struct err *err)
{
	const struct prepare *prepare = job->prepare;
	const struct claim_draft_world world = {
		.devices = prepare->deps.devices,
		.prepared = prepare->prepared,
		.informed = prepare->node->inventory,
		.on_demand = prepare->deps.on_demand,
		.holder = prepare->deps.holder,
		.arg = prepare->deps.arg,
	};
	int r = claim_draft_new(&world, &job->claim, job->object, ret_claim, err);

	if (r == 0)
		(*ret_claim)->told = device_status_is_told(prepare->status, job->object);
	return r;
}

/* 0: it is prepared; BINDING: its devices are being bound. */
static int prepare_object(struct prepare_job *job, const char *text, size_t len, struct err *err)
{
	struct prepared_claim *claim = NULL;
	int r = resourceclaim_parse(text, len, &job->object, err);

	if (r == 0)
		r = draft_claim(job, &claim, err);
	if (r == 0 && is_on_demand(claim)) {
		r = begin_on_demand(job, claim, err);
		r = r < 0 ? r : BINDING;
	} else if (r == 0) {
		r = complete(job->prepare, claim, err);
	}
	return r < 0 ? err_wrap(err, "ResourceClaim %s/%s", job->claim.ns, job->claim.name) : r;
}

static int get_failed(const struct dra_claim *asked, const struct kube_response *response,
		      struct err *err)
{
	if (err->code == -ENOENT && fetch_says_gone(response, asked->name))
		return err_set(err, ERR_INVALID, -ENOENT, "ResourceClaim %s/%s does not exist",
			       asked->ns, asked->name);
	if (err->code == -ENOENT)
		return err_set(err, ERR_RETRY, -ENOENT,
			       "the API server does not serve ResourceClaims of %s/%s",
			       resourceclaim_kind.group, resourceclaim_kind.version);
	return err_wrap(err, "get ResourceClaim %s/%s", asked->ns, asked->name);
}

/* Another job may have prepared it meanwhile. */
static int finish(struct prepare_job *job, int result, const struct kube_response *response,
		  struct err *err)
{
	const struct prepared_claim *claim = NULL;
	int r;

	if (job->undone)
		return undone(job, err);
	r = prepare_again(job->prepare, job->claim.uid, &claim, err);
	if (r != PREPARE_UNKNOWN)
		return r;
	if (result < 0)
		return get_failed(&job->claim, response, err);
	return prepare_object(job, response->body, response->body_len, err);
}

static void on_object(void *arg, int result, const struct kube_response *response,
		      const struct err *cause)
{
	struct prepare_job *job = arg;
	struct err err = { 0 };
	int r;

	job->get = NULL;
	if (cause)
		err = *cause;
	r = finish(job, result, response, &err);
	if (r != BINDING)
		job_finish(job, r, &err);
}

struct prepare_job *prepare_begin(struct prepare *prepare, const struct dra_claim *claim,
				  prepare_done_fn *done, void *arg)
{
	struct prepare_job *job = xcalloc(1, sizeof(*job));
	auto_str struct str path = STR_INIT;

	*job = (struct prepare_job){ .prepare = prepare,
				     .claim = { .ns = xstrdup(claim->ns),
						.name = xstrdup(claim->name),
						.uid = xstrdup(claim->uid) },
				     .done = done,
				     .arg = arg,
				     .next = prepare->jobs,
				     .link = &prepare->jobs };
	if (job->next)
		job->next->link = &job->next;
	prepare->jobs = job;
	/* Not from a cache, because the scheduler has just written the claim. */
	url_object(&path, &resourceclaim_kind, claim->ns, claim->name, NULL);
	job->get = kube_client_send(prepare->node->client,
				    &(struct kube_request){ .verb = "get",
							    .resource = resourceclaim_kind.plural,
							    .method = "GET",
							    .path = str_cstr(&path),
							    .timeout_ms = PREPARE_GET_MS },
				    on_object, job);
	job->deadline = clock_timer_new(prepare->node->clock, on_deadline, job);
	clock_timer_start(prepare->node->clock, job->deadline, PREPARE_MS);
	return job;
}

void prepare_cancel(struct prepare_job *job)
{
	if (job->get)
		kube_call_cancel(job->get);
	stop_on_demand(job, NULL);
	job_unlink(job);
	job_free(job);
}

/* --- again, and undone ------------------------------------------------------------------------ */

int prepare_again(struct prepare *prepare, const char *uid, const struct prepared_claim **ret_claim,
		  struct err *err)
{
	const struct prepared_claim *claim = prepared_get(prepare->prepared, uid);
	int r;

	if (!claim || claim->binding)
		return PREPARE_UNKNOWN;
	r = cdi_spec_write(&prepare->deps.place, claim, err);
	if (r < 0)
		return err_wrap(err, "ResourceClaim %s/%s", claim->ns, claim->name);
	*ret_claim = claim;
	return 0;
}

int prepare_undo(struct prepare *prepare, const char *uid, struct err *err)
{
	const struct prepared_claim *claim = prepared_get(prepare->prepared, uid);
	struct json_strs ids = { 0 };
	int r;

	for (struct prepare_job *job = prepare->jobs; job; job = job->next) {
		if (strcmp(job->claim.uid, uid) != 0)
			continue;
		job->undone = true;
		stop_on_demand(job, NULL);
		if (job->draft)
			clock_timer_start(prepare->node->clock, job->deadline, 0);
	}
	ids_of(claim, &ids);
	if (claim && !claim->binding)
		cdi_guard_remove(prepare->guard, claim);
	failpoint("dra-files-remove-before");
	r = cdi_spec_remove(&prepare->deps.place, uid, err);
	failpoint("dra-files-remove-after");
	if (r == 0)
		r = prepared_remove(prepare->prepared, uid, err);
	failpoint("dra-checkpoint-remove-after");
	if (r == 0) {
		device_status_unprepared(prepare->status, uid);
		notify(prepare, &ids);
	}
	json_strs_done(&ids);
	return r;
}

/* --- life ------------------------------------------------------------------------------------- */

static void forget(struct prepare *prepare, const struct prepared_claim *claim)
{
	auto_free char *uid = xstrdup(claim->uid);
	struct err err = { 0 };

	if (cdi_spec_remove(&prepare->deps.place, uid, &err) < 0 ||
	    prepared_remove(prepare->prepared, uid, &err) < 0)
		log_warn("a ResourceClaim that is not prepared cannot be forgotten",
			 log_str("reason", err.msg));
	await_kubelet(prepare, uid); /* tried again */
}

static void recall(struct prepare *prepare, const struct prepared_claim *claim)
{
	struct err err = { 0 };

	if (cdi_spec_write(&prepare->deps.place, claim, &err) < 0)
		log_error("the files of a prepared ResourceClaim cannot be written",
			  log_str("namespace", claim->ns), log_str("claim", claim->name),
			  log_str("reason", err.msg));
	cdi_guard_add(prepare->guard, claim);
	if (claim->told)
		device_status_check(prepare->status, claim->uid, claim->ns, claim->name);
}

struct prepare *prepare_new(const struct this_node *node, const struct prepare_deps *deps)
{
	struct prepare *prepare = xcalloc(1, sizeof(*prepare));
	const struct prepared_claim *claim;
	size_t cursor = 0;

	prepare->node = node;
	prepare->deps = *deps;
	prepare->prepared = prepared_new(deps->claims_dir, deps->boot);
	prepare->guard = cdi_guard_new(deps->watch, &prepare->deps.place, node->metrics);
	prepare->status = device_status_new(node);
	while ((claim = prepared_next(prepare->prepared, &cursor))) {
		/* The devices that were bound for it are released; the kubelet asks again. */
		if (prepared_is_stale(prepare->prepared, claim) || claim->binding)
			forget(prepare, claim);
		else
			recall(prepare, claim);
	}
	return prepare;
}

struct prepare *prepare_free(struct prepare *prepare)
{
	struct unfinished *unfinished;

	if (!prepare)
		return NULL;
	assert(!prepare->jobs);
	while ((unfinished = prepare->unfinished)) {
		prepare->unfinished = unfinished->next;
		unfinished_free(unfinished);
	}
	device_status_free(prepare->status);
	cdi_guard_free(prepare->guard);
	prepared_free(prepare->prepared);
	free(prepare);
	return NULL;
}
