#include "kube/reconcile.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "api/json_map_read.h"
#include "api/kind.h"
#include "api/meta.h"
#include "base/array.h"
#include "base/json_read.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/apply.h"
#include "kube/clock.h"
#include "kube/events.h"
#include "kube/expectations.h"
#include "kube/fetch.h"
#include "kube/informer.h"
#include "kube/store.h"
#include "kube/workq_run.h"

/* All that an object of a kind with digests is read for here. */
struct head {
	struct api_meta meta;
};

static const struct json_row head_map[] = {
	API_META(struct head),
	JSON_END,
};

/* What is known of an object; {0}: that there is none. The rest is only there if the API server has
 * said it in this run. */
struct answer {
	struct entry *entry;
	char *bytes;
	struct json_text text; /* the same                    */
	struct head head;      /* of a kind with digests only */
};

/* One run for one key. */
struct run {
	struct reconcile *reconcile;
	const char *key;      /* the queue's, until end              */
	struct api_kind kind; /* in the namespace that the key names */
	char *ns;             /* the same; NULL: none                */
	const char *name;     /* in it                               */
	work_end_fn *end;
	void *end_arg;
	unsigned steps;
	bool answered; /* the API server itself returned the object in this run */
	bool heard;    /* the cache has got another object than `known` during the call under way */
	bool overtaken; /* ... and that may be newer than `known`, the answer of that call */
	bool hidden;
	enum step last;      /* that has been done; REST: none */
	struct answer known; /* the newest answer, else what the cache showed when the run began */
	struct decision decision;
	struct kube_call *call; /* under way; NULL: none */
	bool acting;            /* reconcile_acted() is to come */
	bool outdated;          /* the object has changed since the act began */
	struct decision report; /* a status that is written while it acts: then the call is that */
	struct err failure;     /* of the act, once it has ended; kind ERR_NONE: none            */
};

struct slot {
	struct run *run;
};

struct member {
	struct reconcile *reconcile;
};

struct reconcile_queue {
	struct workq_run *run;
	ARRAY(struct member) members;
};

struct reconcile {
	struct reconcile_spec spec; /* its queue is NULL, too, if it is none that is shared */
	struct reconcile_queue *queue;
	struct informer *own; /* NULL: spec.objects is somebody else's */
	struct expectations *expectations;
	ARRAY(struct slot) runs;
};

static uint64_t now_ms(const struct reconcile *reconcile)
{
	return clock_now_ms(reconcile->spec.clock);
}

/* Run @key in @delay_ms, or now. */
static void add(const struct reconcile *reconcile, const char *key, uint64_t delay_ms)
{
	auto_free char *shared =
		reconcile->spec.queue ? xasprintf("%s%s", reconcile->spec.prefix, key) : NULL;
	struct workq_run *run = reconcile->queue->run;

	if (delay_ms == 0)
		workq_run_add(run, shared ? shared : key);
	else
		workq_run_add_after(run, shared ? shared : key, delay_ms);
}

static void decision_done(struct decision *decision)
{
	json_decref(decision->body);
	free(decision->event_reason);
	free(decision->event_message);
	if (decision->job && decision->job_free)
		decision->job_free(decision->job);
	*decision = (struct decision){ 0 };
}

/* --- what is known ---------------------------------------------------------------------------- */

/* Is a status on its way that was decided on while the kind acted? */
static bool is_reporting(const struct run *run)
{
	return run->report.step == STEP_PATCH_STATUS;
}

/* The newest; NULL: there is none, or it cannot be read. */
static const struct entry *entry_now(const struct run *run)
{
	const struct entry *entry = run->known.entry;

	return entry && entry->object ? entry : NULL;
}

/* Is @entry of the cache another than the one that the run knows? */
static bool is_another(const struct run *run, const struct entry *entry)
{
	const struct entry *now = entry_now(run);

	return !entry != !now || (now && strcmp(now->version, entry->version) != 0);
}

static struct reconcile_view view_of(const struct run *run)
{
	const struct entry *entry = entry_now(run);

	return (struct reconcile_view){
		.key = run->key,
		.object = entry ? entry->object : NULL,
		.uid = entry ? entry->uid : NULL,
		.version = entry ? entry->version : NULL,
		.fresh = run->answered,
		.hidden = run->hidden,
		.last = run->last,
		.text = entry && run->answered ? &run->known.text : NULL,
		.now_wall_ms = clock_wall_ms(run->reconcile->spec.clock),
	};
}

