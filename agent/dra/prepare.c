#include "agent/dra/prepare.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/dra/cdi_guard.h"
#include "agent/dra/device_status.h"
#include "agent/dra/dra_codec.h"
#include "agent/dra/dra_devices.h"
#include "agent/dra/on_demand_binder.h"
#include "agent/dra/prepared.h"
#include "agent/node/this_node.h"
#include "agent/plugin/device_type.h"
#include "api/json_map.h"
#include "api/names.h"
#include "api/resourceclaim.h"
#include "base/array.h"
#include "base/err.h"
#include "base/failpoint.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/client.h"
#include "kube/clock.h"
#include "kube/fetch.h"
#include "kube/url.h"

struct prepare_job {
	struct prepare *prepare;
	struct dra_claim claim;
	struct kube_call *get;
	prepare_done_fn *done;
	void *arg;
	bool undone;                  /* the claim was unprepared after the job began */
	struct resourceclaim *object; /* the claim as read; NULL: it was not read yet */
	struct prepared_claim *draft; /* whose devices are being bound; NULL: none    */
	struct on_demand_bind *bind;  /* likewise */
	struct clock_timer *deadline;
	struct prepare_job *next;
	struct prepare_job **link; /* the pointer to this job */
};

/* A claim whose last job ran out of time while its devices were being bound. */
struct unfinished {
	struct prepare *prepare;
	char *uid;
	struct clock_timer *timer; /* until it is given up */
	struct unfinished *next;
};

struct prepare {
	const struct this_node *node;
	struct prepare_deps deps;
	struct prepared *prepared;
	struct cdi_guard *guard;
	struct device_status *status;
	struct prepare_job *jobs;
	struct unfinished *unfinished; /* each claim once */
};

/* A claim on its way from the API server's object to the checkpoint. */
struct draft {
	const struct prepare *prepare;
	const struct resourceclaim *object;
	struct prepared_claim *claim;
};

/* --- who has a device ------------------------------------------------------------------------- */

static char *claim_text(const struct prepared_claim *claim)
{
	return xasprintf("ResourceClaim %s/%s", claim->ns, claim->name);
}

char *prepare_holder(const struct prepare *prepare, const char *id)
{
	const struct prepared_claim *claim = prepared_holder(prepare->prepared, id);

	return claim ? claim_text(claim) : NULL;
}

const char *prepare_device_id(const struct prepare *prepare, const char *ns, const char *name,
			      const char *device)
{
	return prepared_device_id(prepare->prepared, ns, name, device);
}

static const struct prepared_device *find_prepared(const struct prepared_claim *claim,
						   const char *id)
{
	for (size_t i = 0; i < claim->devices.len; i++) {
		if (strcmp(claim->devices.items[i].id, id) == 0)
			return &claim->devices.items[i];
	}
	return NULL;
}

char *prepare_bound_for(const struct prepare *prepare, const char *id)
{
	const struct prepared_claim *claim = prepared_holder(prepare->prepared, id);
	const struct prepared_device *device = claim ? find_prepared(claim, id) : NULL;

	return device && device->on_demand ? claim_text(claim) : NULL;
}

void prepare_ids(const struct prepare *prepare, struct json_strs *ids)
{
	const struct prepared_claim *claim;
	size_t cursor = 0;

	while ((claim = prepared_next(prepare->prepared, &cursor))) {
		for (size_t i = 0; i < claim->devices.len; i++)
			json_strs_add(ids, claim->devices.items[i].id);
	}
}

size_t prepare_len(const struct prepare *prepare)
{
	return prepared_len(prepare->prepared);
}

bool prepare_is_known(const struct prepare *prepare, const char *uid)
{
	return prepared_get(prepare->prepared, uid);
}

/* Is the device free of other claims? A scheduler may allocate it twice, for example after a forced
 * deletion. *@ret_own: the claim itself has it already, from an earlier call that ran out of
 * time. */
static int check_claims(const struct draft *draft, const struct dra_device *device, bool *ret_own,
			struct err *err)
{
	const struct prepared *prepared = draft->prepare->prepared;
	const char *own = draft->claim->uid;
	const struct prepared_claim *holder = prepared_holder(prepared, device->id);
	const struct prepared_claim *other = NULL;
	const struct prepared_device *neighbour =
		device->iommu_group
			? prepared_neighbour(prepared, device->iommu_group, device->id, &other)
			: NULL;

	*ret_own = holder && strcmp(holder->uid, own) == 0;
	if (holder && !*ret_own)
		return err_set(err, ERR_RETRY, -EBUSY,
			       "device '%s' is in use by ResourceClaim %s/%s; it is free when that "
			       "one's pods have ended",
			       device->id, holder->ns, holder->name);
	if (neighbour && strcmp(other->uid, own) != 0)
		return err_set(
			err, ERR_RETRY, -EBUSY,
			"IOMMU group %s goes to one ResourceClaim at a time, and %s/%s has "
			"%s of it; ask for all of it in one claim, with matchAttribute " DRA_DRIVER
			"/iommuGroup",
			device->iommu_group, other->ns, other->name, neighbour->id);
	return 0;
}

