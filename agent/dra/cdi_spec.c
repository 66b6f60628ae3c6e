#include "agent/dra/cdi_spec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/dra/dra_devices.h"
#include "agent/dra/prepared.h"
#include "api/json_map.h"
#include "api/resourceclaim.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

enum {
	CDI_FOLDER_MODE = 0755, /* as in container-device-interface  */
	FOLDER_MODE = 0750,     /* as the kubelet's own folders      */
	FILE_MODE = 0644,       /* readable by any user in the container */
	FILE_MAX = 1 << 20,
};

/* The lowest version that allows device names that begin with a digit, and a node's hostPath. CDI
 * libraries ignore files of versions that they do not know. */
#define CDI_VERSION "0.5.0"

#define METADATA_GROUP    "metadata.resource.k8s.io/"
#define METADATA_OLD      METADATA_GROUP "v1alpha1"
#define METADATA_NEW      METADATA_GROUP "v1beta1"
#define METADATA_FILE     DRA_DRIVER "-metadata.json"
#define METADATA_DIR      "/var/run/kubernetes.io/dra-device-attributes"
#define METADATA_DIR_1_8  "/var/run/dra-device-attributes"
#define METADATA_TEMPLATE "resourceclaimtemplates"
#define METADATA_CLAIM    "resourceclaims"

static const char spec_prefix[] = DRA_DRIVER "-device_";

/* --- names and paths -------------------------------------------------------------------------- */

static char *device_name(const struct prepared_claim *claim, const struct prepared_request *request)
{
	return xasprintf("%s-%s", claim->uid, request->name);
}

char *cdi_spec_id(const struct prepared_claim *claim, const struct prepared_request *request)
{
	return xasprintf(CDI_SPEC_KIND "=%s-%s", claim->uid, request->name);
}

static char *spec_name(const char *uid)
{
	return xasprintf("%s%s.json", spec_prefix, uid);
}

char *cdi_spec_path(const struct cdi_place *place, const char *uid)
{
	auto_free char *name = spec_name(uid);

	return xasprintf("%s/%s", place->cdi_dir, name);
}

static char *metadata_folder(const struct cdi_place *place, const char *uid)
{
	return xasprintf("%s/%s", place->metadata_dir, uid);
}

static char *metadata_name(const struct prepared_request *request, bool old)
{
	return xasprintf("%s%s", request->name, old ? ".v1alpha1.json" : ".json");
}

/* Where the container has the file: by KEP-5304, or (@old) where KubeVirt 1.8 looks for it.
 * KubeVirt finds out from the file's content whether the claim was made from a template. */
static char *metadata_path(const struct prepared_claim *claim,
			   const struct prepared_request *request, bool old)
{
	if (old)
		return xasprintf(METADATA_DIR_1_8 "/%s/%s/" METADATA_FILE, claim->name,
				 request->name);
	return xasprintf(METADATA_DIR "/%s/%s/%s/" METADATA_FILE,
			 claim->pod_claim ? METADATA_TEMPLATE : METADATA_CLAIM,
			 claim->pod_claim ? claim->pod_claim : claim->name, request->name);
}

/* --- the CDI file ----------------------------------------------------------------------------- */

static void add_mount(json_t *mounts, const char *host_path, const char *path, bool read_only)
{
	json_t *mount = json_object();
	json_t *options = json_array();

	json_put_text(mount, "hostPath", host_path);
	json_put_text(mount, "containerPath", path);
	json_add(options, json_string(read_only ? "ro" : "rw"));
	json_add(options, json_string("bind"));
	json_put(mount, "options", options);
	json_add(mounts, mount);
}

static void add_metadata(json_t *mounts, const struct cdi_place *place,
			 const struct prepared_claim *claim, const struct prepared_request *request,
			 bool old)
{
	auto_free char *folder = metadata_folder(place, claim->uid);
	auto_free char *name = metadata_name(request, old);
	auto_free char *host_path = xasprintf("%s/%s", folder, name);
	auto_free char *path = metadata_path(claim, request, old);

	add_mount(mounts, host_path, path, true);
}

