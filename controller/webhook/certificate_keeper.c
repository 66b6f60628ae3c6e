#include "controller/webhook/certificate_keeper.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "api/json_map.h"
#include "api/secret.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/webhook/certificate_facts.h"
#include "controller/webhook/certificate_plan.h"
#include "controller/webhook/certificate_set.h"
#include "kube/apply.h"
#include "kube/clock.h"
#include "kube/informer.h"
#include "kube/metrics.h"
#include "kube/store.h"
#include "kube/workq_run.h"

/* The wall clock may be set: look at least so often. */
enum { LOOK_MS = 60 * 60 * 1000 };

static const char key[] = CERTIFICATE_KEEPER_SECRET;
static const char external[] = "cert-manager.io/certificate-name";

static const struct metric_desc end_desc = {
	.name = "hostdev_webhook_certificate_end_timestamp_seconds",
	.help = "Unix time at which the webhook's certificate expires; 0 without a certificate.",
	.type = METRIC_GAUGE,
};

struct certificate_keeper {
	struct certificate_keeper_options options; /* its texts are ours */
	char *ns;
	struct api_kind kind; /* Secret in our namespace */
	struct informer *informer;
	struct workq_run *queue;
	struct metric *end;
	struct kube_call *call;
	char *written; /* the version that our last write changed: wait for what came of it */

	work_end_fn *work_end; /* of the work under way */
	void *work_arg;
};

static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after);
static void on_synced(void *arg);
static void work(void *arg, const char *name, work_end_fn *end, void *end_arg);
static void finish(struct certificate_keeper *keeper, int result, const struct err *err);

struct certificate_keeper *certificate_keeper_new(const struct certificate_keeper_options *options)
{
	struct certificate_keeper *keeper = xcalloc(1, sizeof(*keeper));

	keeper->options = *options;
	keeper->options.hosts = (struct json_strs){ 0 };
	for (size_t i = 0; i < options->hosts.len; i++)
		json_strs_add(&keeper->options.hosts, options->hosts.items[i]);
	keeper->ns = xstrdup(options->ns);
	keeper->kind = secret_kind;
	keeper->kind.ns = keeper->ns;
	keeper->end = metrics_family(options->metrics, &end_desc);
	keeper->queue = workq_run_new(&(struct workq_run_spec){
		.name = "webhookcertificate",
		.max_running = 1,
		.work = work,
		.arg = keeper,
		.clock = options->clock,
		.metrics = options->metrics,
	});
	keeper->informer = informer_new(
		&(struct informer_deps){ options->client, options->clock, options->metrics },
		&(struct informer_spec){
			.kind = &keeper->kind,
			.field_selector = "metadata.name=" CERTIFICATE_KEEPER_SECRET,
			.handlers = { .on_change = on_change, .on_synced = on_synced },
			.arg = keeper,
		});
	return keeper;
}

struct certificate_keeper *certificate_keeper_free(struct certificate_keeper *keeper)
{
	if (!keeper)
		return NULL;
	workq_run_free(keeper->queue);
	if (keeper->call) {
		kube_call_cancel(keeper->call);
		finish(keeper, 0, NULL);
	}
	informer_free(keeper->informer);
	json_strs_done(&keeper->options.hosts);
	free(keeper->ns);
	free(keeper->written);
	free(keeper);
	return NULL;
}

void certificate_keeper_start(struct certificate_keeper *keeper)
{
	informer_start(keeper->informer);
}

void certificate_keeper_look(struct certificate_keeper *keeper)
{
	workq_run_add(keeper->queue, key);
}

const char *certificate_keeper_text(struct certificate_keeper *keeper)
{
	return informer_text(keeper->informer);
}

/* --- what the Secret says --- */

static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	struct certificate_keeper *keeper = arg;
	const struct certificate_keeper_options *o = &keeper->options;
	const struct secret *secret = after ? after->object : NULL;
	struct certificate_set set = { 0 };
	struct certificate_facts facts;

	(void)name;
	(void)before;
	if (secret)
		certificate_set_decode(&secret->data, &set);
	facts = certificate_facts_read(&set, &o->hosts, clock_wall_ms(o->clock));
	metric_set(keeper->end, facts.serves ? facts.serving.end_ms / 1000 : 0, NULL);
	o->on_set(o->arg, &set, facts.serves);
	certificate_set_done(&set);
	certificate_keeper_look(keeper);
}

static void on_synced(void *arg)
{
	certificate_keeper_look(arg);
}

/* --- what the leader makes of it --- */