static int check_pods(const struct prepare *prepare, const struct dra_device *device,
		      struct err *err)
{
	auto_free char *pod =
		prepare->deps.holder ? prepare->deps.holder(prepare->deps.arg, device->id) : NULL;

	if (pod)
		return err_set(err, ERR_RETRY, -EBUSY,
			       "device '%s' is in use by %s; it is free when the pod has ended",
			       device->id, pod);
	if (device->type->is_busy && device->type->is_busy(device->type_arg, device->id))
		return err_set(
			err, ERR_RETRY, -EBUSY,
			"a process of a pod that has ended still has device '%s'; it is free "
			"when the process has ended",
			device->id);
	return 0;
}

/* --- what is allocated ------------------------------------------------------------------------ */

static bool is_request_part(const char *name, size_t len)
{
	auto_free char *part = xstrndup(name, len);

	return len <= NAMES_LABEL_MAX && names_valid_object(part);
}

/* The name becomes part of file names and paths. */
static int check_request(const char *request, struct err *err)
{
	size_t base = strcspn(request, "/");
	auto_free char *shown = NULL;

	if (is_request_part(request, base) &&
	    (!request[base] || is_request_part(request + base + 1, strlen(request + base + 1))))
		return 0;
	shown = str_clean(request, NAMES_LABEL_MAX);
	return err_set(err, ERR_INVALID, -EINVAL, "no request has the name '%s'", shown);
}

static int find_device(const struct prepare *prepare, const struct resourceclaim_result *result,
		       const struct dra_device **ret_device, struct err *err)
{
	const struct dra_device *device = dra_devices_find(prepare->deps.devices, result->device);
	auto_free char *shown = str_clean(result->device, NAMES_LABEL_MAX);

	if (!device && !prepare->node->inventory)
		return err_set(err, ERR_RETRY, -EAGAIN,
			       "the devices of this node have not been read yet");
	if (!device)
		return err_set(err, ERR_INVALID, -ENODEV,
			       "device '%s' is not offered here now: it is gone, a pod has it by "
			       "its device plugin, its PCIDeviceClaim or USBDeviceClaim is "
			       "deleted, or the HostDeviceConfig does not select it",
			       shown);
	*ret_device = device;
	return 0;
}

/* Other claims are checked first: a device that one has is often also not ready, and the holder is
 * the better reason. */
static int check_device(const struct draft *draft, const struct dra_device *device, struct err *err)
{
	bool own = false;
	int r = check_claims(draft, device, &own, err);

	if (r == 0 && device->trouble && !own)
		r = err_set(err, ERR_RETRY, -EHOSTDOWN, "device '%s' is not ready: %s", device->id,
			    device->trouble);
	for (size_t i = 0; i < draft->claim->devices.len; i++) {
		if (strcmp(draft->claim->devices.items[i].id, device->id) == 0)
			return err_set(err, ERR_INVALID, -EINVAL,
				       "device '%s' is allocated twice to the claim", device->id);
	}
	if (r == 0)
		r = check_pods(draft->prepare, device, err);
	if (r == 0 &&
	    (!device->type->allocate || (device->on_demand && !draft->prepare->deps.on_demand)))
		r = err_set(err, ERR_INVALID, -EOPNOTSUPP,
			    "devices of type '%s' cannot be had by a ResourceClaim",
			    device->type->name);
	return r;
}

static int check_result(const struct draft *draft, const struct resourceclaim_result *result,
			struct err *err)
{
	int r = check_request(result->request, err);

	if (r == 0 && result->admin_access)
		r = err_set(err, ERR_INVALID, -EOPNOTSUPP,
			    "request '%s' has adminAccess, which " DRA_DRIVER " does not support",
			    result->request);
	if (r == 0 && draft->claim->devices.len == PREPARE_DEVICES_MAX)
		r = err_set(err, ERR_INVALID, -EMSGSIZE, "the claim has more than %d devices",
			    PREPARE_DEVICES_MAX);
	return r;
}

static int draft_add(struct draft *draft, const struct resourceclaim_result *result,
		     struct err *err)
{
	const struct dra_device *device = NULL;
	struct prepared_claim *claim = draft->claim;
	int r = check_result(draft, result, err);

