#include "agent/dra/prepared.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"

enum {
	VERSION = 1,         /* of checkpoints; others are not read: they may differ in meaning */
	BINDING_VERSION = 2, /* of a claim whose devices are being bound; earlier agents skip it */
	CHECKPOINT_MAX = 1 << 20,
	CHECKPOINT_MODE = 0600,
	FOLDER_MODE = 0750, /* as the kubelet's own folders */
};

#define SUFFIX ".json"

struct prepared {
	char *dir;
	char *boot;
	struct map *claims; /* of struct prepared_claim, by UID */
};

/* --- a checkpoint ----------------------------------------------------------------------------- */

#define S struct prepared_device
static const struct json_row device_map[] = {
	JSON_STR(S, request, "request", JSON_REQUIRED),
	JSON_STR(S, pool, "pool", JSON_REQUIRED),
	JSON_STR(S, device, "device", JSON_REQUIRED),
	JSON_STR(S, id, "id", JSON_REQUIRED),
	JSON_STR(S, resource, "resource", JSON_REQUIRED),
	JSON_STR(S, iommu_group, "iommuGroup", JSON_OPTIONAL),
	JSON_STR(S, attributes, "attributes", JSON_REQUIRED),
	JSON_BOOL(S, on_demand, "onDemand", JSON_OPTIONAL),
	JSON_END,
};
#undef S

#define S struct prepared_node
static const struct json_row node_map[] = {
	JSON_STR(S, path, "path", JSON_REQUIRED),
	JSON_STR(S, host_path, "hostPath", JSON_REQUIRED),
	JSON_STR(S, permissions, "permissions", JSON_REQUIRED),
	JSON_END,
};
#undef S

#define S struct prepared_mount
static const struct json_row mount_map[] = {
	JSON_STR(S, path, "path", JSON_REQUIRED),
	JSON_STR(S, host_path, "hostPath", JSON_REQUIRED),
	JSON_BOOL(S, read_only, "readOnly", JSON_OPTIONAL),
	JSON_END,
};
#undef S

#define S struct prepared_request
static const struct json_row request_map[] = {
	JSON_STR(S, name, "name", JSON_REQUIRED),
	JSON_LIST(S, nodes, "nodes", JSON_OPTIONAL, struct prepared_node, node_map),
	JSON_LIST(S, mounts, "mounts", JSON_OPTIONAL, struct prepared_mount, mount_map),
	JSON_END,
};
#undef S

#define S struct prepared_claim
static const struct json_row claim_map[] = {
	JSON_INT(S, version, "version", JSON_REQUIRED),
	JSON_STR(S, boot, "boot", JSON_REQUIRED),
	JSON_STR(S, uid, "uid", JSON_REQUIRED),
	JSON_STR(S, ns, "namespace", JSON_REQUIRED),
	JSON_STR(S, name, "name", JSON_REQUIRED),
	JSON_STR(S, pod_claim, "podClaimName", JSON_OPTIONAL),
	JSON_BOOL(S, binding, "binding", JSON_OPTIONAL),
	JSON_BOOL(S, told, "told", JSON_OPTIONAL),
	JSON_LIST(S, devices, "devices", JSON_OPTIONAL, struct prepared_device, device_map),
	JSON_LIST(S, requests, "requests", JSON_OPTIONAL, struct prepared_request, request_map),
	JSON_PAIRS(S, envs, "envs", JSON_OPTIONAL),
	JSON_END,
};
#undef S

struct prepared_claim *prepared_claim_free(struct prepared_claim *claim)
{
	if (claim)
		json_map_done(claim_map, claim);
	free(claim);
	return NULL;
}

struct prepared_claim *prepared_claim_copy(const struct prepared_claim *claim)
{
	struct prepared_claim *copy = xcalloc(1, sizeof(*copy));

	json_map_copy(claim_map, copy, claim);
	return copy;
}

/* "<UID>.json" */
static char *checkpoint_name(const char *uid)
{
	return xasprintf("%s" SUFFIX, uid);
}

static int checkpoint_read(int dir_fd, const char *name, struct prepared_claim *claim,
			   struct err *err)
{
	auto_free char *text = NULL;
	auto_free char *own = NULL;
	size_t len = 0;
	int r = file_read(dir_fd, name, CHECKPOINT_MAX, &text, &len, err);

	if (r == 0)
		r = json_map_parse(claim_map, text, len, claim, err);
	if (r < 0)
		return err_wrap(err, "checkpoint '%s'", name);
	own = checkpoint_name(claim->uid);
	if (claim->version != (claim->binding ? BINDING_VERSION : VERSION))
		return err_set(err, ERR_INVALID, -EPROTO,
			       "checkpoint '%s' has version %d, and this agent knows %d", name,
			       claim->version, VERSION);
	if (strcmp(own, name) != 0)
		return err_set(err, ERR_INVALID, -EINVAL, "checkpoint '%s' is that of claim '%s'",
			       name, claim->uid);
	return 0;
}

static bool is_checkpoint(const char *name)
{
	size_t len = strlen(name);

	return len > strlen(SUFFIX) && strcmp(name + len - strlen(SUFFIX), SUFFIX) == 0;
}

static void take_checkpoint(struct prepared *prepared, int dir_fd, const char *name)
{
	struct prepared_claim *claim = xcalloc(1, sizeof(*claim));
	struct err err = { 0 };

	if (checkpoint_read(dir_fd, name, claim, &err) < 0) {
		log_error("a prepared ResourceClaim is not known: its checkpoint cannot be read",
			  log_str("folder", prepared->dir), log_str("reason", err.msg));
		prepared_claim_free(claim);
		return;
	}
	prepared_claim_free(map_set(prepared->claims, claim->uid, claim));
}

