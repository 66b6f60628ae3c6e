#include "controller/kubevirt/permits.h"

#include <stdlib.h>
#include <string.h>

#include "api/hostdeviceconfig.h"
#include "api/json_map.h"
#include "api/kubevirt.h"
#include "base/json_read.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/kubevirt/kubevirt.h"
#include "controller/kubevirt/permit_desired.h"
#include "controller/kubevirt/permit_plan.h"
#include "kube/informer.h"
#include "kube/reconcile.h"
#include "kube/store.h"

struct permits {
	const struct kubevirt_env *env;
	struct reconcile *reconcile; /* of KubeVirts, by "namespace/name" */
	char *clash;                 /* found by the last plan; NULL: none */
	char *logged_clash;          /* last one logged; NULL: none */
};

/* What a patch changes, for the log. */
struct permit_counts {
	size_t added;
	size_t removed;
	size_t mended;
};

/* --- callbacks of struct reconcile_spec --- */

static bool is_ready(void *arg)
{
	const struct permits *permits = arg;

	return permits->env->ready(permits->env->arg);
}

static bool is_to_be_kept(void *arg, const char *key, const void *object)
{
	const struct kubevirt *kubevirt = object;

	(void)arg;
	(void)key;
	return kubevirt && !kubevirt->meta.deletion_timestamp;
}

static void decide_patch(const struct reconcile_view *view, struct permit_plan *planned,
			 struct decision *ret_decision)
{
	struct permit_counts *counts = xcalloc(1, sizeof(*counts));

	*counts = (struct permit_counts){ planned->added, planned->removed, planned->mended };
	ret_decision->step = STEP_PATCH;
	ret_decision->body = take_ptr(planned->patch);
	json_object_set_new(json_object_get(ret_decision->body, "metadata"), "uid",
			    json_string(view->uid));
	ret_decision->job = counts;
	ret_decision->job_free = free;
}

/* Works on the complete object, because other parts must not change. Stores the clash for
 * rested(). */
static void plan_kubevirt(void *arg, const struct reconcile_view *view,
			  struct decision *ret_decision)
{
	struct permits *permits = arg;
	const struct kubevirt_env *env = permits->env;
	auto_json json_t *object = NULL;
	struct permit_desired desired = { 0 };
	struct permit_plan planned;

	if (!view->fresh) {
		ret_decision->step = STEP_READ;
		return;
	}
	if (json_map_load(view->text->text, view->text->len, &object, &ret_decision->failure) < 0)
		return;
	permit_desired_compute(env->stores, store_object(env->config, HOSTDEVICECONFIG_NAME),
			       &desired);
	permit_plan(object, &desired, env->create, &planned);
	permit_desired_done(&desired);
	free(permits->clash);
	permits->clash = take_ptr(planned.clash);
	if (planned.patch)
		decide_patch(view, &planned, ret_decision);
	permit_plan_done(&planned);
}

static void log_patch(void *arg, const struct reconcile_view *view, const struct decision *decision)
{
	const struct permit_counts *counts = decision->job;

	(void)arg;
	if (counts)
		log_info("permittedHostDevices", log_str("kubevirt", view->key),
			 log_int("added", counts->added), log_int("removed", counts->removed),
			 log_int("mended", counts->mended));
}

/* Log a clash once until it changes. */
static void log_clash(void *arg, const char *key, const void *object,
		      const struct decision *decision)
{
	struct permits *permits = arg;
	char *clash = take_ptr(permits->clash);

	(void)decision;
	if (object && clash &&
	    (!permits->logged_clash || strcmp(clash, permits->logged_clash) != 0))
		log_warn("KubeVirt serves a resource that hostdev offers, because of an entry in "
			 "permittedHostDevices that hostdev did not create: set its "
			 "externalResourceProvider, or remove it",
			 log_str("kubevirt", key), log_str("resource", clash));
	free(permits->logged_clash);
	permits->logged_clash = clash;
}

/* --- the module's functions --- */

void permits_enqueue(struct permits *permits, const char *name)
{
	reconcile_enqueue_after(permits->reconcile, name, KUBEVIRT_QUIET_MS);
}

