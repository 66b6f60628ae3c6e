#include "controller/webhook/ca_bundle.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "api/json_map.h"
#include "api/webhookconfiguration.h"
#include "base/base64.h"
#include "base/log.h"
#include "base/mem.h"
#include "kube/informer.h"
#include "kube/reconcile.h"
#include "kube/store.h"

enum { KINDS = 2 };

static const struct api_kind *const kinds[KINDS] = {
	&validatingwebhookconfiguration_kind,
	&mutatingwebhookconfiguration_kind,
};

/* The configuration of one kind. */
struct side {
	struct ca_bundle *bundle;
	const struct api_kind *kind;
	struct informer *informer;
	struct reconcile *reconcile;
};

struct ca_bundle {
	struct ca_bundle_options options;
	struct side sides[KINDS];
	char *base64; /* the desired caBundle; NULL: unknown */
	bool trusted; /* as last checked */
};

static bool has_bundle(const struct webhookconfiguration *configuration, const char *base64)
{
	for (size_t i = 0; i < configuration->webhooks.len; i++) {
		const char *has = configuration->webhooks.items[i].client_config.ca_bundle;

		if (!has || strcmp(has, base64) != 0)
			return false;
	}
	return true;
}

static const struct entry *entry_of(const struct side *side)
{
	return store_get(informer_store(side->informer), CA_BUNDLE_CONFIGURATION);
}

bool ca_bundle_trusted(const struct ca_bundle *bundle)
{
	if (!bundle->base64)
		return false;
	for (size_t i = 0; i < KINDS; i++) {
		const struct entry *entry = entry_of(&bundle->sides[i]);

		if (!informer_synced(bundle->sides[i].informer))
			return false;
		if (entry && (!entry->object || !has_bundle(entry->object, bundle->base64)))
			return false;
	}
	return true;
}

/* --- callbacks of struct reconcile_spec --- */

static bool has_certificate(void *arg)
{
	const struct side *side = arg;

	return side->bundle->base64;
}

/* Only our field of each webhook: the list is merged by name, so other fields keep their owner. */
static json_t *encode(const struct webhookconfiguration *configuration, const char *base64)
{
	json_t *webhooks = json_array();

	for (size_t i = 0; i < configuration->webhooks.len; i++) {
		json_t *webhook =
			json_pack("{s:s, s:{s:s}}", "name", configuration->webhooks.items[i].name,
				  "clientConfig", "caBundle", base64);

		json_add(webhooks, webhook);
	}
	return json_pack("{s:{s:s}, s:o}", "metadata", "resourceVersion",
			 configuration->meta.resource_version, "webhooks", webhooks);
}

static void plan_bundle(void *arg, const struct reconcile_view *view, struct decision *ret_decision)
{
	const struct side *side = arg;

	if (has_bundle(view->object, side->bundle->base64))
		return;
	ret_decision->step = STEP_APPLY;
	ret_decision->body = encode(view->object, side->bundle->base64);
}

static void log_step(void *arg, const struct reconcile_view *view, const struct decision *decision)
{
	const struct side *side = arg;

	(void)decision;
	log_info("caBundle", log_str("kind", side->kind->kind), log_str("name", view->key));
}

/* --- the module's functions --- */

static void report_trusted(struct ca_bundle *bundle)
{
	bool before = bundle->trusted;

	bundle->trusted = ca_bundle_trusted(bundle);
	if (bundle->trusted && !before)
		bundle->options.on_trusted(bundle->options.arg);
}

static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	struct side *side = arg;

	(void)before;
	(void)after;
	reconcile_changed(side->reconcile, name);
	report_trusted(side->bundle);
}

static void on_synced(void *arg)
{
	struct side *side = arg;

	report_trusted(side->bundle);
}

void ca_bundle_enqueue(struct ca_bundle *bundle)
{
	for (size_t i = 0; i < KINDS; i++)
		reconcile_enqueue_all(bundle->sides[i].reconcile);
}

void ca_bundle_set(struct ca_bundle *bundle, const char *pem)
{
	free(bundle->base64);
	bundle->base64 = pem ? base64_encode(pem, strlen(pem)) : NULL;
	ca_bundle_enqueue(bundle);
	report_trusted(bundle);
}

void ca_bundle_start(struct ca_bundle *bundle)
{
	for (size_t i = 0; i < KINDS; i++)
		informer_start(bundle->sides[i].informer);
}

static void open_side(struct side *side)
{
	const struct ca_bundle_options *options = &side->bundle->options;

	side->informer = informer_new(
		&(struct informer_deps){ options->client, options->clock, options->metrics },
		&(struct informer_spec){
			.kind = side->kind,
			.field_selector = "metadata.name=" CA_BUNDLE_CONFIGURATION,
			.handlers = { .on_change = on_change, .on_synced = on_synced },
			.arg = side,
		});
	side->reconcile = reconcile_new(&(struct reconcile_spec){
		.name = side->kind->plural,
		.kind = side->kind,
		.objects = side->informer,
		.field_manager = "hostdev-controller",
		.max_running = 1,
		.insists = true,
		.is_ready = has_certificate,
		.leads = options->leads,
		.leads_arg = options->arg,
		.plan = plan_bundle,
		.before = log_step,
		.arg = side,
		.client = options->client,
		.clock = options->clock,
		.metrics = options->metrics,
	});
}

struct ca_bundle *ca_bundle_new(const struct ca_bundle_options *options)
{
	struct ca_bundle *bundle = xcalloc(1, sizeof(*bundle));

	bundle->options = *options;
	for (size_t i = 0; i < KINDS; i++) {
		bundle->sides[i] = (struct side){ .bundle = bundle, .kind = kinds[i] };
		open_side(&bundle->sides[i]);
	}
	return bundle;
}

struct ca_bundle *ca_bundle_free(struct ca_bundle *bundle)
{
	if (!bundle)
		return NULL;
	for (size_t i = 0; i < KINDS; i++) {
		reconcile_free(bundle->sides[i].reconcile);
		informer_free(bundle->sides[i].informer);
	}
	free(bundle->base64);
	free(bundle);
	return NULL;
}
