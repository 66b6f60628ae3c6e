#include "kube/election.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "api/json_map_read.h"
#include "api/lease.h"
#include "api/object.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "kube/client.h"
#include "kube/clock.h"
#include "kube/metrics.h"
#include "kube/url.h"

/* --- the decision --- */

enum { DURATION_MAX_S = 60 * 60 };

void elector_done(struct elector *e)
{
	free(e->holder);
	free(e->record);
	e->holder = NULL;
	e->record = NULL;
}

static char *record_of(const struct lease_spec *spec)
{
	return xasprintf("%s\n%s\n%s\n%lld", str_or_empty(spec->holder_identity),
			 str_or_empty(spec->acquire_time), str_or_empty(spec->renew_time),
			 (long long)spec->lease_transitions);
}

static uint64_t duration_of(const struct lease_spec *spec)
{
	int64_t seconds = spec->lease_duration_seconds;

	if (seconds < 1)
		return ELECTION_LEASE_MS;
	return (uint64_t)(seconds < DURATION_MAX_S ? seconds : DURATION_MAX_S) * 1000;
}

static void record_lease(struct elector *e, const struct lease_spec *spec, uint64_t now_ms)
{
	char *record = record_of(spec);

	if (!e->record || strcmp(e->record, record) != 0)
		e->changed_ms = now_ms;
	free(e->record);
	e->record = record;
	str_set(&e->holder, spec->holder_identity);
	e->duration_ms = duration_of(spec);
	e->transitions = spec->lease_transitions;
}

static enum elector_act lease_missing(struct elector *e)
{
	elector_done(e);
	e->leading = false;
	e->transitions = 0;
	return ELECTOR_CREATE;
}

enum elector_act elector_observe(struct elector *e, const struct lease *lease, uint64_t now_ms)
{
	if (!lease)
		return lease_missing(e);
	record_lease(e, &lease->spec, now_ms);
	if (e->holder && strcmp(e->holder, e->identity) == 0)
		return ELECTOR_RENEW;
	e->leading = false;
	if (!e->holder || now_ms - e->changed_ms >= e->duration_ms)
		return ELECTOR_CLAIM;
	return ELECTOR_WAIT;
}

void elector_won(struct elector *e, const struct lease *lease, uint64_t sent_ms, uint64_t now_ms)
{
	record_lease(e, &lease->spec, now_ms);
	e->leading = true;
	e->renewed_ms = sent_ms;
}

bool elector_may_lead(const struct elector *e, uint64_t now_ms)
{
	return e->leading && now_ms - e->renewed_ms < ELECTION_RENEW_MS;
}

void elector_write(const struct elector *e, enum elector_act act, int64_t wall_ms,
		   struct lease_spec *ret_spec)
{
	char stamp[TIMEFMT_MAX];
	bool ours = act == ELECTOR_RENEW;

	timefmt_rfc3339_micro(wall_ms, stamp);
	*ret_spec = (struct lease_spec){
		.holder_identity = xstrdup(e->identity),
		.lease_duration_seconds = ELECTION_LEASE_MS / 1000,
		.acquire_time = ours ? NULL : xstrdup(stamp),
		.renew_time = xstrdup(stamp),
		.lease_transitions = e->transitions + (act == ELECTOR_CLAIM),
	};
}

void elector_write_release(const struct elector *e, int64_t wall_ms, struct lease_spec *ret_spec)
{
	char stamp[TIMEFMT_MAX];

	timefmt_rfc3339_micro(wall_ms, stamp);
	*ret_spec = (struct lease_spec){
		.lease_duration_seconds = 1,
		.renew_time = xstrdup(stamp),
		.lease_transitions = e->transitions,
	};
}

/* --- the Lease --- */

struct election_report {
	const char *lease; /* borrowed, like @identity */
	const char *identity;
	/* code of the last logged failure, to log it only once; 0 after a success */
	int logged_code;
	struct metric *leading;
	struct metric *changes;
};

static const struct metric_desc leading_desc = {
	.name = "hostdev_leader",
	.help = "1 while this process holds the Lease.",
	.type = METRIC_GAUGE,
	.labels = { "lease" },
};

static const struct metric_desc changes_desc = {
	.name = "hostdev_leader_changes_total",
	.help = "Times that this process became leader or follower.",
	.type = METRIC_COUNTER,
	.labels = { "lease", "to" },
};