void permits_enqueue_all(struct permits *permits)
{
	const struct entry *entry;
	size_t cursor = 0;

	while ((entry = store_next(informer_store(permits->env->kubevirts), &cursor)))
		permits_enqueue(permits, entry->name);
}

void permits_on_change(struct permits *permits, const char *name)
{
	reconcile_changed(permits->reconcile, name);
}

struct permits *permits_new(const struct kubevirt_env *env)
{
	struct permits *permits = xcalloc(1, sizeof(*permits));

	permits->env = env;
	permits->reconcile = reconcile_new(&(struct reconcile_spec){
		.name = "kubevirts",
		.kind = &kubevirt_kind,
		.objects = env->kubevirts,
		.field_manager = "hostdev-controller",
		.max_running = 1,
		.quiet_ms = KUBEVIRT_QUIET_MS,
		.is_ready = is_ready,
		.leads = env->leads,
		.leads_arg = env->leads_arg,
		.is_ours = is_to_be_kept,
		.plan = plan_kubevirt,
		.before = log_patch,
		.rested = log_clash,
		.arg = permits,
		.client = env->client,
		.clock = env->clock,
		.metrics = env->metrics,
	});
	return permits;
}

struct permits *permits_free(struct permits *permits)
{
	if (!permits)
		return NULL;
	reconcile_free(permits->reconcile);
	free(permits->clash);
	free(permits->logged_clash);
	free(permits);
	return NULL;
}

/* --- uninstall --- */

struct withdraw {
	struct kubevirt_env env;
	struct store *config; /* always empty: uninstall deletes the HostDeviceConfig first */
	struct informer *kubevirts;
	struct permits *permits;
	bool asked; /* withdraw_run() was called */
};

static bool is_asked(void *arg)
{
	const struct withdraw *withdraw = arg;

	return withdraw->asked;
}

static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	const struct withdraw *withdraw = arg;

	(void)before;
	(void)after;
	if (withdraw->asked)
		permits_on_change(withdraw->permits, name);
}

struct withdraw *withdraw_new(const struct withdraw_deps *deps)
{
	struct withdraw *withdraw = xcalloc(1, sizeof(*withdraw));

	withdraw->config = store_new(&hostdeviceconfig_kind);
	withdraw->kubevirts =
		informer_new(&(struct informer_deps){ deps->client, deps->clock, NULL },
			     &(struct informer_spec){ .kind = &kubevirt_kind,
						      .optional = true,
						      .handlers = { .on_change = on_change },
						      .arg = withdraw });
	withdraw->env = (struct kubevirt_env){
		.client = deps->client,
		.clock = deps->clock,
		.stores = deps->stores,
		.config = withdraw->config,
		.kubevirts = withdraw->kubevirts,
		.ready = is_asked,
		.arg = withdraw,
	};
	withdraw->permits = permits_new(&withdraw->env);
	informer_start(withdraw->kubevirts);
	return withdraw;
}

struct withdraw *withdraw_free(struct withdraw *withdraw)
{
	if (!withdraw)
		return NULL;
	permits_free(withdraw->permits);
	informer_free(withdraw->kubevirts);
	store_free(withdraw->config);
	free(withdraw);
	return NULL;
}

static bool has_ours(const struct entry *entry)
{
	const struct kubevirt *kubevirt = entry->object;

	return kubevirt && api_meta_annotation(&kubevirt->meta, PERMIT_ANNOTATION);
}

static const struct entry *next_with_ours(const struct withdraw *withdraw, size_t *cursor)
{
	const struct entry *entry;

	while ((entry = store_next(informer_store(withdraw->kubevirts), cursor)) &&
	       !has_ours(entry))
		;
	return entry;
}

void withdraw_run(struct withdraw *withdraw)
{
	const struct entry *entry;
	size_t cursor = 0;

	withdraw->asked = true;
	while ((entry = next_with_ours(withdraw, &cursor)))
		permits_enqueue(withdraw->permits, entry->name);
}

bool withdraw_is_done(const struct withdraw *withdraw, const char **ret_name)
{
	size_t cursor = 0;
	const struct entry *entry = next_with_ours(withdraw, &cursor);

	*ret_name = entry ? entry->name : NULL;
	return !entry && informer_synced(withdraw->kubevirts);
}