static void finish(struct certificate_keeper *keeper, int result, const struct err *err)
{
	keeper->work_end(keeper->work_arg, result, err);
}

/* What is refused may be allowed later, when a namespace or a role comes: no error is for ever. */
static void on_written(void *arg, int result, const struct kube_response *response,
		       const struct err *err)
{
	struct certificate_keeper *keeper = arg;
	struct err again = { 0 };

	(void)response;
	keeper->call = NULL;
	if (result < 0) {
		again = *err;
		if (again.kind == ERR_INVALID)
			again.kind = ERR_RETRY;
		err_wrap(&again, "Secret '%s/%s'", keeper->ns, key);
		free(take_ptr(keeper->written));
	}
	finish(keeper, result, result < 0 ? &again : NULL);
}

static void set_new(json_t *object, const char *name, json_t *value)
{
	if (json_object_set_new(object, name, value) < 0)
		abort();
}

/*
 * An empty one first, which harms no other that came into being meanwhile: what it holds is written
 * only to a state that was seen. A field manager of its own, as applying leaves out what it owned.
 */
static void create(struct certificate_keeper *keeper)
{
	auto_json json_t *object = json_pack("{s:{s:{s:s}}}", "metadata", "labels",
					     "app.kubernetes.io/part-of", "hostdev");
	struct apply_request request = {
		.kind = &keeper->kind,
		.name = key,
		.field_manager = "hostdev-controller-create",
		.object = object,
	};

	keeper->call = apply_send(keeper->options.client, &request, on_written, keeper);
}

static void write_set(struct certificate_keeper *keeper, const struct certificate_set *set,
		      const char *version)
{
	struct json_pairs data = { 0 };
	json_t *fields = json_object();
	auto_json json_t *object = json_object();
	struct apply_request request = {
		.kind = &keeper->kind,
		.name = key,
		.field_manager = "hostdev-controller",
		.object = object,
	};

	certificate_set_encode(set, &data);
	for (size_t i = 0; i < data.len; i++)
		set_new(fields, data.items[i].key, json_string(data.items[i].value));
	set_new(object, "data", fields);
	set_new(object, "metadata", json_pack("{s:s}", "resourceVersion", version));
	free(keeper->written);
	keeper->written = xstrdup(version);
	keeper->call = apply_merge(keeper->options.client, &request, on_written, keeper);
	json_pairs_done(&data);
}

/* The next step with what @secret, of @version, holds. */
static void step(struct certificate_keeper *keeper, const struct secret *secret,
		 const char *version)
{
	const struct certificate_keeper_options *o = &keeper->options;
	int64_t now_ms = clock_wall_ms(o->clock);
	struct certificate_set set = { 0 };
	struct certificate_facts facts;
	enum certificate_step next;
	struct err err = { 0 };
	int64_t next_ms = now_ms;
	int r;

	certificate_set_decode(&secret->data, &set);
	facts = certificate_facts_read(&set, &o->hosts, now_ms);
	next = certificate_plan(&facts, o->trusted(o->arg), now_ms, &next_ms);
	if (next == CERTIFICATE_KEEP) {
		uint64_t wait_ms = (uint64_t)(next_ms - now_ms);

		workq_run_add_after(keeper->queue, key, wait_ms < LOOK_MS ? wait_ms : LOOK_MS);
		certificate_set_done(&set);
		finish(keeper, 0, NULL);
		return;
	}
	log_info("webhook certificate", log_str("step", certificate_step_text(next)));
	r = certificate_set_do(&set, next, &o->hosts, now_ms, &err);
	if (r == 0)
		write_set(keeper, &set, version);
	certificate_set_done(&set);
	if (r < 0)
		finish(keeper, r, &err);
}

static bool may_write(const struct certificate_keeper *keeper, const struct entry *entry)
{
	const struct secret *secret = entry ? entry->object : NULL;

	if (!informer_synced(keeper->informer) || !keeper->options.leads(keeper->options.arg))
		return false;
	if (!entry)
		return true;
	return secret && !api_meta_annotation(&secret->meta, external) &&
	       !(keeper->written && strcmp(entry->version, keeper->written) == 0);
}

static void work(void *arg, const char *name, work_end_fn *end, void *end_arg)
{
	struct certificate_keeper *keeper = arg;
	const struct entry *entry = store_get(informer_store(keeper->informer), name);
	const struct secret *secret = entry ? entry->object : NULL;

	keeper->work_end = end;
	keeper->work_arg = end_arg;
	if (!may_write(keeper, entry))
		finish(keeper, 0, NULL);
	else if (!entry)
		create(keeper);
	else
		step(keeper, secret, entry->version);
}