/* NULL also of a digest that is not fresh. */
static const struct api_meta *meta_of(const struct run *run)
{
	const struct entry *entry = entry_now(run);

	if (!entry)
		return NULL;
	if (!run->reconcile->spec.kind->digest)
		return entry->object;
	return run->answered ? &run->known.head.meta : NULL;
}

static bool is_informed(const struct reconcile *reconcile)
{
	const struct reconcile_spec *spec = &reconcile->spec;

	if (!informer_synced(spec->objects) || (spec->is_ready && !spec->is_ready(spec->arg)))
		return false;
	for (const struct informer *const *need = spec->needs; need && *need; need++) {
		if (!informer_synced(*need))
			return false;
	}
	return true;
}

static bool leads(const struct reconcile *reconcile)
{
	return !reconcile->spec.leads || reconcile->spec.leads(reconcile->spec.leads_arg);
}

/* --- the end of a run ------------------------------------------------------------------------- */

static void answer_done(const struct api_kind *kind, struct answer *answer)
{
	if (answer->bytes && kind->digest)
		json_map_done(head_map, &answer->head);
	free(answer->bytes);
	entry_free(kind, answer->entry);
	*answer = (struct answer){ 0 };
}

static void run_free(struct run *run)
{
	decision_done(&run->decision);
	decision_done(&run->report);
	answer_done(run->reconcile->spec.kind, &run->known);
	free(run->ns);
	free(run);
}

static struct run *find_run(const struct reconcile *reconcile, const char *key)
{
	for (size_t i = 0; i < reconcile->runs.len; i++) {
		if (strcmp(reconcile->runs.items[i].run->key, key) == 0)
			return reconcile->runs.items[i].run;
	}
	return NULL;
}

static void run_end(struct run *run, int result, const struct err *err)
{
	struct reconcile *reconcile = run->reconcile;

	assert(!run->call && !run->acting);
	for (size_t i = 0; i < reconcile->runs.len; i++) {
		if (reconcile->runs.items[i].run == run)
			reconcile->runs.items[i] = reconcile->runs.items[--reconcile->runs.len];
	}
	run->end(run->end_arg, result, err);
	run_free(run);
}

/* Then a 404 is about the namespace or the kind; else the object has been deleted meanwhile. */
static bool makes_object(const struct decision *decision)
{
	return decision->step == STEP_CREATE || decision->step == STEP_APPLY;
}

/* The object is not what it was taken for: the next run waits until the cache has another. */
static void run_fail(struct run *run, const struct err *err)
{
	const struct entry *entry = entry_now(run);
	struct err cause = *err;

	if (cause.code == -ENOENT)
		cause.kind = makes_object(&run->decision) ? ERR_RETRY : ERR_CONFLICT;
	/* An answer that is too large says nothing; nothing in a deletion can be wrong for good. */
	if (cause.code == -EMSGSIZE ||
	    (cause.kind == ERR_INVALID &&
	     (run->decision.step == STEP_DELETE || run->reconcile->spec.insists)))
		cause.kind = ERR_RETRY;
	if (cause.kind == ERR_CONFLICT && !run->answered && entry)
		expectations_add_other(run->reconcile->expectations, run->key, entry->version,
				       now_ms(run->reconcile));
	run_end(run, cause.code, &cause);
}

