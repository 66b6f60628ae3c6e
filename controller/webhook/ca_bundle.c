#include "controller/webhook/ca_bundle.h"

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "api/json_map.h"
#include "api/webhookconfiguration.h"
#include "base/base64.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "kube/apply.h"
#include "kube/clock.h"
#include "kube/informer.h"
#include "kube/store.h"
#include "kube/workq_run.h"

enum { KINDS = 2 };

static const struct api_kind *const kinds[KINDS] = {
	&validatingwebhookconfiguration_kind,
	&mutatingwebhookconfiguration_kind,
};

/* The configuration of one kind. */
struct side {
	struct ca_bundle *bundle;
	const struct api_kind *kind; /* its plural is the queue's key */
	struct informer *informer;
	struct kube_call *call;

	work_end_fn *work_end; /* of the work under way */
	void *work_arg;
};

struct ca_bundle {
	struct ca_bundle_options options;
	struct side sides[KINDS];
	struct workq_run *queue;
	char *base64; /* what is to be; NULL: unknown */
	bool trusted; /* when it was last looked at   */
};

static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after);
static void on_synced(void *arg);
static void work(void *arg, const char *key, work_end_fn *end, void *end_arg);

struct ca_bundle *ca_bundle_new(const struct ca_bundle_options *options)
{
	struct ca_bundle *bundle = xcalloc(1, sizeof(*bundle));

	bundle->options = *options;
	bundle->queue = workq_run_new(&(struct workq_run_spec){
		.name = "webhookconfigurations",
		.max_running = KINDS,
		.work = work,
		.arg = bundle,
		.clock = options->clock,
		.metrics = options->metrics,
	});
	for (size_t i = 0; i < KINDS; i++) {
		struct side *side = &bundle->sides[i];

		side->bundle = bundle;
		side->kind = kinds[i];
		side->informer = informer_new(
			&(struct informer_deps){ options->client, options->clock,
						 options->metrics },
			&(struct informer_spec){
				.kind = side->kind,
				.field_selector = "metadata.name=" CA_BUNDLE_CONFIGURATION,
				.handlers = { .on_change = on_change, .on_synced = on_synced },
				.arg = side,
			});
	}
	return bundle;
}

struct ca_bundle *ca_bundle_free(struct ca_bundle *bundle)
{
	if (!bundle)
		return NULL;
	workq_run_free(bundle->queue);
	for (size_t i = 0; i < KINDS; i++) {
		struct side *side = &bundle->sides[i];

		if (side->call) {
			kube_call_cancel(side->call);
			side->work_end(side->work_arg, 0, NULL);
		}
		informer_free(side->informer);
	}
	free(bundle->base64);
	free(bundle);
	return NULL;
}

void ca_bundle_start(struct ca_bundle *bundle)
{
	for (size_t i = 0; i < KINDS; i++)
		informer_start(bundle->sides[i].informer);
}

void ca_bundle_look(struct ca_bundle *bundle)
{
	for (size_t i = 0; i < KINDS; i++)
		workq_run_add(bundle->queue, bundle->sides[i].kind->plural);
}

static const struct entry *entry_of(const struct side *side)
{
	return store_get(informer_store(side->informer), CA_BUNDLE_CONFIGURATION);
}

static bool has_bundle(const struct webhookconfiguration *configuration, const char *base64)
{
	for (size_t i = 0; i < configuration->webhooks.len; i++) {
		const char *has = configuration->webhooks.items[i].client_config.ca_bundle;

		if (!has || strcmp(has, base64) != 0)
			return false;
	}
	return true;
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

static void tell_trusted(struct ca_bundle *bundle)
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

	(void)name;
	(void)before;
	(void)after;
	workq_run_add(side->bundle->queue, side->kind->plural);
	tell_trusted(side->bundle);
}

static void on_synced(void *arg)
{
	on_change(arg, NULL, NULL, NULL);
}

void ca_bundle_set(struct ca_bundle *bundle, const char *pem)
{
	free(bundle->base64);
	bundle->base64 = pem ? base64_encode(pem, strlen(pem)) : NULL;
	ca_bundle_look(bundle);
	tell_trusted(bundle);
}

static void on_written(void *arg, int result, const struct kube_response *response,
		       const struct err *err)
{
	struct side *side = arg;
	struct err again = { 0 };

	(void)response;
	side->call = NULL;
	if (result < 0) {
		again = *err;
		/* A role may come later: no error is for ever. */
		if (again.kind == ERR_INVALID)
			again.kind = ERR_RETRY;
		err_wrap(&again, "caBundle of %s '%s'", side->kind->kind, CA_BUNDLE_CONFIGURATION);
	}
	side->work_end(side->work_arg, result, result < 0 ? &again : NULL);
}

/* Of each webhook what is ours: a list by name, so that all else stays with whoever wrote it. */
static json_t *encode(const struct webhookconfiguration *configuration, const char *base64)
{
	json_t *webhooks = json_array();

	for (size_t i = 0; i < configuration->webhooks.len; i++) {
		json_t *webhook =
			json_pack("{s:s, s:{s:s}}", "name", configuration->webhooks.items[i].name,
				  "clientConfig", "caBundle", base64);

		if (json_array_append_new(webhooks, webhook) < 0)
			abort();
	}
	return json_pack("{s:{s:s}, s:o}", "metadata", "resourceVersion",
			 configuration->meta.resource_version, "webhooks", webhooks);
}

static void write_bundle(struct side *side, const struct webhookconfiguration *configuration)
{
	auto_json json_t *object = encode(configuration, side->bundle->base64);
	struct apply_request request = {
		.kind = side->kind,
		.name = CA_BUNDLE_CONFIGURATION,
		.field_manager = "hostdev-controller",
		.force = true,
		.object = object,
	};

	log_info("caBundle", log_str("kind", side->kind->kind),
		 log_str("name", CA_BUNDLE_CONFIGURATION));
	side->call = apply_send(side->bundle->options.client, &request, on_written, side);
}

static struct side *side_of(struct ca_bundle *bundle, const char *key)
{
	size_t i = 0;

	while (strcmp(bundle->sides[i].kind->plural, key) != 0)
		i++;
	return &bundle->sides[i];
}

static void work(void *arg, const char *key, work_end_fn *end, void *end_arg)
{
	struct ca_bundle *bundle = arg;
	struct side *side = side_of(bundle, key);
	const struct entry *entry = entry_of(side);

	side->work_end = end;
	side->work_arg = end_arg;
	if (bundle->base64 && entry && entry->object &&
	    bundle->options.leads(bundle->options.arg) &&
	    !has_bundle(entry->object, bundle->base64))
		write_bundle(side, entry->object);
	else
		end(end_arg, 0, NULL);
}
