/*
 * reconcile_bench: a toy kind on reconcile.h, between a fake_server and a clock that stands still.
 *
 * The toy's objects are USBDeviceClaims. What spec.userName says is to be in status.portPath. Each
 * has a finalizer; before that is removed, the toy acts on the object. Objects whose names begin
 * with "w" are wanted by the toy itself, those with "x" are unwanted, those with "o" are others',
 * and those with "apply" in it are written by applies.
 */
#pragma once

#include <string.h>

#include "api/patch.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "base/map.h"
#include "base/str.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/fake_server.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/reconcile.h"
#include "kube/store.h"
#include "unit/kube/kind_bench.h"
#include "unit/suite.h"

#define TOY_FINALIZER "example.com/toy"

/* kube/events.h without an API server. */
struct events {
	struct str recorded;
	size_t count;
};

void events_record(struct events *events, const struct events_about *about, enum events_type type,
		   const char *reason, const char *fmt, ...)
{
	(void)type;
	assert_non_null(fmt);
	str_addf(&events->recorded, "%s %s|", reason, about->meta->name);
	events->count++;
}

struct bench {
	struct fake_server *server;
	struct fake_clock *clock;
	struct informer *informer;
	struct reconcile *reconcile;
	struct events events;
	struct json_strs acting; /* keys of acts under way                                */
	struct map *acted;       /* uid -> something, of objects that were acted on       */
	struct str steps;        /* what before(), after() and rested() were told         */
	const struct informer *needs[2];
	const struct api_kind *kind;
	void (*plan)(void *arg, const struct reconcile_view *view, struct decision *d);
	uint64_t quiet_ms;
	bool insists;
	const char *manager; /* of creations */
	bool ready;
	bool follows;       /* another program leads                     */
	bool busy;          /* nothing can be acted on now                */
	bool writes_always; /* the toy is never content                   */
	bool starts_wanted; /* names that begin with "w" are to be there  */
	struct err failure; /* of a REST */
	struct err trouble; /* of the next act */
	uint64_t again_ms;  /* likewise  */
	size_t plans;
	const char *report; /* for status.portPath while the toy acts; NULL: nothing is said */
	bool acts_long;     /* acts end by bench_end_act() only */
};

static inline bool toy_wants(const struct bench *b, const char *key)
{
	return key[0] == 'w' && b->starts_wanted;
}

static inline bool toy_is_ready(void *arg)
{
	const struct bench *b = arg;

	return b->ready;
}

static inline bool toy_leads(void *arg)
{
	const struct bench *b = arg;

	return !b->follows;
}

static inline bool toy_is_ours(void *arg, const char *key, const void *object)
{
	return (object && key[0] != 'o') || toy_wants(arg, key);
}

static inline void toy_plan_absent(const struct bench *b, const struct reconcile_view *view,
				   struct decision *d)
{
	bool apply = strstr(view->key, "apply") != NULL;

	d->step = apply ? STEP_APPLY : STEP_CREATE;
	d->manager = b->manager;
	d->body = json_pack("{s:{s:s}}", "spec", "userName", "made");
}

static inline void toy_plan_deleted(const struct bench *b, const struct reconcile_view *view,
				    struct decision *d)
{
	const struct usbdeviceclaim *claim = view->object;

	if (!api_meta_has_finalizer(&claim->meta, TOY_FINALIZER))
		return;
	if (!map_get(b->acted, view->uid)) {
		d->step = STEP_ACT;
		d->detail = 8;
		d->job = xstrdup(view->key);
		d->job_free = free;
		return;
	}
	d->step = STEP_PATCH;
	d->detail = 7;
	d->body = patch_new(&claim->meta);
	patch_remove_finalizer(d->body, &claim->meta, TOY_FINALIZER);
	d->event_reason = xstrdup("Released");
}

/* True if something of the status differs. */
static inline bool toy_plan_status(const struct reconcile_view *view, struct decision *d)
{
	const struct usbdeviceclaim *claim = view->object;
	struct usbdeviceclaim_status want;
	const struct patch_status status = { .meta = &claim->meta,
					     .map = usbdeviceclaim_status_map,
					     .have = &claim->status,
					     .want = &want,
					     .conditions = &want.conditions,
					     .now_wall_ms = view->now_wall_ms };

	json_map_copy(status.map, &want, &claim->status);
	free(want.port_path);
	want.port_path = xstrdup_or_null(claim->spec.user_name);
	patch_status_condition(&status, "Ready", API_TRUE, "Ready", claim->spec.user_name);
	d->body = patch_status_body(&status);
	json_map_done(status.map, &want);
	if (!d->body)
		return false;
	d->step = STEP_PATCH_STATUS;
	d->event_reason = xstrdup("Told");
	d->event_message = xstrdup("message");
	if (strstr(view->key, "apply")) {
		d->step = STEP_APPLY_STATUS;
		json_object_del(d->body, "metadata");
	}
	return true;
}