	if (r == 0)
		r = find_device(draft->prepare, result, &device, err);
	if (r < 0)
		return r;
	assert(device);
	r = check_device(draft, device, err);
	if (r < 0)
		return r;
	*array_add(&claim->devices) =
		(struct prepared_device){ .request = xstrdup(result->request),
					  .pool = xstrdup(result->pool),
					  .device = xstrdup(result->device),
					  .id = xstrdup(device->id),
					  .resource = xstrdup(device->resource),
					  .iommu_group = xstrdup_or_null(device->iommu_group),
					  .attributes = json_map_text(device->attributes),
					  .on_demand = device->on_demand };
	return 0;
}

/* Skips the results of other drivers. */
static int add_devices(struct draft *draft, struct err *err)
{
	const struct resourceclaim_devices *devices = &draft->object->status.allocation.devices;

	for (size_t i = 0; i < devices->results.len; i++) {
		const struct resourceclaim_result *result = &devices->results.items[i];
		int r = strcmp(result->driver, DRA_DRIVER) == 0 ? draft_add(draft, result, err) : 0;

		if (r < 0)
			return r;
	}
	if (devices->results.len == 0)
		return err_set(err, ERR_RETRY, -EAGAIN, "it is not allocated");
	if (draft->claim->devices.len == 0)
		return err_set(err, ERR_INVALID, -ENODEV,
			       "no device of " DRA_DRIVER " is allocated to it");
	return 0;
}

/* --- its configuration ------------------------------------------------------------------------ */

/* "a" also means "a/b". */
static bool is_about(const char *name, const char *request)
{
	size_t len = strlen(name);

	return strncmp(name, request, len) == 0 && (!request[len] || request[len] == '/');
}

static bool concerns(const struct resourceclaim_config *config, const struct prepared_claim *claim)
{
	if (!str_match(config->opaque.driver, DRA_DRIVER))
		return false;
	if (config->requests.len == 0)
		return true;
	for (size_t i = 0; i < config->requests.len; i++) {
		for (size_t k = 0; k < claim->devices.len; k++) {
			if (is_about(config->requests.items[i], claim->devices.items[k].request))
				return true;
		}
	}
	return false;
}

/* No parameters are defined yet, so anything that is set would have no effect. */
static int check_parameters(const struct resourceclaim_config *config, struct err *err)
{
	const char *source =
		str_match(config->source, RESOURCECLAIM_FROM_CLASS) ? "DeviceClass" : "claim";
	const char *text = str_or_empty(config->opaque.parameters);
	auto_json json_t *parameters = NULL;
	auto_free char *field = NULL;

	if (!text[0])
		return 0;
	if (json_map_load(text, strlen(text), &parameters, NULL) < 0 || !json_is_object(parameters))
		return err_set(err, ERR_INVALID, -EINVAL,
			       "the parameters for " DRA_DRIVER " in the %s are no object", source);
	if (json_object_size(parameters) == 0)
		return 0;
	field = str_clean(json_object_iter_key(json_object_iter(parameters)), NAMES_LABEL_MAX);
	return err_set(err, ERR_INVALID, -EINVAL,
		       "unknown field '%s' in the parameters for " DRA_DRIVER " in the %s", field,
		       source);
}

static int check_config(const struct draft *draft, struct err *err)
{
	const struct resourceclaim_devices *devices = &draft->object->status.allocation.devices;
	int r = 0;

	for (size_t i = 0; r == 0 && i < devices->config.len; i++) {
		if (concerns(&devices->config.items[i], draft->claim))
			r = check_parameters(&devices->config.items[i], err);
	}
	return r;
}

/* --- what its containers get ------------------------------------------------------------------ */

static struct prepared_request *request_of(struct prepared_claim *claim, const char *base)
{
	struct prepared_request *request;

	for (size_t i = 0; i < claim->requests.len; i++) {
		if (strcmp(claim->requests.items[i].name, base) == 0)
			return &claim->requests.items[i];
	}
	request = array_add(&claim->requests);
	request->name = xstrdup(base);
	return request;
}

static bool has_node(const struct prepared_request *request, const char *path)
{
	for (size_t i = 0; i < request->nodes.len; i++) {
		if (strcmp(request->nodes.items[i].path, path) == 0)
			return true;
	}
	return false;
}

/* All types use variables that are lists of devices:
 * "PCI_RESOURCE_...=0000:3b:00.0,0000:3b:00.1". */
static void add_envs(struct prepared_claim *claim, const struct json_pairs *envs)
{
	for (size_t i = 0; i < envs->len; i++) {
		const char *before = json_pairs_get(&claim->envs, envs->items[i].key);
		auto_free char *value = before ? xasprintf("%s,%s", before, envs->items[i].value)
					       : xstrdup(envs->items[i].value);

		json_pairs_set(&claim->envs, envs->items[i].key, value);
	}
}

