#include "fake/fake_reconcile.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kind.h"
#include "api/meta.h"
#include "base/array.h"
#include "base/map.h"
#include "base/mem.h"
#include "fake/fake_server.h"
#include "kube/clock.h"
#include "kube/events.h"
#include "kube/expectations.h"
#include "kube/informer.h"
#include "kube/reconcile.h"
#include "kube/store.h"

/* What has happened to one key. */
struct known {
	char *key;
	bool acting;
	bool acted;     /* and nothing has been planned since   */
	unsigned plans; /* of the run                           */
	long version;   /* that the API server has answered     */
	const struct fake_server *server;
	uint64_t answered_ms; /* 0: that is not waited for any more   */
	/* The last decision. */
	enum step step;
	char *reason; /* of its event; NULL: none             */
	int status;   /* of its answer; 0: there is none yet  */
	bool done;
	bool reports; /* a status is under way while it acts  */
	bool told;
};

struct slot {
	struct known *known;
};

struct judged {
	struct reconcile *reconcile;
	struct reconcile_spec spec; /* the kind's own */
	ARRAY(struct slot) keys;
};

struct judged_slot {
	struct judged *judged;
};

static struct {
	bool on;
	bool random_bodies;
	ARRAY(struct judged_slot) all;
} judge;

struct reconcile *__real_reconcile_new(const struct reconcile_spec *spec);
struct reconcile *__real_reconcile_free(struct reconcile *reconcile);
void __real_reconcile_changed(struct reconcile *reconcile, const char *key);
void __real_reconcile_acted(struct reconcile *reconcile, const char *key);
void __real_reconcile_failed(struct reconcile *reconcile, const char *key, const struct err *err);
void __real_events_record(struct events *events, const struct events_about *about,
			  enum events_type type, const char *reason, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

struct reconcile *__wrap_reconcile_new(const struct reconcile_spec *spec);
struct reconcile *__wrap_reconcile_free(struct reconcile *reconcile);
void __wrap_reconcile_changed(struct reconcile *reconcile, const char *key);
void __wrap_reconcile_acted(struct reconcile *reconcile, const char *key);
void __wrap_reconcile_failed(struct reconcile *reconcile, const char *key, const struct err *err);
void __wrap_events_record(struct events *events, const struct events_about *about,
			  enum events_type type, const char *reason, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* --- what is known ---------------------------------------------------------------------------- */

static struct known *known_of(struct judged *j, const char *key)
{
	struct known *k;

	for (size_t i = 0; i < j->keys.len; i++) {
		if (strcmp(j->keys.items[i].known->key, key) == 0)
			return j->keys.items[i].known;
	}
	k = xcalloc(1, sizeof(*k));
	k->key = xstrdup(key);
	array_add(&j->keys)->known = k;
	return k;
}

/* Versions of fake_server are numbers, each greater than those before. */
static long number_of(const char *version)
{
	return version ? strtol(version, NULL, 10) : 0;
}

static long cached_version(const struct judged *j, const char *key)
{
	const struct entry *entry = store_get(reconcile_store(j->reconcile), key);

	return entry ? number_of(entry->version) : 0;
}

static uint64_t now_ms(const struct judged *j)
{
	return clock_now_ms(j->spec.clock);
}

/* The watch has shown a change. An object that is removed ends what was waited for:
 * expectations.h. */
static void hear(struct judged *j, const char *key)
{
	if (j && !store_get(reconcile_store(j->reconcile), key))
		known_of(j, key)->answered_ms = 0;
}

/* Is the request the one that was decided on? The kind reads and writes objects otherwise, too. */
static bool is_asked(const struct judged *j, const struct known *k, const struct fake_asked *asked)
{
	const char *slash = strchr(k->key, '/');

	return strcmp(j->spec.kind->plural, asked->kind->plural) == 0 &&
	       strcmp(slash ? slash + 1 : k->key, asked->name) == 0 &&
	       (k->reports || (k->step != STEP_REST && !k->done));
}

/* An answer is about to be given. */
static void hear_answer(const struct judged *j, struct known *k, const struct fake_asked *asked)
{
	k->status = asked->status;
	k->reports = false;
	if (!*asked->version)
		return;
	k->version = number_of(asked->version);
	k->answered_ms = now_ms(j);
}

static void on_asked(void *arg, const struct fake_asked *asked)
{
	for (size_t i = 0; i < judge.all.len; i++) {
		struct judged *j = judge.all.items[i].judged;

		for (size_t n = 0; n < j->keys.len; n++) {
			struct known *k = j->keys.items[n].known;

			if (!is_asked(j, k, asked))
				continue;
			k->server = fake_server_of(arg, asked->kind->plural);
			hear_answer(j, k, asked);
		}
	}
}

/* --- the kind's callbacks --------------------------------------------------------------------- */

static bool is_ready(void *arg)
{
	const struct judged *j = arg;

	return !j->spec.is_ready || j->spec.is_ready(j->spec.arg);
}

static bool is_ours(void *arg, const char *key, const void *object)
{
	const struct judged *j = arg;

	return j->spec.is_ours(j->spec.arg, key, object);
}

static void check_all_is_there(const struct judged *j)
{
	assert(!j->spec.is_ready || j->spec.is_ready(j->spec.arg));
	assert(!j->spec.leads || j->spec.leads(j->spec.leads_arg));
	assert(reconcile_is_synced(j->reconcile, NULL));
	for (const struct informer *const *need = j->spec.needs; need && *need; need++)
		assert(informer_synced(*need));
}

/* Is the cache, which the view is of, behind the last answer? */
static bool is_behind(const struct judged *j, const struct known *k,
		      const struct reconcile_view *view)
{
	if (view->fresh || k->answered_ms == 0 || now_ms(j) - k->answered_ms >= EXPECTATIONS_MS)
		return false;
	return view->version && number_of(view->version) < k->version;
}

/* Is what the API server is said to have answered what it has answered? */
static bool is_answer(const struct known *k, const struct reconcile_view *view)
{
	const char *slash = strchr(k->key, '/');

	if (view->version)
		return number_of(view->version) == k->version;
	return !fake_server_get(k->server, slash ? slash + 1 : k->key);
}

static void decide(const struct judged *j, const struct reconcile_view *view, struct decision *d)
{
	struct decision again = { 0 };

	j->spec.plan(j->spec.arg, view, d);
	j->spec.plan(j->spec.arg, view, &again);
	assert(again.step == d->step && again.detail == d->detail);
	assert(!again.body == !d->body);
	assert(judge.random_bodies || !d->body || json_equal(again.body, d->body));
	assert(strcmp(again.event_reason ? again.event_reason : "",
		      d->event_reason ? d->event_reason : "") == 0);
	json_decref(again.body);
	free(again.event_reason);
	free(again.event_message);
	if (again.job && again.job_free)
		again.job_free(again.job);
}

static void plan(void *arg, const struct reconcile_view *view, struct decision *d)
{
	struct judged *j = arg;
	struct known *k = known_of(j, view->key);

	check_all_is_there(j);
	assert(k->acting == view->acting);
	if (view->acting) {
		decide(j, view, d);
		k->reports = d->step != STEP_REST;
		return;
	}
	if (!view->fresh)
		k->plans = 0;
	assert(++k->plans <= RECONCILE_STEPS_MAX);
	assert(!is_behind(j, k, view));
	assert(!view->fresh || view->last == STEP_ACT || is_answer(k, view));
	if (k->acted && view->version)
		assert(number_of(view->version) >= cached_version(j, view->key));
	k->acted = false;
	decide(j, view, d);
	k->step = d->step;
	free(k->reason);
	k->reason = xstrdup_or_null(d->event_reason);
	k->status = 0;
	k->done = k->told = false;
}

static void before(void *arg, const struct reconcile_view *view, const struct decision *decision)
{
	struct judged *j = arg;
	struct known *k = known_of(j, view->key);

	k->step = decision->step;
	if (!decision->event_reason)
		free(take_ptr(k->reason)); /* the object is read before */
	if (j->spec.before)
		j->spec.before(j->spec.arg, view, decision);
}

static bool has_succeeded(const struct known *k, enum step step)
{
	return (k->status >= 200 && k->status < 300) ||
	       (k->status == 404 && (step == STEP_READ || step == STEP_DELETE));
}

static void after(void *arg, const struct reconcile_view *view, const struct decision *decision)
{
	struct judged *j = arg;
	struct known *k = known_of(j, view->key);

	assert(!k->done && !k->acting);
	assert(decision->step == STEP_ACT || has_succeeded(k, decision->step));
	k->done = true;
	if (j->spec.after)
		j->spec.after(j->spec.arg, view, decision);
}

static bool act(void *arg, const struct reconcile_view *view, const struct decision *decision)
{
	struct judged *j = arg;
	struct known *k = known_of(j, view->key);

	assert(view->fresh && !k->acting);
	assert(!view->version || number_of(view->version) >= cached_version(j, view->key));
	assert(!view->version || number_of(view->version) == k->version);
	k->acting = j->spec.act(j->spec.arg, view, decision);
	return k->acting;
}

static void rested(void *arg, const char *key, const void *object, const struct decision *decision)
{
	const struct judged *j = arg;

	if (j->spec.rested)
		j->spec.rested(j->spec.arg, key, object, decision);
}

static void on_change(void *arg, const char *key, const struct entry *was, const struct entry *is)
{
	struct judged *j = arg;

	hear(j, key);
	if (j->spec.on_change)
		j->spec.on_change(j->spec.arg, key, was, is);
}

static void on_synced(void *arg)
{
	const struct judged *j = arg;

	if (j->spec.on_synced)
		j->spec.on_synced(j->spec.arg);
}

/* --- calls of reconcile.h and events.h -------------------------------------------------------- */

static struct judged *judged_of(const struct reconcile *reconcile)
{
	for (size_t i = 0; i < judge.all.len; i++) {
		if (judge.all.items[i].judged->reconcile == reconcile)
			return judge.all.items[i].judged;
	}
	return NULL;
}

struct reconcile *__wrap_reconcile_new(const struct reconcile_spec *spec)
{
	struct reconcile_spec ours = *spec;
	struct judged *j;

	if (!judge.on)
		return __real_reconcile_new(spec);
	j = xcalloc(1, sizeof(*j));
	j->spec = *spec;
	ours.is_ready = is_ready;
	ours.is_ours = spec->is_ours ? is_ours : NULL;
	ours.plan = plan;
	ours.before = before;
	ours.after = after;
	ours.act = spec->act ? act : NULL;
	ours.rested = rested;
	ours.on_change = on_change;
	ours.on_synced = on_synced;
	ours.arg = j;
	j->reconcile = __real_reconcile_new(&ours);
	array_add(&judge.all)->judged = j;
	return j->reconcile;
}

struct reconcile *__wrap_reconcile_free(struct reconcile *reconcile)
{
	struct judged *j = reconcile ? judged_of(reconcile) : NULL;

	reconcile = __real_reconcile_free(reconcile);
	if (!j)
		return reconcile;
	for (size_t i = 0; i < judge.all.len; i++) {
		if (judge.all.items[i].judged == j)
			judge.all.items[i] = judge.all.items[--judge.all.len];
	}
	for (size_t i = 0; i < j->keys.len; i++) {
		free(j->keys.items[i].known->key);
		free(j->keys.items[i].known->reason);
		free(j->keys.items[i].known);
	}
	array_done(&j->keys);
	free(j);
	return reconcile;
}

/* The kind says that its act has ended. */
static void end_act(const struct reconcile *reconcile, const char *key)
{
	struct judged *j = judged_of(reconcile);

	if (!j)
		return;
	assert(known_of(j, key)->acting);
	known_of(j, key)->acting = false;
	known_of(j, key)->acted = true;
}

void __wrap_reconcile_changed(struct reconcile *reconcile, const char *key)
{
	hear(judged_of(reconcile), key);
	__real_reconcile_changed(reconcile, key);
}

void __wrap_reconcile_acted(struct reconcile *reconcile, const char *key)
{
	end_act(reconcile, key);
	__real_reconcile_acted(reconcile, key);
}

void __wrap_reconcile_failed(struct reconcile *reconcile, const char *key, const struct err *err)
{
	end_act(reconcile, key);
	__real_reconcile_failed(reconcile, key, err);
}

/* An event that was decided on comes after its step, once. */
static void check_event(const struct events *events, const struct events_about *about,
			const char *reason)
{
	for (size_t i = 0; i < judge.all.len; i++) {
		struct judged *j = judge.all.items[i].judged;
		auto_free char *key =
			about->meta->namespace_
				? xasprintf("%s/%s", about->meta->namespace_, about->meta->name)
				: xstrdup(about->meta->name);
		struct known *k;

		if (j->spec.events != events || about->kind != j->spec.kind)
			continue;
		k = known_of(j, key);
		if (!k->reason || strcmp(k->reason, reason) != 0)
			continue;
		assert(k->done && !k->told);
		k->told = true;
	}
}

void __wrap_events_record(struct events *events, const struct events_about *about,
			  enum events_type type, const char *reason, const char *fmt, ...)
{
	char text[EVENTS_MESSAGE_MAX];
	va_list args;

	check_event(events, about, reason);
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	__real_events_record(events, about, type, reason, "%s", text);
}

void fake_reconcile_begin(void)
{
	judge.on = true;
	judge.random_bodies = false;
	judge.all.len = 0; /* a test that failed leaves some */
}

void fake_reconcile_end(void)
{
	assert(judge.all.len == 0);
	array_done(&judge.all);
	judge.on = false;
}

void fake_reconcile_allow_random_bodies(void)
{
	judge.random_bodies = true;
}

void fake_reconcile_listen(struct fake_server *server)
{
	fake_server_listen(server, on_asked, server);
}