static inline void toy_plan_report(const struct bench *b, const struct reconcile_view *view,
				   struct decision *d)
{
	const struct usbdeviceclaim *claim = view->object;

	if (!b->report ||
	    (claim->status.port_path && strcmp(claim->status.port_path, b->report) == 0))
		return;
	d->step = STEP_PATCH_STATUS;
	d->detail = 6;
	d->body = patch_new(&claim->meta);
	json_object_set_new(d->body, "status", json_pack("{s:s}", "portPath", b->report));
}

static inline void toy_plan(void *arg, const struct reconcile_view *view, struct decision *d)
{
	struct bench *b = arg;
	const struct usbdeviceclaim *claim = view->object;

	b->plans++;
	if (view->hidden)
		str_addf(&b->steps, "hidden %s|", view->key);
	if (view->acting) {
		toy_plan_report(b, view, d);
	} else if (!claim) {
		toy_plan_absent(b, view, d);
	} else if (claim->meta.deletion_timestamp) {
		toy_plan_deleted(b, view, d);
	} else if (view->key[0] == 'x') {
		d->step = STEP_DELETE;
	} else if (!api_meta_has_finalizer(&claim->meta, TOY_FINALIZER)) {
		d->step = STEP_PATCH;
		d->body = patch_new(&claim->meta);
		patch_add_finalizer(d->body, &claim->meta, TOY_FINALIZER);
	} else if (b->writes_always) {
		d->step = STEP_PATCH;
		d->body = patch_new(&claim->meta);
		json_object_set_new(json_object_get(d->body, "metadata"), "labels",
				    json_pack("{s:s}", "l", "1"));
	} else if (!toy_plan_status(view, d)) {
		d->again_ms = b->again_ms;
		d->failure = b->failure;
	}
}

static inline void toy_before(void *arg, const struct reconcile_view *view,
			      const struct decision *decision)
{
	struct bench *b = arg;

	if (decision->detail)
		str_addf(&b->steps, "before %d %s|", decision->detail, view->version);
}

static inline void toy_after(void *arg, const struct reconcile_view *view,
			     const struct decision *decision)
{
	struct bench *b = arg;

	if (decision->detail)
		str_addf(&b->steps, "after %d %s|", decision->detail, view->version);
}

static inline bool toy_act(void *arg, const struct reconcile_view *view,
			   const struct decision *decision)
{
	struct bench *b = arg;

	assert_true(view->fresh);
	assert_string_equal(decision->job, view->key);
	if (b->busy)
		return false;
	json_strs_add(&b->acting, view->key);
	return true;
}

static inline void toy_rested(void *arg, const char *key, const void *object,
			      const struct decision *decision)
{
	struct bench *b = arg;

	(void)decision;
	str_addf(&b->steps, "%s %s|", object ? "rests" : "gone", key);
}

/* The oldest act ends. False: there is none. */
static inline bool bench_end_act(struct bench *b)
{
	auto_free char *key = NULL;
	const char *name;

	if (b->acting.len == 0)
		return false;
	key = xstrdup(b->acting.items[0]);
	json_strs_remove(&b->acting, key);
	if (b->trouble.kind != ERR_NONE) {
		struct err trouble = b->trouble;

		b->trouble = (struct err){ 0 };
		reconcile_failed(b->reconcile, key, &trouble);
		return true;
	}
	name = strchr(key, '/') ? strchr(key, '/') + 1 : key;
	if (fake_server_get(b->server, name))
		(void)map_set(b->acted, fake_server_text(b->server, name, "metadata.uid"), b);
	reconcile_acted(b->reconcile, key);
	return true;
}

static inline void bench_on_change(void *arg, const char *name, const struct entry *before,
				   const struct entry *after)
{
	struct bench *b = arg;

	(void)before;
	(void)after;
	if (b->reconcile)
		reconcile_changed(b->reconcile, name);
}

static inline void bench_enqueue_all(struct bench *b)
{
	if (!b->reconcile)
		return;
	reconcile_enqueue_all(b->reconcile);
	if (b->starts_wanted) {
		reconcile_enqueue(b->reconcile, "w1");
		reconcile_enqueue(b->reconcile, "wapply");
	}
}

static inline void bench_on_synced(void *arg)
{
	bench_enqueue_all(arg);
}