static json_t *nodes_json(const struct prepared_request *request)
{
	json_t *nodes = json_array();

	for (size_t i = 0; i < request->nodes.len; i++) {
		const struct prepared_node *is = &request->nodes.items[i];
		json_t *node = json_object();

		json_put_text(node, "path", is->path);
		if (strcmp(is->path, is->host_path) != 0)
			json_put_text(node, "hostPath", is->host_path);
		json_put_text(node, "permissions", is->permissions);
		json_add(nodes, node);
	}
	return nodes;
}

static json_t *device_json(const struct cdi_place *place, const struct prepared_claim *claim,
			   const struct prepared_request *request)
{
	auto_free char *name = device_name(claim, request);
	json_t *device = json_object();
	json_t *edits = json_object();
	json_t *mounts = json_array();

	for (size_t i = 0; i < request->mounts.len; i++)
		add_mount(mounts, request->mounts.items[i].host_path, request->mounts.items[i].path,
			  request->mounts.items[i].read_only);
	add_metadata(mounts, place, claim, request, false);
	add_metadata(mounts, place, claim, request, true);
	json_put(edits, "deviceNodes", nodes_json(request));
	json_put(edits, "mounts", mounts);
	json_put_text(device, "name", name);
	json_put(device, "containerEdits", edits);
	return device;
}

/* The variables belong to the file, not to a device: a container gets all of them with any of the
 * devices. If two devices set one variable, the later device would override the earlier one. */
static json_t *envs_json(const struct prepared_claim *claim)
{
	json_t *edits = json_object();
	json_t *envs = json_array();

	for (size_t i = 0; i < claim->envs.len; i++) {
		auto_free char *env =
			xasprintf("%s=%s", claim->envs.items[i].key, claim->envs.items[i].value);

		json_add(envs, json_string(env));
	}
	json_put(edits, "env", envs);
	return edits;
}

char *cdi_spec_text(const struct cdi_place *place, const struct prepared_claim *claim)
{
	auto_json json_t *spec = json_object();
	json_t *devices = json_array();

	json_put_text(spec, "cdiVersion", CDI_VERSION);
	json_put_text(spec, "kind", CDI_SPEC_KIND);
	for (size_t i = 0; i < claim->requests.len; i++)
		json_add(devices, device_json(place, claim, &claim->requests.items[i]));
	json_put(spec, "devices", devices);
	if (claim->envs.len > 0)
		json_put(spec, "containerEdits", envs_json(claim));
	return json_map_text(spec);
}

/* --- the metadata ----------------------------------------------------------------------------- */

static json_t *attributes_json(const struct prepared_device *device)
{
	json_t *attributes = NULL;

	if (json_map_load(device->attributes, strlen(device->attributes), &attributes, NULL) < 0)
		return json_object();
	return attributes;
}

/* One entry per request: only one of its alternatives ("a/b", "a/c") is ever allocated. */
static json_t *requests_json(const struct prepared_claim *claim,
			     const struct prepared_request *request)
{
	json_t *requests = json_array();
	json_t *entry = json_object();
	json_t *devices = json_array();

	for (size_t i = 0; i < claim->devices.len; i++) {
		const struct prepared_device *is = &claim->devices.items[i];
		auto_free char *base = resourceclaim_base_request(is->request);
		json_t *device;

		if (strcmp(base, request->name) != 0)
			continue;
		if (!json_object_get(entry, "name"))
			json_put_text(entry, "name", is->request);
		device = json_object();
		json_put_text(device, "driver", DRA_DRIVER);
		json_put_text(device, "pool", is->pool);
		json_put_text(device, "name", is->device);
		json_put(device, "attributes", attributes_json(is));
		json_add(devices, device);
	}
	json_put(entry, "devices", devices);
	json_add(requests, entry);
	return requests;
}

static void add_object(struct str *text, const char *version, const struct prepared_claim *claim,
		       const struct prepared_request *request)
{
	auto_json json_t *object = json_object();
	auto_free char *line = NULL;
	json_t *meta = json_object();

	json_put_text(object, "apiVersion", version);
	json_put_text(object, "kind", "DeviceMetadata");
	json_put_text(meta, "name", claim->name);
	json_put_text(meta, "namespace", claim->ns);
	json_put_text(meta, "uid", claim->uid);
	json_put(meta, "generation", json_integer(1));
	json_put(object, "metadata", meta);
	if (claim->pod_claim)
		json_put_text(object, "podClaimName", claim->pod_claim);
	json_put(object, "requests", requests_json(claim, request));
	line = json_map_text(object);
	str_addf(text, "%s\n", line);
}