static void read_all(struct prepared *prepared)
{
	auto_dir DIR *dir = opendir(prepared->dir);
	const struct dirent *entry;

	if (!dir && errno != ENOENT)
		log_error("prepared ResourceClaims are not known: their checkpoints cannot be read",
			  log_str("folder", prepared->dir), log_str("reason", strerror(errno)));
	while (dir && (entry = readdir(dir))) {
		if (is_checkpoint(entry->d_name))
			take_checkpoint(prepared, dirfd(dir), entry->d_name);
	}
}

/* --- all of them ------------------------------------------------------------------------------ */

struct prepared *prepared_new(const char *dir, const char *boot)
{
	struct prepared *prepared = xcalloc(1, sizeof(*prepared));

	prepared->dir = xstrdup(dir);
	prepared->boot = xstrdup(boot);
	prepared->claims = map_new();
	read_all(prepared);
	return prepared;
}

struct prepared *prepared_free(struct prepared *prepared)
{
	size_t cursor = 0;
	void *claim = NULL;

	if (!prepared)
		return NULL;
	while (map_next(prepared->claims, &cursor, NULL, &claim))
		prepared_claim_free(claim);
	map_free(prepared->claims);
	free(prepared->dir);
	free(prepared->boot);
	free(prepared);
	return NULL;
}

const struct prepared_claim *prepared_get(const struct prepared *prepared, const char *uid)
{
	return map_get(prepared->claims, uid);
}

bool prepared_is_stale(const struct prepared *prepared, const struct prepared_claim *claim)
{
	return strcmp(claim->boot, prepared->boot) != 0;
}

size_t prepared_len(const struct prepared *prepared)
{
	return map_len(prepared->claims);
}

const struct prepared_claim *prepared_next(const struct prepared *prepared, size_t *cursor)
{
	void *claim = NULL;

	return map_next(prepared->claims, cursor, NULL, &claim) ? claim : NULL;
}

const struct prepared_claim *prepared_holder(const struct prepared *prepared, const char *id)
{
	const struct prepared_claim *claim;
	size_t cursor = 0;

	while ((claim = prepared_next(prepared, &cursor))) {
		for (size_t i = 0; i < claim->devices.len; i++) {
			if (strcmp(claim->devices.items[i].id, id) == 0)
				return claim;
		}
	}
	return NULL;
}

static const char *id_of(const struct prepared_claim *claim, const char *device)
{
	for (size_t i = 0; i < claim->devices.len; i++) {
		if (strcmp(claim->devices.items[i].device, device) == 0)
			return claim->devices.items[i].id;
	}
	return NULL;
}

const char *prepared_device_id(const struct prepared *prepared, const char *ns, const char *name,
			       const char *device)
{
	const struct prepared_claim *claim;
	const char *id = NULL;
	size_t cursor = 0;

	while (!id && (claim = prepared_next(prepared, &cursor))) {
		if (strcmp(claim->ns, ns) == 0 && strcmp(claim->name, name) == 0)
			id = id_of(claim, device);
	}
	return id;
}

static const struct prepared_device *find_neighbour(const struct prepared_claim *claim,
						    const char *group, const char *id)
{
	for (size_t i = 0; i < claim->devices.len; i++) {
		const struct prepared_device *device = &claim->devices.items[i];

		if (str_match(device->iommu_group, group) && strcmp(device->id, id) != 0)
			return device;
	}
	return NULL;
}

const struct prepared_device *prepared_neighbour(const struct prepared *prepared, const char *group,
						 const char *id,
						 const struct prepared_claim **ret_claim)
{
	const struct prepared_device *device = NULL;
	const struct prepared_claim *claim = NULL;
	size_t cursor = 0;

	while (!device && (claim = prepared_next(prepared, &cursor)))
		device = find_neighbour(claim, group, id);
	if (device)
		*ret_claim = claim;
	return device;
}

int prepared_add(struct prepared *prepared, struct prepared_claim *claim, struct err *err)
{
	auto_free char *name = checkpoint_name(claim->uid);
	auto_json json_t *json = NULL;
	auto_free char *text = NULL;
	auto_close int dir_fd = -1;
	int r;

	claim->version = claim->binding ? BINDING_VERSION : VERSION;
	str_set(&claim->boot, prepared->boot);
	json = json_map_encode(claim_map, claim);
	text = json_map_text(json);
	r = dir_make_open(prepared->dir, FOLDER_MODE, &dir_fd, err);
	if (r == 0)
		r = file_swap_at(dir_fd, name, text, strlen(text), CHECKPOINT_MODE, err);
	if (r < 0) {
		prepared_claim_free(claim);
		return err_wrap(err, "checkpoint in '%s'", prepared->dir);
	}
	prepared_claim_free(map_set(prepared->claims, claim->uid, claim));
	return 0;
}

int prepared_remove(struct prepared *prepared, const char *uid, struct err *err)
{
	auto_free char *path = xasprintf("%s/%s" SUFFIX, prepared->dir, uid);

	if (unlink(path) < 0 && errno != ENOENT && errno != ENOTDIR)
		return err_set(err, ERR_RETRY, -errno, "remove '%s': %s", path, strerror(errno));
	prepared_claim_free(map_remove(prepared->claims, uid));
	return 0;
}