static void election_report_init(struct election_report *report, struct metrics *metrics,
				 const char *lease, const char *identity)
{
	*report = (struct election_report){
		.lease = lease,
		.identity = identity,
		.leading = metrics_family(metrics, &leading_desc),
		.changes = metrics_family(metrics, &changes_desc),
	};
	metric_show(report->leading, &report->lease);
	metric_show(report->changes, (const char *const[]){ lease, "leader" });
	metric_show(report->changes, (const char *const[]){ lease, "follower" });
}

/* We start or stop leading. */
static void election_report_leads(const struct election_report *report, bool leads)
{
	metric_set(report->leading, leads, &report->lease);
	metric_count(report->changes, report->lease, leads ? "leader" : "follower");
	log_info(leads ? "leading" : "stopped leading", log_str("lease", report->lease),
		 log_str("identity", report->identity));
}

/* A request for the Lease ended: successfully if @err is NULL, else @what is the message to log.
 * A lasting failure is logged once. Losing the race against another replica is not a failure. */
static void election_report_end(struct election_report *report, const char *what,
				const struct err *err)
{
	enum log_level level = LOG_DEBUG;

	if (!err) {
		report->logged_code = 0;
		return;
	}
	if (err->kind != ERR_CONFLICT && err->code != report->logged_code) {
		level = LOG_WARN;
		report->logged_code = err->code;
	}
	log_at_(level, what, log_str("lease", report->lease), log_str("error", err->msg));
}

/* A slower request would leave no time for another one before the deadline. */
enum { REQUEST_MS = 5 * 1000 };

struct election {
	struct election_spec spec; /* its strings are the three below */
	char *ns;
	char *name;
	char *identity;
	struct elector elector;
	char *version; /* resourceVersion of the Lease as last seen; NULL: read it first */
	struct kube_call *call;
	struct clock_timer *timer;    /* for the next attempt */
	struct clock_timer *deadline; /* when we must stop leading */
	uint64_t sent_ms;
	bool started;   /* on_started was called, on_stopped not yet */
	bool stopping;  /* the Lease is to be released */
	bool releasing; /* the release is in flight */
	void (*stopped)(void *arg);
	void *stopped_arg;
	bool busy;  /* one of our callbacks is on the stack */
	bool dying; /* freed while busy: free it when the callback returns */
	struct election_report report;
};

static void on_timer(void *arg);
static void on_deadline(void *arg);
static void send_request(struct election *el, const char *method, const char *verb, json_t *body,
			 kube_done_fn *done);
static void on_got(void *arg, int result, const struct kube_response *response,
		   const struct err *err);
static void send_write(struct election *el, enum elector_act act);
static void send_release(struct election *el);

struct election *election_new(const struct election_spec *spec)
{
	struct election *el = xcalloc(1, sizeof(*el));

	el->spec = *spec;
	el->spec.ns = el->ns = xstrdup(spec->ns);
	el->spec.name = el->name = xstrdup(spec->name);
	el->spec.identity = el->elector.identity = el->identity = xstrdup(spec->identity);
	el->timer = clock_timer_new(spec->clock, on_timer, el);
	el->deadline = clock_timer_new(spec->clock, on_deadline, el);
	election_report_init(&el->report, spec->metrics, el->name, el->identity);
	return el;
}

static void release_memory(struct election *el)
{
	clock_timer_free(el->spec.clock, el->timer);
	clock_timer_free(el->spec.clock, el->deadline);
	elector_done(&el->elector);
	free(el->version);
	free(el->ns);
	free(el->name);
	free(el->identity);
	free(el);
}

struct election *election_free(struct election *el)
{
	if (!el)
		return NULL;
	if (el->call)
		kube_call_cancel(el->call);
	clock_timer_stop(el->spec.clock, el->timer);
	clock_timer_stop(el->spec.clock, el->deadline);
	el->dying = true;
	if (!el->busy)
		release_memory(el);
	return NULL;
}

/* Called at the end of every callback: completes a free or stop requested during it. */
static void callback_end(struct election *el)
{
	el->busy = false;
	if (el->dying)
		release_memory(el);
	else if (el->stopping && !el->releasing && !el->call)
		send_release(el);
}

