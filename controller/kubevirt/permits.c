#include "controller/kubevirt/permits.h"

#include <stdlib.h>
#include <string.h>

#include "api/hostdeviceconfig.h"
#include "api/json_map.h"
#include "api/kubevirt.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/kubevirt/kubevirt_ties.h"
#include "controller/kubevirt/permit_lent.h"
#include "controller/kubevirt/permit_plan.h"
#include "controller/kubevirt/permit_wish.h"
#include "controller/views/errand.h"
#include "kube/apply.h"
#include "kube/fetch.h"
#include "kube/store.h"
#include "kube/workq_run.h"

struct permits {
	const struct kubevirt_ties *ties;
	struct workq_run *queue; /* of "namespace/name" of KubeVirts */
	char *clash;             /* that was told last; NULL: none   */
};

static void work(void *arg, const char *key, work_end_fn *end, void *end_arg);

struct permits *permits_new(const struct kubevirt_ties *ties)
{
	struct permits *permits = xcalloc(1, sizeof(*permits));

	permits->ties = ties;
	permits->queue = workq_run_new(&(struct workq_run_spec){
		.name = "kubevirts",
		.max_running = 1,
		.work = work,
		.arg = permits,
		.clock = ties->clock,
		.metrics = ties->metrics,
	});
	return permits;
}

struct permits *permits_free(struct permits *permits)
{
	if (!permits)
		return NULL;
	workq_run_free(permits->queue);
	free(permits->clash);
	free(permits);
	return NULL;
}

void permits_touch(struct permits *permits, const char *name)
{
	workq_run_add_after(permits->queue, name, KUBEVIRT_QUIET_MS);
}

void permits_look(struct permits *permits)
{
	const struct entry *entry;
	size_t cursor = 0;

	while ((entry = store_next(permits->ties->kubevirts, &cursor)))
		permits_touch(permits, entry->name);
}

/* --- one KubeVirt ------------------------------------------------------------------------------- */

/* The kind in the namespace of @key, and the name in it. */
static struct api_kind kind_of(const char *key, char **ret_ns, const char **ret_name)
{
	struct api_kind kind = kubevirt_kind;
	const char *slash = strchr(key, '/');

	*ret_ns = slash ? xstrndup(key, (size_t)(slash - key)) : NULL;
	*ret_name = slash ? slash + 1 : key;
	kind.ns = *ret_ns;
	return kind;
}

static void on_written(void *arg, int result, const struct kube_response *response,
		       const struct err *err)
{
	struct errand *errand = arg;
	struct err again = { 0 };

	(void)response;
	if (result < 0) {
		again = *err;
		err_wrap(&again, "permittedHostDevices of KubeVirt '%s'", errand->name);
	}
	errand_end(errand, result, &again);
}

/* Once as long as it is the same. */
static void tell_clash(struct permits *permits, const char *key, char *clash)
{
	if (clash && (!permits->clash || strcmp(clash, permits->clash) != 0))
		log_warn("KubeVirt serves a resource that hostdev offers, because of an entry in "
			 "permittedHostDevices that hostdev did not create: set its "
			 "externalResourceProvider, or remove it",
			 log_str("kubevirt", key), log_str("resource", clash));
	free(permits->clash);
	permits->clash = clash;
}

static void send_patch(struct errand *errand, const struct permit_plan *plan)
{
	const struct permits *permits = errand->owner;
	auto_free char *ns = NULL;
	const char *name;
	struct api_kind kind = kind_of(errand->name, &ns, &name);

	log_info("permittedHostDevices", log_str("kubevirt", errand->name),
		 log_int("added", plan->added), log_int("removed", plan->removed),
		 log_int("mended", plan->mended));
	errand->call = apply_merge(permits->ties->client,
				   &(struct apply_request){
					   .kind = &kind,
					   .name = name,
					   .field_manager = "hostdev-controller",
					   .object = plan->patch,
				   },
				   on_written, errand);
}

static void plan(struct permits *permits, const json_t *object, struct permit_plan *ret_plan)
{
	const struct kubevirt_ties *ties = permits->ties;
	struct permit_wish wish = { 0 };

	permit_lent(ties->stores, store_object(ties->config, HOSTDEVICECONFIG_NAME), &wish);
	permit_plan(object, &wish, ties->create, ret_plan);
	permit_wish_done(&wish);
}

static void go_on(struct errand *errand, const json_t *object)
{
	struct permits *permits = errand->owner;
	const struct kubevirt_ties *ties = permits->ties;
	struct permit_plan planned;

	plan(permits, object, &planned);
	tell_clash(permits, errand->name, take_ptr(planned.clash));
	if (planned.patch && ties->leads(ties->arg) && ties->ready(ties->arg))
		send_patch(errand, &planned);
	else
		errand_end(errand, 0, NULL);
	permit_plan_done(&planned);
}

static bool is_deleting(const json_t *object)
{
	return json_object_get(json_object_get(object, "metadata"), "deletionTimestamp") != NULL;
}

static void on_read(void *arg, int result, const struct kube_response *response,
		    const struct err *read_err)
{
	struct errand *errand = arg;
	auto_json json_t *object = NULL;
	struct err err = { 0 };

	errand->call = NULL;
	if (result < 0)
		errand_end(errand, result, read_err);
	else if (json_map_load(response->body, response->body_len, &object, &err) < 0)
		errand_end(errand, err_wrap(&err, "KubeVirt '%s'", errand->name), &err);
	else if (is_deleting(object))
		errand_end(errand, 0, NULL);
	else
		go_on(errand, object);
}

static void work(void *arg, const char *key, work_end_fn *end, void *end_arg)
{
	struct permits *permits = arg;
	const struct kubevirt_ties *ties = permits->ties;
	auto_free char *ns = NULL;
	const char *name;
	struct api_kind kind = kind_of(key, &ns, &name);
	struct errand *errand;

	if (!store_get(ties->kubevirts, key) || !ties->leads(ties->arg)) {
		end(end_arg, 0, NULL);
		return;
	}
	if (!ties->ready(ties->arg)) {
		workq_run_add_after(permits->queue, key, KUBEVIRT_AGAIN_MS);
		end(end_arg, 0, NULL);
		return;
	}
	errand = errand_new(ties->errands, permits, key, end, end_arg);
	errand->call = fetch_object(ties->client, &kind, name, on_read, errand);
}