static void add_allocation(struct prepared_claim *claim, struct prepared_request *request,
			   const struct allocation *allocation)
{
	for (size_t i = 0; i < allocation->devices.len; i++) {
		const struct device_spec *spec = &allocation->devices.items[i];

		if (!has_node(request, spec->container_path))
			*array_add(&request->nodes) = (struct prepared_node){
				.path = xstrdup(spec->container_path),
				.host_path = xstrdup(spec->host_path),
				.permissions = xstrdup(spec->permissions),
			};
	}
	for (size_t i = 0; i < allocation->mounts.len; i++)
		*array_add(&request->mounts) = (struct prepared_mount){
			.path = xstrdup(allocation->mounts.items[i].container_path),
			.host_path = xstrdup(allocation->mounts.items[i].host_path),
			.read_only = allocation->mounts.items[i].read_only,
		};
	add_envs(claim, &allocation->envs);
}

static int allocate(struct prepared_claim *claim, const struct dra_device *device, const char *base,
		    const struct json_strs *ids, struct err *err)
{
	struct allocation allocation = { 0 };
	int r;

	r = device->type->allocate(device->type_arg, device->resource, ids, &allocation, err);
	if (r >= 0 && (allocation_is_empty(&allocation) || allocation.annotations.len > 0 ||
		       allocation.cdi_devices.len > 0))
		r = err_set(err, ERR_INVALID, -EOPNOTSUPP,
			    "device '%s' of '%s' cannot be had by a ResourceClaim", device->id,
			    device->resource);
	if (r >= 0)
		add_allocation(claim, request_of(claim, base), &allocation);
	allocation_done(&allocation);
	return r < 0 ? r : 0;
}

/* The devices of the claim as they are offered now: one that is being bound may be gone since. */
static int find_all(const struct prepare *prepare, const struct prepared_claim *claim,
		    const struct dra_device *found[PREPARE_DEVICES_MAX], struct err *err)
{
	for (size_t i = 0; i < claim->devices.len; i++) {
		const struct prepared_device *device = &claim->devices.items[i];

		found[i] = dra_devices_find(prepare->deps.devices, device->device);
		if (!found[i])
			return err_set(err, ERR_RETRY, -ENODEV,
				       "device '%s' is not offered here any more", device->id);
	}
	return 0;
}

/* Take the device @i and those of the same request and resource that follow it. */
static void take_alike(const struct prepared_claim *claim,
		       const struct dra_device *found[PREPARE_DEVICES_MAX], size_t i,
		       const char *base, bool *taken, struct json_strs *ids)
{
	const struct dra_device *first = found[i];

	for (size_t k = i; k < claim->devices.len; k++) {
		if (!is_about(base, claim->devices.items[k].request) ||
		    found[k]->type != first->type ||
		    strcmp(found[k]->resource, first->resource) != 0)
			continue;
		json_strs_add(ids, found[k]->id);
		taken[k] = true;
	}
}

/* Devices of one request and resource are allocated together, as for one container in Allocate. */
static int allocate_all(const struct prepare *prepare, struct prepared_claim *claim,
			struct err *err)
{
	const struct dra_device *found[PREPARE_DEVICES_MAX] = { 0 };
	bool taken[PREPARE_DEVICES_MAX] = { false };
	int r = find_all(prepare, claim, found, err);

	for (size_t i = 0; r == 0 && i < claim->devices.len; i++) {
		auto_free char *base = resourceclaim_base_request(claim->devices.items[i].request);
		struct json_strs ids = { 0 };

		if (taken[i])
			continue;
		take_alike(claim, found, i, base, taken, &ids);
		r = allocate(claim, found[i], base, &ids, err);
		json_strs_done(&ids);
	}
	return r;
}

/* --- from the object to the files ------------------------------------------------------------- */

static int check_object(const struct resourceclaim *object, const struct dra_claim *asked,
			struct err *err)
{
	const char *pod_claim =
		api_meta_annotation(&object->meta, RESOURCECLAIM_ANNOTATION_POD_CLAIM);

	if (!str_match(object->meta.uid, asked->uid))
		return err_set(err, ERR_INVALID, -ESTALE,
			       "it was replaced by another one of this name (UID '%s')",
			       str_or_empty(object->meta.uid));
	if (pod_claim && !is_request_part(pod_claim, strlen(pod_claim)))
		return err_set(err, ERR_INVALID, -EINVAL,
			       "its annotation " RESOURCECLAIM_ANNOTATION_POD_CLAIM
			       " is no name of a pod's claim");
	return 0;
}

/* Check @object and build the claim to prepare for it, without what its containers get. The caller
 * frees. */
static int draft_claim(const struct prepare *prepare, const struct dra_claim *asked,
		       const struct resourceclaim *object, struct prepared_claim **ret_claim,
		       struct err *err)
{
	struct prepared_claim *claim = xcalloc(1, sizeof(*claim));
	struct draft draft = { .prepare = prepare, .object = object, .claim = claim };
	int r = check_object(object, asked, err);