/* The program begins, or begins again. */
static inline void bench_begin(struct bench *b)
{
	struct kube_client *client = fake_server_client(b->server);
	const struct informer_handlers handlers = { .on_change = bench_on_change,
						    .on_synced = bench_on_synced };

	b->informer = kind_bench_informer(b, client, b->clock, b->kind, handlers);
	b->reconcile = reconcile_new(&(struct reconcile_spec){
		.name = "toys",
		.kind = b->kind,
		.objects = b->informer,
		.needs = b->needs,
		.field_manager = "toy",
		.max_running = 4,
		.quiet_ms = b->quiet_ms,
		.insists = b->insists,
		.is_ready = toy_is_ready,
		.leads = toy_leads,
		.leads_arg = b,
		.is_ours = toy_is_ours,
		.plan = b->plan,
		.before = toy_before,
		.after = toy_after,
		.act = toy_act,
		.rested = toy_rested,
		.arg = b,
		.client = client,
		.clock = fake_clock_as_clock(b->clock),
		.events = &b->events,
	});
	informer_start(b->informer);
}

static inline void bench_end(struct bench *b)
{
	b->reconcile = reconcile_free(b->reconcile);
	b->informer = informer_free(b->informer);
	json_strs_done(&b->acting);
	assert_int_equal(fake_client_open(fake_server_client(b->server)), 0);
}

static inline void bench_open(struct bench *b)
{
	*b = (struct bench){ .server = fake_server_new(&usbdeviceclaim_kind),
			     .clock = fake_clock_new(),
			     .acted = map_new(),
			     .kind = &usbdeviceclaim_kind,
			     .plan = toy_plan,
			     .ready = true };
	bench_begin(b);
}

static inline void bench_close(struct bench *b)
{
	bench_end(b);
	kube_client_free(fake_server_client(b->server));
	fake_server_free(b->server);
	fake_clock_free(b->clock);
	map_free(b->acted);
	str_done(&b->events.recorded);
	str_done(&b->steps);
}

SUITE_FIXTURE(bench, struct bench, bench_open, bench_close);

/* --- digests ---------------------------------------------------------------------------------- */

struct toy_digest {
	bool deleting;
	bool content;
};

static inline void *toy_digest_of(const void *object)
{
	const struct usbdeviceclaim *claim = object;
	const char *port = claim->status.port_path;
	const char *user = claim->spec.user_name;
	struct toy_digest *digest = xcalloc(1, sizeof(*digest));

	digest->deleting = claim->meta.deletion_timestamp != NULL;
	digest->content = strcmp(port ? port : "", user ? user : "") == 0;
	return digest;
}

/* What a digest is too little for is taken from the text. */
static inline void plan_digest(void *arg, const struct reconcile_view *view, struct decision *d)
{
	struct bench *b = arg;
	const struct toy_digest *digest = view->object;
	auto_json json_t *object = NULL;
	const char *user;

	b->plans++;
	if (!digest || (digest->content && !digest->deleting)) {
		return;
	}
	if (!view->fresh) {
		assert_null(view->text);
		d->step = STEP_READ;
		return;
	}
	object = json_loadb(view->text->text, view->text->len, 0, NULL);
	assert_non_null(object);
	d->body = patch_new_at(view->uid, view->version);
	d->event_reason = xstrdup(digest->deleting ? "Released" : "Told");
	if (digest->deleting) {
		d->step = STEP_PATCH;
		json_object_set_new(json_object_get(d->body, "metadata"), "finalizers",
				    json_array());
		return;
	}
	user = json_string_value(json_object_get(json_object_get(object, "spec"), "userName"));
	d->step = STEP_PATCH_STATUS;
	json_object_set_new(d->body, "status", json_pack("{s:s}", "portPath", user));
}

static inline void begin_with_digests(struct bench *b)
{
	static struct api_kind kind;

	bench_end(b);
	kind = usbdeviceclaim_kind;
	kind.digest = toy_digest_of;
	b->kind = &kind;
	b->plan = plan_digest;
	bench_begin(b);
}

/* Everything is served and shown at once, and acts end, until nothing is left to do now. */
static inline void bench_settle(struct bench *b)
{
	unsigned left = 2000;

	do {
		fake_clock_settle(b->clock);
		if (left-- == 0)
			fail_msg("it does not come to rest: %s", fake_server_log(b->server));
	} while (fake_server_serve(b->server, FAULT_NONE) || fake_server_show(b->server, 1) ||
		 (!b->acts_long && bench_end_act(b)));
}

/* The same for @ms. */
static inline void bench_run(struct bench *b, uint64_t ms)
{
	kind_bench_run(b, b->clock, bench_settle, ms);
}

static inline void assert_log(struct bench *b, const char *wanted)
{
	assert_string_equal(fake_server_log(b->server), wanted);
}

static inline void assert_events(struct bench *b, const char *wanted)
{
	assert_recorded(&b->events.recorded, wanted);
}

static inline void assert_steps(struct bench *b, const char *wanted)
{
	assert_recorded(&b->steps, wanted);
}