/* A reader uses the first object whose version it knows. KubeVirt 1.8 reads a single object of any
 * version, so the @old file has only one. */
static char *metadata_text(const struct prepared_claim *claim,
			   const struct prepared_request *request, bool old)
{
	auto_str struct str text = STR_INIT;

	if (!old)
		add_object(&text, METADATA_NEW, claim, request);
	add_object(&text, METADATA_OLD, claim, request);
	return str_detach(&text);
}

/* --- the files -------------------------------------------------------------------------------- */

/* enum cdi_spec_written, or < 0. */
static int put(int dir_fd, const char *name, const char *text, struct err *err)
{
	auto_free char *is = NULL;
	auto_free char *line = xasprintf("%s\n", text);
	int r;

	/* file_read() removes the newline at the end. */
	if (file_read(dir_fd, name, FILE_MAX, &is, NULL, NULL) == 0 && strcmp(is, text) == 0)
		return CDI_SPEC_SAME;
	r = file_swap_at(dir_fd, name, line, strlen(line), FILE_MODE, err);
	return r < 0 ? r : CDI_SPEC_WRITTEN;
}

static int write_metadata(const struct cdi_place *place, const struct prepared_claim *claim,
			  struct err *err)
{
	auto_free char *folder = metadata_folder(place, claim->uid);
	auto_close int dir_fd = -1;
	int written = CDI_SPEC_SAME;
	int r = dir_make_open(folder, FOLDER_MODE, &dir_fd, err);

	for (size_t i = 0; r >= 0 && i < 2 * claim->requests.len; i++) {
		const struct prepared_request *request = &claim->requests.items[i / 2];
		bool old = i % 2;
		auto_free char *name = metadata_name(request, old);
		auto_free char *text = metadata_text(claim, request, old);

		text[strlen(text) - 1] = '\0';
		r = put(dir_fd, name, text, err);
		if (r > 0)
			written = r;
	}
	return r < 0 ? err_wrap(err, "metadata in '%s'", folder) : written;
}

static int write_spec(const struct cdi_place *place, const struct prepared_claim *claim,
		      struct err *err)
{
	auto_free char *name = spec_name(claim->uid);
	auto_free char *text = cdi_spec_text(place, claim);
	auto_close int dir_fd = -1;
	int r = dir_make_open(place->cdi_dir, CDI_FOLDER_MODE, &dir_fd, err);

	if (r == 0)
		r = put(dir_fd, name, text, err);
	return r < 0 ? err_wrap(err, "CDI file in '%s'", place->cdi_dir) : r;
}

int cdi_spec_write(const struct cdi_place *place, const struct prepared_claim *claim,
		   struct err *err)
{
	int metadata = write_metadata(place, claim, err);
	int spec = metadata < 0 ? metadata : write_spec(place, claim, err);

	return spec == CDI_SPEC_SAME ? metadata : spec;
}

static int remove_metadata(const struct cdi_place *place, const char *uid, struct err *err)
{
	auto_free char *folder = metadata_folder(place, uid);
	auto_dir DIR *dir = opendir(folder);
	const struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		(void)unlinkat(dirfd(dir), entry->d_name, 0); /* not "." and ".." */
	if (rmdir(folder) < 0 && errno != ENOENT && errno != ENOTDIR)
		return err_set(err, ERR_RETRY, -errno, "remove the folder '%s': %s", folder,
			       strerror(errno));
	return 0;
}

int cdi_spec_remove(const struct cdi_place *place, const char *uid, struct err *err)
{
	auto_free char *path = cdi_spec_path(place, uid);
	auto_free char *part = xasprintf("%s.new", path);

	(void)unlink(part);
	if (unlink(path) < 0 && errno != ENOENT && errno != ENOTDIR)
		return err_set(err, ERR_RETRY, -errno, "remove '%s': %s", path, strerror(errno));
	return remove_metadata(place, uid, err);
}