	claim->uid = xstrdup(asked->uid);
	claim->ns = xstrdup(asked->ns);
	claim->name = xstrdup(asked->name);
	claim->pod_claim = xstrdup_or_null(
		api_meta_annotation(&object->meta, RESOURCECLAIM_ANNOTATION_POD_CLAIM));
	claim->told = r == 0 && device_status_is_told(prepare->status, object);
	if (r == 0)
		r = add_devices(&draft, err);
	if (r == 0)
		r = check_config(&draft, err);
	if (r < 0)
		prepared_claim_free(claim);
	else
		*ret_claim = claim;
	return r;
}

static void notify(const struct prepare *prepare, const struct json_strs *ids)
{
	for (size_t i = 0; prepare->deps.changed && i < ids->len; i++)
		prepare->deps.changed(prepare->deps.arg, ids->items[i]);
}

static void ids_of(const struct prepared_claim *claim, struct json_strs *ids)
{
	for (size_t i = 0; claim && i < claim->devices.len; i++)
		json_strs_add_new(ids, claim->devices.items[i].id);
}

/* Takes @claim. The checkpoint is written first: without it a device that a pod has would look
 * free. */
static int commit(struct prepare *prepare, struct prepared_claim *claim, struct err *err)
{
	auto_free char *uid = xstrdup(claim->uid);
	struct json_strs ids = { 0 };
	int r;

	ids_of(prepared_get(prepare->prepared, uid), &ids); /* by the first checkpoint */
	failpoint("dra-checkpoint-before");
	r = prepared_add(prepare->prepared, claim, err);
	if (r < 0) {
		json_strs_done(&ids);
		return r;
	}
	failpoint("dra-checkpoint-after");
	r = cdi_spec_write(&prepare->deps.place, claim, err);
	failpoint("dra-files-after");
	if (r < 0) {
		(void)cdi_spec_remove(&prepare->deps.place, uid, NULL);
		(void)prepared_remove(prepare->prepared, uid, NULL);
	} else {
		cdi_guard_add(prepare->guard, claim);
		ids_of(claim, &ids);
	}
	notify(prepare, &ids);
	json_strs_done(&ids);
	return r < 0 ? r : 0;
}

/* Takes @claim, whose devices are bound. */
static int complete(struct prepare *prepare, struct prepared_claim *claim, struct err *err)
{
	int r = allocate_all(prepare, claim, err);

	if (r == 0)
		return commit(prepare, claim, err);
	prepared_claim_free(claim);
	return r;
}

/* --- claims that the kubelet has given up ----------------------------------------------------- */

static bool has_job(const struct prepare *prepare, const char *uid)
{
	const struct prepare_job *job = prepare->jobs;

	while (job && strcmp(job->claim.uid, uid) != 0)
		job = job->next;
	return job;
}

/* There is only the first checkpoint of the claim: it is not prepared. */
static bool is_unfinished(const struct prepare *prepare, const char *uid)
{
	const struct prepared_claim *claim = prepared_get(prepare->prepared, uid);

	return claim && claim->binding;
}

/* What has been bound for it is nobody's from now on, and is given back. */
static void drop(struct prepare *prepare, const char *uid)
{
	struct json_strs ids = { 0 };
	struct err err = { 0 };

	if (!is_unfinished(prepare, uid))
		return;
	ids_of(prepared_get(prepare->prepared, uid), &ids);
	if (prepared_remove(prepare->prepared, uid, &err) < 0)
		log_warn("a ResourceClaim that is not prepared cannot be forgotten",
			 log_str("reason", err.msg));
	notify(prepare, &ids);
	json_strs_done(&ids);
}

static void unfinished_free(struct unfinished *unfinished)
{
	clock_timer_free(unfinished->prepare->node->clock, unfinished->timer);
	free(unfinished->uid);
	free(unfinished);
}

/* Its pod is gone, and a kubelet that has lost its state sends no Unprepare. */
static void on_given_up(void *arg)
{
	struct unfinished *unfinished = arg;
	struct prepare *prepare = unfinished->prepare;
	struct unfinished **at = &prepare->unfinished;

	if (is_unfinished(prepare, unfinished->uid) && !has_job(prepare, unfinished->uid)) {
		log_info("ResourceClaim given up: the kubelet does not ask for it any more",
			 log_str("uid", unfinished->uid));
		drop(prepare, unfinished->uid);
	}
	/* A job is under way, or the checkpoint could not be removed. */
	if (is_unfinished(prepare, unfinished->uid)) {
		clock_timer_start(prepare->node->clock, unfinished->timer, PREPARE_AGAIN_MS);
		return;
	}
	while (*at != unfinished)
		at = &(*at)->next;
	*at = unfinished->next;
	unfinished_free(unfinished);
}

