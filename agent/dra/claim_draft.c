#include "agent/dra/claim_draft.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "agent/dra/dra_codec.h"
#include "agent/dra/dra_devices.h"
#include "agent/dra/prepared.h"
#include "agent/plugin/device_type.h"
#include "api/json_map.h"
#include "api/names.h"
#include "api/resourceclaim.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

struct draft {
	const struct claim_draft_world *world;
	const struct resourceclaim *object;
	struct prepared_claim *claim;
};

/* --- who has a device ------------------------------------------------------------------------- */

/* Is the device free of other claims? A scheduler may allocate it twice, for example after a forced
 * deletion. *@ret_own: the claim itself has it already, from an earlier call that ran out of
 * time. */
static int check_claims(const struct draft *draft, const struct dra_device *device, bool *ret_own,
			struct err *err)
{
	const struct prepared *prepared = draft->world->prepared;
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

static int check_pods(const struct claim_draft_world *world, const struct dra_device *device,
		      struct err *err)
{
	auto_free char *pod = world->holder ? world->holder(world->arg, device->id) : NULL;

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

static int find_device(const struct claim_draft_world *world,
		       const struct resourceclaim_result *result,
		       const struct dra_device **ret_device, struct err *err)
{
	const struct dra_device *device = dra_devices_find(world->devices, result->device);
	auto_free char *shown = str_clean(result->device, NAMES_LABEL_MAX);

	if (!device && !world->informed)
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

/* The list of devices lags behind: it may still say that the group of @device is taken by a claim
 * that was unprepared a moment ago. Of a device that is bound already, allocate() looks again. */
static bool is_ready(const struct dra_device *device)
{
	return !device->trouble || (device->group_taken && !device->on_demand);
}

/* Other claims are checked first: a device that one has is often also not ready, and the holder is
 * the better reason. */
static int check_device(const struct draft *draft, const struct dra_device *device, struct err *err)
{
	bool own = false;
	int r = check_claims(draft, device, &own, err);

	if (r == 0 && !is_ready(device) && !own)
		r = err_set(err, ERR_RETRY, -EHOSTDOWN, "device '%s' is not ready: %s", device->id,
			    device->trouble);
	for (size_t i = 0; i < draft->claim->devices.len; i++) {
		if (strcmp(draft->claim->devices.items[i].id, device->id) == 0)
			return err_set(err, ERR_INVALID, -EINVAL,
				       "device '%s' is allocated twice to the claim", device->id);
	}
	if (r == 0)
		r = check_pods(draft->world, device, err);
	if (r == 0 && (!device->type->allocate || (device->on_demand && !draft->world->on_demand)))
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
	if (r == 0 && draft->claim->devices.len == CLAIM_DRAFT_DEVICES_MAX)
		r = err_set(err, ERR_INVALID, -EMSGSIZE, "the claim has more than %d devices",
			    CLAIM_DRAFT_DEVICES_MAX);
	return r;
}

static int draft_add(struct draft *draft, const struct resourceclaim_result *result,
		     struct err *err)
{
	const struct dra_device *device = NULL;
	struct prepared_claim *claim = draft->claim;
	int r = check_result(draft, result, err);

	if (r == 0)
		r = find_device(draft->world, result, &device, err);
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
					  .attributes = xstrdup(device->attributes),
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
static int find_all(const struct dra_devices *devices, const struct prepared_claim *claim,
		    const struct dra_device *found[CLAIM_DRAFT_DEVICES_MAX], struct err *err)
{
	for (size_t i = 0; i < claim->devices.len; i++) {
		const struct prepared_device *device = &claim->devices.items[i];

		found[i] = dra_devices_find(devices, device->device);
		if (!found[i])
			return err_set(err, ERR_RETRY, -ENODEV,
				       "device '%s' is not offered here any more", device->id);
	}
	return 0;
}

/* Take the device @i and those of the same request and resource that follow it. */
static void take_alike(const struct prepared_claim *claim,
		       const struct dra_device *found[CLAIM_DRAFT_DEVICES_MAX], size_t i,
		       const char *base, bool *taken, struct json_strs *ids)
{
	const struct dra_device *first = found[i];

	for (size_t k = i; k < claim->devices.len; k++) {
		assert(found[k]);
		if (!is_about(base, claim->devices.items[k].request) ||
		    found[k]->type != first->type ||
		    strcmp(found[k]->resource, first->resource) != 0)
			continue;
		json_strs_add(ids, found[k]->id);
		taken[k] = true;
	}
}

int claim_draft_allocate(const struct dra_devices *devices, struct prepared_claim *claim,
			 struct err *err)
{
	const struct dra_device *found[CLAIM_DRAFT_DEVICES_MAX] = { 0 };
	bool taken[CLAIM_DRAFT_DEVICES_MAX] = { false };
	int r = find_all(devices, claim, found, err);

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

/* --- the claim -------------------------------------------------------------------------------- */

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

int claim_draft_new(const struct claim_draft_world *world, const struct dra_claim *asked,
		    const struct resourceclaim *object, struct prepared_claim **ret_claim,
		    struct err *err)
{
	struct prepared_claim *claim = xcalloc(1, sizeof(*claim));
	struct draft draft = { .world = world, .object = object, .claim = claim };
	int r = check_object(object, asked, err);

	claim->uid = xstrdup(asked->uid);
	claim->ns = xstrdup(asked->ns);
	claim->name = xstrdup(asked->name);
	claim->pod_claim = xstrdup_or_null(
		api_meta_annotation(&object->meta, RESOURCECLAIM_ANNOTATION_POD_CLAIM));
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
