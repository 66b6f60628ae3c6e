#include "controller/webhook/certificate_keeper.h"

#include <stdlib.h>

#include <jansson.h>

#include "api/json_map.h"
#include "api/patch.h"
#include "api/secret.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/webhook/certificate.h"
#include "kube/clock.h"
#include "kube/informer.h"
#include "kube/metrics.h"
#include "kube/reconcile.h"
#include "kube/store.h"

/* Plan at least this often, because the wall clock may be set. */
enum { AGAIN_MS = 60 * 60 * 1000 };

static const char key[] = CERTIFICATE_KEEPER_SECRET;
static const char external[] = "cert-manager.io/certificate-name";

static const struct metric_desc end_desc = {
	.name = "hostdev_webhook_certificate_end_timestamp_seconds",
	.help = "Unix time at which the webhook's certificate expires; 0 without a certificate.",
	.type = METRIC_GAUGE,
};

struct certificate_keeper {
	struct certificate_keeper_options options; /* its strings are copies */
	char *ns;
	struct api_kind kind; /* Secret in our namespace */
	struct informer *informer;
	struct reconcile *reconcile;
	struct metric *end;
};

/* --- content of the Secret --- */

static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	struct certificate_keeper *keeper = arg;
	const struct certificate_keeper_options *o = &keeper->options;
	const struct secret *secret = after ? after->object : NULL;
	struct certificate_set set = { 0 };
	struct certificate_facts facts;

	(void)before;
	if (secret)
		certificate_set_decode(&secret->data, &set);
	facts = certificate_facts_read(&set, &o->hosts, clock_wall_ms(o->clock));
	metric_set(keeper->end, facts.serves ? facts.serving.end_ms / 1000 : 0, NULL);
	o->on_set(o->arg, &set, facts.serves);
	certificate_set_done(&set);
	reconcile_changed(keeper->reconcile, name);
}

static void on_synced(void *arg)
{
	certificate_keeper_enqueue(arg);
}

/* --- callbacks of struct reconcile_spec --- */

static bool is_ours(void *arg, const char *name, const void *object)
{
	const struct secret *secret = object;

	(void)arg;
	(void)name;
	return !secret || !api_meta_annotation(&secret->meta, external);
}

/*
 * Create an empty Secret first, so that a concurrent creation does no harm: content is only written
 * with a known resourceVersion. The creation uses a field manager of its own, because a later apply
 * would remove fields that it owned and omits.
 */
static void plan_creation(struct decision *ret_decision)
{
	ret_decision->step = STEP_APPLY;
	ret_decision->manager = "hostdev-controller-create";
	ret_decision->body = json_pack("{s:{s:{s:s}}}", "metadata", "labels",
				       "app.kubernetes.io/part-of", "hostdev");
}

static json_t *body_of(const struct reconcile_view *view, const struct certificate_set *set)
{
	json_t *body = patch_new_at(view->uid, view->version);
	json_t *fields = json_object();
	struct json_pairs data = { 0 };

	certificate_set_encode(set, &data);
	for (size_t i = 0; i < data.len; i++)
		json_put_text(fields, data.items[i].key, data.items[i].value);
	json_put(body, "data", fields);
	json_pairs_done(&data);
	return body;
}

/* The next step, based on the Secret's content. */
static void plan_secret(void *arg, const struct reconcile_view *view, struct decision *ret_decision)
{
	const struct certificate_keeper *keeper = arg;
	const struct certificate_keeper_options *o = &keeper->options;
	const struct secret *secret = view->object;
	struct certificate_set set = { 0 };
	struct certificate_facts facts;
	enum certificate_step next;
	int64_t next_ms = view->now_wall_ms;

	if (!secret) {
		plan_creation(ret_decision);
		return;
	}
	certificate_set_decode(&secret->data, &set);
	facts = certificate_facts_read(&set, &o->hosts, view->now_wall_ms);
	next = certificate_plan(&facts, o->trusted(o->arg), view->now_wall_ms, &next_ms);
	if (next == CERTIFICATE_KEEP) {
		uint64_t wait_ms = (uint64_t)(next_ms - view->now_wall_ms);

		ret_decision->again_ms = wait_ms < AGAIN_MS ? wait_ms : AGAIN_MS;
	} else if (certificate_set_apply(&set, next, &o->hosts, view->now_wall_ms,
					 &ret_decision->failure) == 0) {
		ret_decision->step = STEP_PATCH;
		ret_decision->detail = (int)next;
		ret_decision->body = body_of(view, &set);
	}
	certificate_set_done(&set);
}

static void log_step(void *arg, const struct reconcile_view *view, const struct decision *decision)
{
	(void)arg;
	(void)view;
	if (decision->step == STEP_PATCH)
		log_info("webhook certificate",
			 log_str("step",
				 certificate_step_text((enum certificate_step)decision->detail)));
}

/* --- the module's functions --- */

void certificate_keeper_start(struct certificate_keeper *keeper)
{
	informer_start(keeper->informer);
}

void certificate_keeper_enqueue(struct certificate_keeper *keeper)
{
	reconcile_enqueue(keeper->reconcile, key);
}

const char *certificate_keeper_text(struct certificate_keeper *keeper)
{
	return informer_text(keeper->informer);
}

static void open_reconcile(struct certificate_keeper *keeper)
{
	const struct certificate_keeper_options *o = &keeper->options;

	keeper->informer =
		informer_new(&(struct informer_deps){ o->client, o->clock, o->metrics },
			     &(struct informer_spec){
				     .kind = &keeper->kind,
				     .field_selector = "metadata.name=" CERTIFICATE_KEEPER_SECRET,
				     .handlers = { .on_change = on_change, .on_synced = on_synced },
				     .arg = keeper,
			     });
	keeper->reconcile = reconcile_new(&(struct reconcile_spec){
		.name = "webhookcertificate",
		.kind = &keeper->kind,
		.objects = keeper->informer,
		.field_manager = "hostdev-controller",
		.max_running = 1,
		.insists = true,
		.leads = o->leads,
		.leads_arg = o->arg,
		.is_ours = is_ours,
		.plan = plan_secret,
		.before = log_step,
		.arg = keeper,
		.client = o->client,
		.clock = o->clock,
		.metrics = o->metrics,
	});
}

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
	open_reconcile(keeper);
	return keeper;
}

struct certificate_keeper *certificate_keeper_free(struct certificate_keeper *keeper)
{
	if (!keeper)
		return NULL;
	reconcile_free(keeper->reconcile);
	informer_free(keeper->informer);
	json_strs_done(&keeper->options.hosts);
	free(keeper->ns);
	free(keeper);
	return NULL;
}