/* A job of the claim has ended. */
static void await_kubelet(struct prepare *prepare, const char *uid)
{
	struct unfinished *unfinished = prepare->unfinished;

	if (!is_unfinished(prepare, uid))
		return;
	while (unfinished && strcmp(unfinished->uid, uid) != 0)
		unfinished = unfinished->next;
	if (!unfinished) {
		unfinished = xcalloc(1, sizeof(*unfinished));
		*unfinished = (struct unfinished){ .prepare = prepare,
						   .uid = xstrdup(uid),
						   .next = prepare->unfinished };
		unfinished->timer = clock_timer_new(prepare->node->clock, on_given_up, unfinished);
		prepare->unfinished = unfinished;
	}
	clock_timer_start(prepare->node->clock, unfinished->timer, PREPARE_AGAIN_MS);
}

/* --- jobs ------------------------------------------------------------------------------------- */

/* The job is no longer in the list. */
static void job_free(struct prepare_job *job)
{
	await_kubelet(job->prepare, job->claim.uid);
	clock_timer_free(job->prepare->node->clock, job->deadline);
	prepared_claim_free(job->draft);
	resourceclaim_free(job->object);
	free(job->claim.ns);
	free(job->claim.name);
	free(job->claim.uid);
	free(job);
}

static void job_unlink(struct prepare_job *job)
{
	*job->link = job->next;
	if (job->next)
		job->next->link = job->link;
}

/* Tell the result in the claim's status. Of another claim that has the name now nothing is known. */
static void tell(const struct prepare_job *job, const struct err *err)
{
	struct device_status *status = job->prepare->status;

	if (!job->object || job->undone || !str_match(job->object->meta.uid, job->claim.uid))
		return;
	if (err)
		device_status_failed(status, job->claim.ns, job->object, err->msg);
	else
		device_status_prepared(status, job->claim.ns, job->object);
}

static void job_end(struct prepare_job *job, const struct prepared_claim *claim,
		    const struct err *err)
{
	job_unlink(job);
	job->done(job->arg, claim, err);
	tell(job, err);
	job_free(job);
}

/* The result of the job is < 0, with @err, or its claim is prepared. */
static void job_finish(struct prepare_job *job, int result, const struct err *err)
{
	if (result < 0)
		job_end(job, NULL, err);
	else
		job_end(job, prepared_get(job->prepare->prepared, job->claim.uid), NULL);
}

static int undone(const struct prepare_job *job, struct err *err)
{
	return err_set(err, ERR_RETRY, -ECANCELED, "ResourceClaim %s/%s was unprepared meanwhile",
		       job->claim.ns, job->claim.name);
}

/* --- devices that are bound for the claim ----------------------------------------------------- */

static bool is_on_demand(const struct prepared_claim *claim)
{
	for (size_t i = 0; i < claim->devices.len; i++) {
		if (claim->devices.items[i].on_demand)
			return true;
	}
	return false;
}

/* Does another call of the kubelet wait for the same? */
static bool is_bound_by_other(const struct prepare_job *job)
{
	for (const struct prepare_job *other = job->prepare->jobs; other; other = other->next) {
		if (other != job && other->bind && strcmp(other->claim.uid, job->claim.uid) == 0)
			return true;
	}
	return false;
}

/* What is being bound stays the claim's: the kubelet asks again, or unprepares it. */
static void stop_on_demand(struct prepare_job *job, struct err *err)
{
	const struct on_demand_binder *binder = job->prepare->deps.on_demand;
	struct on_demand_bind *bind = job->bind;

	job->bind = NULL;
	if (bind && !binder->stop(binder->arg, bind, err) && !job->undone &&
	    !is_bound_by_other(job))
		drop(job->prepare, job->claim.uid);
}

static void on_deadline(void *arg)
{
	struct prepare_job *job = arg;
	struct err err = { 0 };

	if (job->get)
		kube_call_cancel(job->get);
	err_set(&err, ERR_RETRY, -ETIMEDOUT, "the API server does not answer");
	stop_on_demand(job, &err);
	if (job->undone)
		undone(job, &err);
	else
		err_wrap(&err, "ResourceClaim %s/%s is not prepared after %d s", job->claim.ns,
			 job->claim.name, PREPARE_MS / 1000);
	job_end(job, NULL, &err);
}

/* Another job may have prepared it meanwhile. */
static int take_bound(struct prepare_job *job, const struct err *cause, struct err *err)
{
	struct prepare *prepare = job->prepare;
	const struct prepared_claim *claim = NULL;
	int r;

	if (job->undone)
		return undone(job, err);
	failpoint("dra-bind-after");
	r = prepare_again(prepare, job->claim.uid, &claim, err);
	if (r != PREPARE_UNKNOWN)
		return r;
	if (cause)
		*err = *cause;
	r = cause ? cause->code : complete(prepare, take_ptr(job->draft), err);
	if (r < 0 && !is_bound_by_other(job))
		drop(prepare, job->claim.uid);
	return r < 0 ? err_wrap(err, "ResourceClaim %s/%s", job->claim.ns, job->claim.name) : 0;
}