bool election_leads(const struct election *el)
{
	return el->started && elector_may_lead(&el->elector, clock_now_ms(el->spec.clock));
}

const char *election_leader(const struct election *el)
{
	return el->elector.holder ? el->elector.holder : "";
}

/* --- owner's callbacks --- */

static void report_leading(struct election *el, bool leads)
{
	if (el->started == leads)
		return;
	el->started = leads;
	election_report_leads(&el->report, leads);
	if (leads)
		el->spec.on_started(el->spec.arg);
	else
		el->spec.on_stopped(el->spec.arg);
}

/* Call on_started or on_stopped if leadership has changed. */
static void update_leading(struct election *el)
{
	struct clock *clock = el->spec.clock;
	uint64_t now_ms = clock_now_ms(clock);
	bool leads = !el->stopping && elector_may_lead(&el->elector, now_ms);

	if (leads)
		clock_timer_start(clock, el->deadline,
				  el->elector.renewed_ms + ELECTION_RENEW_MS - now_ms);
	else
		clock_timer_stop(clock, el->deadline);
	report_leading(el, leads);
}

static void on_deadline(void *arg)
{
	struct election *el = arg;

	el->busy = true;
	update_leading(el);
	callback_end(el);
}

/* --- attempts --- */

static void attempt_schedule(struct election *el)
{
	uint64_t wait_ms = ELECTION_RETRY_MS;

	/* The leader renews at a fixed interval. The others retry a little more often and at
	 * random, so that a released Lease is taken quickly and not by all at the same time. */
	if (!el->started)
		wait_ms -= clock_random(el->spec.clock) % (ELECTION_RETRY_MS / 2 + 1);
	clock_timer_start(el->spec.clock, el->timer, wait_ms);
}

static void attempt_start(struct election *el)
{
	if (el->elector.leading && el->version)
		send_write(el, ELECTOR_RENEW);
	else
		send_request(el, "GET", "get", NULL, on_got);
}

static void stop_end(struct election *el)
{
	el->stopping = false;
	el->releasing = false;
	el->elector.leading = false;
	if (el->stopped)
		el->stopped(el->stopped_arg);
}

static void on_timer(void *arg)
{
	struct election *el = arg;

	/* After the process was suspended, this may run before the deadline's own timer. */
	el->busy = true;
	update_leading(el);
	if (el->releasing)
		stop_end(el); /* nothing to release */
	else if (!el->dying && !el->stopping)
		attempt_start(el);
	callback_end(el);
}

void election_start(struct election *el)
{
	assert(!el->call && !el->stopping);
	attempt_start(el);
}

/* A call has ended: report a change of leadership and schedule the next attempt. */
static void attempt_end(struct election *el)
{
	update_leading(el);
	if (!el->dying && !el->stopping)
		attempt_schedule(el);
}

void election_stop(struct election *el, void (*done)(void *arg), void *arg)
{
	bool nested = el->busy;

	el->busy = true;
	el->stopping = true;
	el->stopped = done;
	el->stopped_arg = arg;
	clock_timer_stop(el->spec.clock, el->timer);
	update_leading(el);
	/* The call in flight may still change the Lease, so release it afterwards. */
	if (!nested)
		callback_end(el);
}

/* --- requests --- */

static void forget_version(struct election *el)
{
	free(el->version);
	el->version = NULL;
}

/* Decode the Lease in the response and remember its version. NULL if it cannot be decoded. */
static struct lease *lease_of(struct election *el, const struct kube_response *response)
{
	struct lease *lease = xmalloc(sizeof(*lease));
	struct err err = { 0 };

	forget_version(el);
	if (json_map_read(lease_kind.map, response->body, response->body_len, lease, &err) < 0) {
		log_warn("lease unreadable", log_str("lease", el->spec.name),
			 log_str("error", err.msg));
		free(lease);
		return NULL;
	}
	el->version = xstrdup_or_null(lease->meta.resource_version);
	return lease;
}