static void rested(const struct run *run, const void *object, const struct decision *decision)
{
	const struct reconcile_spec *spec = &run->reconcile->spec;

	if (spec->rested)
		spec->rested(spec->arg, run->key, object, decision);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void go_on(struct run *run);

/* The step has been done, on what is still known; the cache may be ahead of the answer. */
static void finish_step(struct run *run)
{
	const struct reconcile_spec *spec = &run->reconcile->spec;
	const struct decision *decision = &run->decision;
	const struct reconcile_view view = view_of(run);
	const struct api_meta *meta = meta_of(run);

	if (spec->after)
		spec->after(spec->arg, &view, decision);
	if (decision->event_reason && meta && spec->events)
		events_record(spec->events, &(struct events_about){ spec->kind, meta },
			      decision->warning ? EVENTS_WARNING : EVENTS_NORMAL,
			      decision->event_reason, "%s",
			      decision->event_message ? decision->event_message : "");
}

/* The object of an answer; {0}: it is none, or another. */
static struct answer decode(const struct run *run, const struct kube_response *response)
{
	const struct api_kind *kind = run->reconcile->spec.kind;
	const struct json_text text = { response->body, response->body_len };
	struct answer answer = { .entry = entry_decode(kind, &text, NULL) };

	if (!answer.entry)
		return answer;
	if (!answer.entry->object || !answer.entry->version[0] ||
	    strcmp(answer.entry->name, run->key) != 0 ||
	    (kind->digest &&
	     json_map_read(head_map, text.text, text.len, &answer.head, NULL) < 0)) {
		answer.entry = entry_free(kind, answer.entry);
		return answer;
	}
	answer.bytes = xstrndup(text.text, text.len);
	answer.text = (struct json_text){ answer.bytes, text.len };
	return answer;
}

/* What the API server says of the object counts more than the cache. One that is being deleted and
 * has no finalizer has been shown for the last time. */
static void take_answer(struct run *run, const struct answer *answer)
{
	const struct api_kind *kind = run->reconcile->spec.kind;
	const struct entry *cached =
		store_get(informer_store(run->reconcile->spec.objects), run->key);
	const struct api_meta *meta;

	answer_done(kind, &run->known);
	run->known = *answer;
	run->answered = true;
	run->overtaken = run->heard && is_another(run, cached);
	run->heard = false;
	meta = meta_of(run);
	if (meta && meta->deletion_timestamp && meta->finalizers.len == 0)
		answer_done(kind, &run->known);
	expectations_add(run->reconcile->expectations, run->key,
			 run->known.entry ? run->known.entry->version : NULL,
			 now_ms(run->reconcile));
	if (cached) /* which may show it already, and something newer before the next run */
		expectations_observe(run->reconcile->expectations, run->key, cached);
}

static void next_step(struct run *run)
{
	run->last = run->decision.step;
	decision_done(&run->decision);
	go_on(run);
}

/* The path is not served: that says nothing of the object. */
static int not_served(const struct err *err, struct err *ret_cause)
{
	return err_set(ret_cause, ERR_RETRY, -EIO, "%s", err->msg);
}

static void on_answer(void *arg, int result, const struct kube_response *response,
		      const struct err *err)
{
	struct run *run = arg;
	bool read = run->decision.step == STEP_READ;
	bool gone = read && result == -ENOENT && fetch_says_gone(response, run->name);
	struct answer answer = { 0 };
	struct err cause = *err;

	run->call = NULL;
	if (result == 0)
		answer = decode(run, response);
	if (result == 0 && !answer.entry)
		err_set(&cause, ERR_RETRY, -EBADMSG, "the answer is not the object '%s'", run->key);
	else if (read && result == -ENOENT && !gone)
		not_served(err, &cause);
	if (!answer.entry && !gone) {
		run_fail(run, &cause);
		return;
	}
	finish_step(run);
	take_answer(run, &answer);
	next_step(run);
}

/* A finalizer keeps it a while: then the answer is the object. */
static void on_deleted(void *arg, int result, const struct kube_response *response,
		       const struct err *err)
{
	struct run *run = arg;
	auto_json json_t *json = NULL;
	struct answer answer = { 0 };
	struct err cause = *err;

	run->call = NULL;
	if (result == 0)
		result = json_map_load(response->body, response->body_len, &json, &cause);
	else if (result == -ENOENT && !fetch_says_gone(response, run->name))
		result = not_served(err, &cause);
	if (result < 0 && result != -ENOENT) {
		run_fail(run, &cause);
		return;
	}
	finish_step(run);
	if (result == 0)
		answer = decode(run, response);
	take_answer(run, &answer);
	next_step(run);
}

static void read_object(struct run *run)
{
	const struct reconcile_spec *spec = &run->reconcile->spec;

	run->decision.step = STEP_READ;
	run->call = fetch_object(spec->client, &run->kind, run->name, on_answer, run);
}

static void on_created(void *arg, int result, const struct kube_response *response,
		       const struct err *err)
{
	struct run *run = arg;

	if (result != -EEXIST) {
		on_answer(run, result, response, err);
		return;
	}
	decision_done(&run->decision);
	run->hidden = true;
	read_object(run);
}

/* --- steps ------------------------------------------------------------------------------------ */

static const char *meta_text(const json_t *body, const char *key)
{
	const char *text =
		json_string_value(json_object_get(json_object_get(body, "metadata"), key));

	return text ? text : "";
}

static bool removes_finalizer(const struct run *run, const json_t *body)
{
	const json_t *list = json_object_get(json_object_get(body, "metadata"), "finalizers");
	const struct api_meta *meta = meta_of(run);

	return list && (!meta || json_array_size(list) < meta->finalizers.len);
}

/* What the head of reconcile.h says of a patch. */
static void check_patch(const struct run *run, const json_t *body)
{
	const struct entry *entry = entry_now(run);

	assert(entry);
	assert(strcmp(meta_text(body, "uid"), entry->uid) == 0);
	assert(strcmp(meta_text(body, "resourceVersion"), entry->version) == 0);
	assert(json_object_size(body) > 1 ||
	       json_object_size(json_object_get(body, "metadata")) > 2);
	assert(run->answered || !removes_finalizer(run, body));
}

static struct apply_request request_of(const struct run *run, const struct decision *decision,
				       const char *subresource)
{
	return (struct apply_request){
		.kind = &run->kind,
		.name = run->name,
		.subresource = subresource,
		.field_manager =
			decision->manager ? decision->manager : run->reconcile->spec.field_manager,
		.force = !decision->yields,
		.object = decision->body,
	};
}

static void send_patch(struct run *run, const char *subresource)
{
	struct apply_request request = request_of(run, &run->decision, subresource);

	check_patch(run, request.object);
	run->call = apply_merge(run->reconcile->spec.client, &request, on_answer, run);
}

static void send_apply(struct run *run, const char *subresource)
{
	struct apply_request request = request_of(run, &run->decision, subresource);

	run->call = apply_send(run->reconcile->spec.client, &request, on_answer, run);
}

static void send_create(struct run *run)
{
	struct apply_request request = request_of(run, &run->decision, NULL);

	assert(!entry_now(run));
	run->call = apply_create(run->reconcile->spec.client, &request, on_created, run);
}

static void send_delete(struct run *run)
{
	const struct entry *entry = entry_now(run);

	assert(entry);
	run->call = apply_delete(run->reconcile->spec.client,
				 &(struct delete_request){
					 .kind = &run->kind,
					 .name = run->name,
					 .uid = entry->uid,
					 .version = entry->version,
				 },
				 on_deleted, run);
}

static void act(struct run *run)
{
	const struct reconcile_spec *spec = &run->reconcile->spec;
	const struct reconcile_view view = view_of(run);

	assert(spec->act && run->answered);
	run->acting = spec->act(spec->arg, &view, &run->decision);
	if (!run->acting)
		run_end(run, 0, NULL);
}

static void rest(struct run *run)
{
	const struct entry *entry = entry_now(run);
	struct err failure = run->decision.failure;

	assert(!run->decision.event_reason && !run->decision.body);
	rested(run, entry ? entry->object : NULL, &run->decision);
	if (run->decision.again_ms > 0)
		add(run->reconcile, run->key, run->decision.again_ms);
	run_end(run, failure.kind == ERR_NONE ? 0 : failure.code, &failure);
}

static void do_step(struct run *run)
{
	switch (run->decision.step) {
	case STEP_REST:
		rest(run);
		return;
	case STEP_CREATE:
		send_create(run);
		return;
	case STEP_PATCH:
		send_patch(run, NULL);
		return;
	case STEP_PATCH_STATUS:
		send_patch(run, "status");
		return;
	case STEP_APPLY:
		send_apply(run, NULL);
		return;
	case STEP_APPLY_STATUS:
		send_apply(run, "status");
		return;
	case STEP_DELETE:
		send_delete(run);
		return;
	case STEP_READ:
		read_object(run);
		return;
	case STEP_ACT:
		act(run);
		return;
	}
}

/* --- runs ------------------------------------------------------------------------------------- */

/* May @key be planned now? It is run again while something that is needed is not there. */
static bool may_plan(const struct reconcile *reconcile, const char *key)
{
	if (!leads(reconcile))
		return false;
	if (is_informed(reconcile))
		return true;
	add(reconcile, key, RECONCILE_AGAIN_MS);
	return false;
}

/* A step that cannot be undone is decided on an object that the API server itself has returned in
 * this run. If the watch has shown a later object meanwhile, the object is read again: it may be
 * deleted. */
static void read_before(struct run *run)
{
	const struct decision *decision = &run->decision;

	if ((run->answered && !run->overtaken) ||
	    !(decision->step == STEP_ACT ||
	      (decision->step == STEP_PATCH && removes_finalizer(run, decision->body))))
		return;
	decision_done(&run->decision);
	run->decision.step = STEP_READ;
}

static void go_on(struct run *run)
{
	const struct reconcile_spec *spec = &run->reconcile->spec;
	const struct reconcile_view view = view_of(run);

	if (!may_plan(run->reconcile, run->key)) {
		run_end(run, 0, NULL);
		return;
	}
	if (!spec->is_ours(spec->arg, run->key, view.object)) {
		rested(run, NULL, NULL);
		run_end(run, 0, NULL);
		return;
	}
	assert(run->answered || run->steps == 0);
	if (run->steps++ == RECONCILE_STEPS_MAX) {
		add(run->reconcile, run->key, RECONCILE_AGAIN_MS);
		run_end(run, 0, NULL);
		return;
	}
	spec->plan(spec->arg, &view, &run->decision);
	read_before(run);
	log_debug("reconcile step", log_str("queue", spec->name), log_str("key", run->key),
		  log_int("step", run->decision.step), log_int("detail", run->decision.detail));
	if (spec->before && run->decision.step != STEP_REST)
		spec->before(spec->arg, &view, &run->decision);
	do_step(run);
}

/* How long the key has to wait, unless a change of its object comes first: until the cache shows
 * what the API server has answered, and until the kind is installed. */
static uint64_t wait_of(const struct reconcile *reconcile, const char *key,
			const struct entry *entry)
{
	uint64_t wait_ms =
		expectations_wait_ms(reconcile->expectations, key, entry, now_ms(reconcile));

	if (wait_ms == 0 && !informer_installed(reconcile->spec.objects))
		return RECONCILE_AGAIN_MS;
	return wait_ms;
}

/* True if there is something to decide on @key, now. What cannot be read is left alone: a change
 * enqueues it. */
static bool is_to_be_decided(struct reconcile *reconcile, const char *key)
{
	const struct reconcile_spec *spec = &reconcile->spec;
	const struct entry *entry = store_get(informer_store(spec->objects), key);
	uint64_t wait_ms;

	if (!may_plan(reconcile, key) || (entry && !entry->object))
		return false;
	wait_ms = wait_of(reconcile, key, entry);
	if (wait_ms > 0)
		add(reconcile, key, wait_ms);
	return wait_ms == 0;
}

static void name_object(struct run *run)
{
	const char *slash = strchr(run->key, '/');

	run->kind = *run->reconcile->spec.kind;
	run->name = slash ? slash + 1 : run->key;
	if (!slash)
		return;
	run->ns = xstrndup(run->key, (size_t)(slash - run->key));
	run->kind.ns = run->ns;
}

static void run_key(struct reconcile *reconcile, const char *key, work_end_fn *end, void *end_arg)
{
	struct run *run;

	if (!is_to_be_decided(reconcile, key)) {
		end(end_arg, 0, NULL);
		return;
	}
	assert(!find_run(reconcile, key));
	run = xcalloc(1, sizeof(*run));
	*run = (struct run){ .reconcile = reconcile, .key = key, .end = end, .end_arg = end_arg };
	name_object(run);
	run->known.entry = store_ref(informer_store(reconcile->spec.objects), key);
	array_add(&reconcile->runs)->run = run;
	go_on(run);
}

static void work(void *arg, const char *key, work_end_fn *end, void *end_arg)
{
	const struct reconcile_queue *queue = arg;

	for (size_t i = 0; i < queue->members.len; i++) {
		struct reconcile *reconcile = queue->members.items[i].reconcile;
		size_t len = reconcile->spec.queue ? strlen(reconcile->spec.prefix) : 0;

		if (len > 0 && strncmp(key, reconcile->spec.prefix, len) != 0)
			continue;
		run_key(reconcile, key + len, end, end_arg);
		return;
	}
	end(end_arg, 0, NULL); /* its reconcile has been freed */
}

void reconcile_enqueue(struct reconcile *reconcile, const char *key)
{
	add(reconcile, key, 0);
}

void reconcile_enqueue_after(struct reconcile *reconcile, const char *key, uint64_t delay_ms)
{
	add(reconcile, key, delay_ms);
}

void reconcile_enqueue_all(struct reconcile *reconcile)
{
	const struct reconcile_spec *spec = &reconcile->spec;
	const struct entry *entry;
	size_t cursor = 0;

	if (!is_informed(reconcile))
		return;
	while ((entry = store_next(informer_store(spec->objects), &cursor))) {
		if (entry->object && spec->is_ours(spec->arg, entry->name, entry->object))
			add(reconcile, entry->name, 0);
	}
}

void reconcile_changed(struct reconcile *reconcile, const char *key)
{
	const struct entry *entry = store_get(informer_store(reconcile->spec.objects), key);
	struct run *run = find_run(reconcile, key);

	expectations_observe(reconcile->expectations, key, entry);
	if (run && is_another(run, entry)) {
		run->outdated = run->outdated || run->acting || is_reporting(run);
		run->heard = run->call != NULL;
	}
	reconcile_enqueue_after(reconcile, key, reconcile->spec.quiet_ms);
}

bool reconcile_is_settled(const struct reconcile *reconcile, const char *key)
{
	const struct entry *entry = store_get(informer_store(reconcile->spec.objects), key);

	return !find_run(reconcile, key) &&
	       expectations_wait_ms(reconcile->expectations, key, entry, now_ms(reconcile)) == 0;
}

/* --- the end of an act, and a status before that ---------------------------------------------- */

static void after_act(struct run *run)
{
	struct err failure = run->failure;

	if (failure.kind != ERR_NONE)
		run_end(run, failure.code, &failure);
	else if (run->outdated)
		run_end(run, 0, NULL); /* the key was enqueued when that was seen */
	else
		next_step(run);
}

/* The step has been done; what follows waits for a report under way. */
static void end_act(const struct reconcile *reconcile, const char *key, const struct err *failure)
{
	struct run *run = find_run(reconcile, key);

	assert(run && run->acting);
	run->acting = false;
	if (failure)
		run->failure = *failure;
	else
		finish_step(run);
	if (!is_reporting(run))
		after_act(run);
}

void reconcile_failed(struct reconcile *reconcile, const char *key, const struct err *err)
{
	assert(err->kind != ERR_NONE && err->code < 0);
	end_act(reconcile, key, err);
}

void reconcile_acted(struct reconcile *reconcile, const char *key)
{
	end_act(reconcile, key, NULL);
}

/* What could not be written is no failure: what follows the act tells more. */
static void on_reported(void *arg, int result, const struct kube_response *response,
			const struct err *err)
{
	struct run *run = arg;
	struct answer answer = { 0 };

	run->call = NULL;
	decision_done(&run->report);
	if (result == 0)
		answer = decode(run, response);
	if (result < 0 && (err->kind == ERR_CONFLICT || err->code == -ENOENT)) {
		run->outdated = true;
		add(run->reconcile, run->key, 0);
	}
	if (answer.entry)
		take_answer(run, &answer);
	if (!run->acting)
		after_act(run);
}

void reconcile_report(struct reconcile *reconcile, const char *key)
{
	const struct reconcile_spec *spec = &reconcile->spec;
	struct run *run = find_run(reconcile, key);
	struct reconcile_view view;
	struct apply_request request;

	if (!run || !run->acting || is_reporting(run) || !entry_now(run) || !leads(reconcile) ||
	    !is_informed(reconcile))
		return;
	view = view_of(run);
	view.acting = true;
	spec->plan(spec->arg, &view, &run->report);
	assert(run->report.step == STEP_REST || run->report.step == STEP_PATCH_STATUS);
	assert(!run->report.event_reason);
	if (run->report.step == STEP_REST) {
		decision_done(&run->report);
		return;
	}
	request = request_of(run, &run->report, "status");
	check_patch(run, request.object);
	run->call = apply_merge(spec->client, &request, on_reported, run);
}

/* --- life ------------------------------------------------------------------------------------- */

struct reconcile_queue *reconcile_queue_new(const char *name, size_t max_running,
					    struct clock *clock, struct metrics *metrics)
{
	struct reconcile_queue *queue = xcalloc(1, sizeof(*queue));

	assert(max_running > 0);
	queue->run = workq_run_new(&(struct workq_run_spec){
		.name = name,
		.max_running = max_running,
		.work = work,
		.arg = queue,
		.clock = clock,
		.metrics = metrics,
	});
	return queue;
}

struct reconcile_queue *reconcile_queue_free(struct reconcile_queue *queue)
{
	if (!queue)
		return NULL;
	assert(queue->members.len == 0);
	workq_run_free(queue->run);
	array_done(&queue->members);
	free(queue);
	return NULL;
}

bool reconcile_queue_is_idle(const struct reconcile_queue *queue)
{
	return workq_run_idle(queue->run);
}

static void on_own_change(void *arg, const char *key, const struct entry *before,
			  const struct entry *after)
{
	struct reconcile *reconcile = arg;

	reconcile_changed(reconcile, key);
	if (reconcile->spec.on_change)
		reconcile->spec.on_change(reconcile->spec.arg, key, before, after);
}

static void on_own_synced(void *arg)
{
	struct reconcile *reconcile = arg;

	reconcile_enqueue_all(reconcile);
	if (reconcile->spec.on_synced)
		reconcile->spec.on_synced(reconcile->spec.arg);
}

static void make_informer(struct reconcile *reconcile)
{
	struct reconcile_spec *spec = &reconcile->spec;

	reconcile->own = informer_new(
		&(struct informer_deps){ spec->client, spec->clock, spec->metrics },
		&(struct informer_spec){
			.kind = spec->kind,
			.label_selector = spec->label_selector,
			.field_selector = spec->field_selector,
			.handlers = { .on_change = on_own_change, .on_synced = on_own_synced },
			.arg = reconcile,
		});
	spec->objects = reconcile->own;
	spec->label_selector = spec->field_selector = NULL; /* no longer borrowed */
}

void reconcile_start(struct reconcile *reconcile)
{
	informer_start(reconcile->own);
}

const struct store *reconcile_store(const struct reconcile *reconcile)
{
	return informer_store(reconcile->spec.objects);
}

bool reconcile_is_synced(const struct reconcile *reconcile, struct str *reason)
{
	if (informer_synced(reconcile->spec.objects))
		return true;
	if (reason && reconcile->own)
		str_addf(reason, "waiting for %s", informer_text(reconcile->own));
	return false;
}

static bool is_there(void *arg, const char *key, const void *object)
{
	(void)arg;
	(void)key;
	return object;
}

struct reconcile *reconcile_new(const struct reconcile_spec *spec)
{
	struct reconcile *reconcile = xcalloc(1, sizeof(*reconcile));

	assert(spec->plan);
	assert(!spec->queue || (spec->prefix && spec->prefix[0]));
	reconcile->spec = *spec;
	if (!spec->is_ours)
		reconcile->spec.is_ours = is_there;
	if (!spec->objects)
		make_informer(reconcile);
	reconcile->expectations = expectations_new();
	reconcile->queue = spec->queue ? spec->queue
				       : reconcile_queue_new(spec->name, spec->max_running,
							     spec->clock, spec->metrics);
	array_add(&reconcile->queue->members)->reconcile = reconcile;
	return reconcile;
}

static void leave_queue(const struct reconcile *reconcile)
{
	struct reconcile_queue *queue = reconcile->queue;

	for (size_t i = 0; i < queue->members.len; i++) {
		if (queue->members.items[i].reconcile == reconcile)
			queue->members.items[i] = queue->members.items[--queue->members.len];
	}
	if (!reconcile->spec.queue)
		reconcile_queue_free(queue);
}

struct reconcile *reconcile_free(struct reconcile *reconcile)
{
	if (!reconcile)
		return NULL;
	while (reconcile->runs.len > 0) {
		struct run *run = reconcile->runs.items[--reconcile->runs.len].run;

		if (run->call)
			kube_call_cancel(run->call);
		run->end(run->end_arg, 0, NULL);
		run_free(run);
	}
	array_done(&reconcile->runs);
	leave_queue(reconcile);
	informer_free(reconcile->own);
	expectations_free(reconcile->expectations);
	free(reconcile);
	return NULL;
}