static void on_bound(void *arg, const struct err *cause)
{
	struct prepare_job *job = arg;
	struct err err = { 0 };

	job->bind = NULL;
	job_finish(job, take_bound(job, cause, &err), &err);
}

/* Takes @draft. From the first checkpoint on the devices are the claim's. */
static int begin_on_demand(struct prepare_job *job, struct prepared_claim *draft, struct err *err)
{
	struct prepare *prepare = job->prepare;
	const struct on_demand_binder *binder = prepare->deps.on_demand;
	struct prepared_claim *first = prepared_claim_copy(draft);
	auto_free char *to = claim_text(draft);
	struct json_strs all = { 0 };
	struct json_strs ids = { 0 };
	int r;

	job->draft = draft;
	first->binding = true;
	/* It may have been allocated anew since an earlier call. */
	ids_of(prepared_get(prepare->prepared, job->claim.uid), &all);
	ids_of(draft, &all);
	for (size_t i = 0; i < draft->devices.len; i++) {
		if (draft->devices.items[i].on_demand)
			json_strs_add(&ids, draft->devices.items[i].id);
	}
	failpoint("dra-bind-checkpoint-before");
	r = prepared_add(prepare->prepared, first, err);
	failpoint("dra-bind-checkpoint-after");
	if (r == 0) {
		notify(prepare, &all);
		job->bind = binder->begin(binder->arg,
					  &(struct on_demand_devices){ &ids, job->claim.uid, to },
					  on_bound, job);
	}
	json_strs_done(&ids);
	json_strs_done(&all);
	return r;
}

/* --- from the answer of the API server -------------------------------------------------------- */

enum { BINDING = 1 };

/* 0: it is prepared; BINDING: its devices are being bound. */
static int prepare_object(struct prepare_job *job, const char *text, size_t len, struct err *err)
{
	struct prepared_claim *claim = NULL;
	int r = resourceclaim_parse(text, len, &job->object, err);

	if (r == 0)
		r = draft_claim(job->prepare, &job->claim, job->object, &claim, err);
	if (r == 0 && is_on_demand(claim)) {
		r = begin_on_demand(job, claim, err);
		r = r < 0 ? r : BINDING;
	} else if (r == 0) {
		r = complete(job->prepare, claim, err);
	}
	return r < 0 ? err_wrap(err, "ResourceClaim %s/%s", job->claim.ns, job->claim.name) : r;
}

static int get_failed(const struct dra_claim *asked, const struct kube_response *response,
		      struct err *err)
{
	if (err->code == -ENOENT && fetch_says_gone(response, asked->name))
		return err_set(err, ERR_INVALID, -ENOENT, "ResourceClaim %s/%s does not exist",
			       asked->ns, asked->name);
	if (err->code == -ENOENT)
		return err_set(err, ERR_RETRY, -ENOENT,
			       "the API server does not serve ResourceClaims of %s/%s",
			       resourceclaim_kind.group, resourceclaim_kind.version);
	return err_wrap(err, "get ResourceClaim %s/%s", asked->ns, asked->name);
}

/* Another job may have prepared it meanwhile. */
static int finish(struct prepare_job *job, int result, const struct kube_response *response,
		  struct err *err)
{
	const struct prepared_claim *claim = NULL;
	int r;

	if (job->undone)
		return undone(job, err);
	r = prepare_again(job->prepare, job->claim.uid, &claim, err);
	if (r != PREPARE_UNKNOWN)
		return r;
	if (result < 0)
		return get_failed(&job->claim, response, err);
	return prepare_object(job, response->body, response->body_len, err);
}

static void on_object(void *arg, int result, const struct kube_response *response,
		      const struct err *cause)
{
	struct prepare_job *job = arg;
	struct err err = { 0 };
	int r;

	job->get = NULL;
	if (cause)
		err = *cause;
	r = finish(job, result, response, &err);
	if (r != BINDING)
		job_finish(job, r, &err);
}

struct prepare_job *prepare_begin(struct prepare *prepare, const struct dra_claim *claim,
				  prepare_done_fn *done, void *arg)
{
	struct prepare_job *job = xcalloc(1, sizeof(*job));
	auto_str struct str path = STR_INIT;

	*job = (struct prepare_job){ .prepare = prepare,
				     .claim = { .ns = xstrdup(claim->ns),
						.name = xstrdup(claim->name),
						.uid = xstrdup(claim->uid) },
				     .done = done,
				     .arg = arg,
				     .next = prepare->jobs,
				     .link = &prepare->jobs };
	if (job->next)
		job->next->link = &job->next;
	prepare->jobs = job;
	/* Not from a cache, because the scheduler has just written the claim. */
	url_object(&path, &resourceclaim_kind, claim->ns, claim->name, NULL);
	job->get = kube_client_send(prepare->node->client,
				    &(struct kube_request){ .verb = "get",
							    .resource = resourceclaim_kind.plural,
							    .method = "GET",
							    .path = str_cstr(&path),
							    .timeout_ms = PREPARE_GET_MS },
				    on_object, job);
	job->deadline = clock_timer_new(prepare->node->clock, on_deadline, job);
	clock_timer_start(prepare->node->clock, job->deadline, PREPARE_MS);
	return job;
}