static void send_request(struct election *el, const char *method, const char *verb, json_t *body,
			 kube_done_fn *done)
{
	auto_str struct str path = STR_INIT;
	auto_free char *text = body ? json_map_text(body) : NULL;
	bool create = strcmp(method, "POST") == 0;

	url_object(&path, &lease_kind, el->spec.ns, create ? NULL : el->spec.name, NULL);
	el->sent_ms = clock_now_ms(el->spec.clock);
	el->call =
		kube_client_send(el->spec.client,
				 &(struct kube_request){
					 .verb = verb,
					 .resource = lease_kind.plural,
					 .method = method,
					 .path = str_cstr(&path),
					 .content_type = !body    ? NULL
							 : create ? "application/json"
								  : "application/merge-patch+json",
					 .body = text,
					 .body_len = text ? strlen(text) : 0,
					 .timeout_ms = REQUEST_MS,
				 },
				 done, el);
}

static void on_written(void *arg, int result, const struct kube_response *response,
		       const struct err *err)
{
	struct election *el = arg;
	struct lease *lease = result == 0 ? lease_of(el, response) : NULL;

	el->call = NULL;
	el->busy = true;
	if (lease)
		elector_won(&el->elector, lease, el->sent_ms, clock_now_ms(el->spec.clock));
	else
		forget_version(el); /* another replica wrote it: read it in the next attempt */
	election_report_end(&el->report, "cannot write lease", result < 0 ? err : NULL);
	api_object_free(&lease_kind, lease);
	attempt_end(el);
	callback_end(el);
}

static void on_got(void *arg, int result, const struct kube_response *response,
		   const struct err *err)
{
	struct election *el = arg;
	struct lease *lease = result == 0 ? lease_of(el, response) : NULL;
	uint64_t now_ms = clock_now_ms(el->spec.clock);
	enum elector_act act = ELECTOR_WAIT;

	el->call = NULL;
	el->busy = true;
	if (lease || result == -ENOENT)
		act = elector_observe(&el->elector, lease, now_ms);
	else if (result < 0)
		election_report_end(&el->report, "cannot read lease", err);
	if (lease && act == ELECTOR_WAIT)
		election_report_end(&el->report, NULL, NULL); /* else a write follows */
	api_object_free(&lease_kind, lease);
	update_leading(el);
	if (!el->dying && !el->stopping && act != ELECTOR_WAIT)
		send_write(el, act);
	else if (!el->dying)
		attempt_end(el);
	callback_end(el);
}

/* Patch only our own fields, with resourceVersion as precondition: another replica's write wins. */
static json_t *patch_of(const struct election *el, const struct lease *lease)
{
	json_t *body = api_object_encode(&lease_kind, lease);

	json_put_text(json_object_get(body, "metadata"), "resourceVersion", el->version);
	return body;
}

static void send_write(struct election *el, enum elector_act act)
{
	struct lease *lease = api_object_new(&lease_kind);
	bool create = act == ELECTOR_CREATE;
	auto_json json_t *body = NULL;

	lease->meta.name = xstrdup(el->spec.name);
	lease->meta.namespace_ = xstrdup(el->spec.ns);
	elector_write(&el->elector, act, clock_wall_ms(el->spec.clock), &lease->spec);
	body = create ? api_object_encode(&lease_kind, lease) : patch_of(el, lease);
	send_request(el, create ? "POST" : "PATCH", create ? "create" : "patch", body, on_written);
	api_object_free(&lease_kind, lease);
}

static void on_released(void *arg, int result, const struct kube_response *response,
			const struct err *err)
{
	struct election *el = arg;

	(void)response;
	el->call = NULL;
	el->busy = true;
	if (result < 0)
		log_warn("cannot release lease, it will expire", log_str("lease", el->spec.name),
			 log_str("error", err->msg));
	forget_version(el);
	stop_end(el);
	callback_end(el);
}

static void send_release(struct election *el)
{
	struct lease *lease;
	auto_json json_t *body = NULL;

	el->releasing = true;
	if (!el->elector.leading || !el->version) {
		/* @done must not run before election_stop() has returned. */
		clock_timer_start(el->spec.clock, el->timer, 0);
		return;
	}
	lease = api_object_new(&lease_kind);
	lease->meta.name = xstrdup(el->spec.name);
	elector_write_release(&el->elector, clock_wall_ms(el->spec.clock), &lease->spec);
	body = patch_of(el, lease);
	/* The map omits empty fields, and a merge patch would leave an omitted field unchanged. */
	json_put_text(json_object_get(body, "spec"), "holderIdentity", "");
	send_request(el, "PATCH", "patch", body, on_released);
	api_object_free(&lease_kind, lease);
}