void prepare_cancel(struct prepare_job *job)
{
	if (job->get)
		kube_call_cancel(job->get);
	stop_on_demand(job, NULL);
	job_unlink(job);
	job_free(job);
}

/* --- again, and undone ------------------------------------------------------------------------ */

int prepare_again(struct prepare *prepare, const char *uid, const struct prepared_claim **ret_claim,
		  struct err *err)
{
	const struct prepared_claim *claim = prepared_get(prepare->prepared, uid);
	int r;

	if (!claim || claim->binding)
		return PREPARE_UNKNOWN;
	r = cdi_spec_write(&prepare->deps.place, claim, err);
	if (r < 0)
		return err_wrap(err, "ResourceClaim %s/%s", claim->ns, claim->name);
	*ret_claim = claim;
	return 0;
}

int prepare_undo(struct prepare *prepare, const char *uid, struct err *err)
{
	const struct prepared_claim *claim = prepared_get(prepare->prepared, uid);
	struct json_strs ids = { 0 };
	int r;

	for (struct prepare_job *job = prepare->jobs; job; job = job->next) {
		if (strcmp(job->claim.uid, uid) != 0)
			continue;
		job->undone = true;
		stop_on_demand(job, NULL);
		if (job->draft)
			clock_timer_start(prepare->node->clock, job->deadline, 0);
	}
	ids_of(claim, &ids);
	if (claim && !claim->binding)
		cdi_guard_remove(prepare->guard, claim);
	failpoint("dra-files-remove-before");
	r = cdi_spec_remove(&prepare->deps.place, uid, err);
	failpoint("dra-files-remove-after");
	if (r == 0)
		r = prepared_remove(prepare->prepared, uid, err);
	failpoint("dra-checkpoint-remove-after");
	if (r == 0) {
		device_status_unprepared(prepare->status, uid);
		notify(prepare, &ids);
	}
	json_strs_done(&ids);
	return r;
}

/* --- life ------------------------------------------------------------------------------------- */

static void forget(struct prepare *prepare, const struct prepared_claim *claim)
{
	auto_free char *uid = xstrdup(claim->uid);
	struct err err = { 0 };

	if (cdi_spec_remove(&prepare->deps.place, uid, &err) < 0 ||
	    prepared_remove(prepare->prepared, uid, &err) < 0)
		log_warn("a ResourceClaim that is not prepared cannot be forgotten",
			 log_str("reason", err.msg));
	await_kubelet(prepare, uid); /* tried again */
}

static void recall(struct prepare *prepare, const struct prepared_claim *claim)
{
	struct err err = { 0 };

	if (cdi_spec_write(&prepare->deps.place, claim, &err) < 0)
		log_error("the files of a prepared ResourceClaim cannot be written",
			  log_str("namespace", claim->ns), log_str("claim", claim->name),
			  log_str("reason", err.msg));
	cdi_guard_add(prepare->guard, claim);
	if (claim->told)
		device_status_check(prepare->status, claim->uid, claim->ns, claim->name);
}

struct prepare *prepare_new(const struct this_node *node, const struct prepare_deps *deps)
{
	struct prepare *prepare = xcalloc(1, sizeof(*prepare));
	const struct prepared_claim *claim;
	size_t cursor = 0;

	prepare->node = node;
	prepare->deps = *deps;
	prepare->prepared = prepared_new(deps->claims_dir, deps->boot);
	prepare->guard = cdi_guard_new(deps->watch, &prepare->deps.place, node->metrics);
	prepare->status = device_status_new(node);
	while ((claim = prepared_next(prepare->prepared, &cursor))) {
		/* What was bound for it is given back; the kubelet asks again. */
		if (prepared_is_stale(prepare->prepared, claim) || claim->binding)
			forget(prepare, claim);
		else
			recall(prepare, claim);
	}
	return prepare;
}

struct prepare *prepare_free(struct prepare *prepare)
{
	struct unfinished *unfinished;

	if (!prepare)
		return NULL;
	assert(!prepare->jobs);
	while ((unfinished = prepare->unfinished)) {
		prepare->unfinished = unfinished->next;
		unfinished_free(unfinished);
	}
	device_status_free(prepare->status);
	cdi_guard_free(prepare->guard);
	prepared_free(prepare->prepared);
	free(prepare);
	return NULL;
}
