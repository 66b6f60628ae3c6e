#include "agent/nvidia/nvidia_config.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "agent/nvidia/nvidia_type.h"
#include "api/json_map.h"
#include "api/names.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "kube/yaml.h"

#define PREFIX   "nvidia.com/"
#define MPS_ROOT "/run/nvidia/mps"

/* --- the file, where it has one form ---------------------------------------------------------- */

struct file_resource {
	char *name;
	char *rename;
	int replicas;
};

struct file_replicated {
	bool rename;
	bool single;
	struct {
		struct file_resource *items;
		size_t len, cap;
	} resources;
};

struct file_sharing {
	struct file_replicated slicing;
	struct file_replicated mps;
};

struct file_plugin {
	bool nodes;
	char *ids;
	char *policy;
};

struct file_flags {
	bool gds, mofed, gdrcopy;
	char *mig;
	char *mps_root;
	struct file_plugin plugin;
};

struct file_imex {
	bool required;
};

struct file {
	char *version;
	struct file_flags flags;
	struct file_sharing sharing;
	struct file_imex imex;
};

static const struct json_row resource_map[] = {
	JSON_STR(struct file_resource, name, "name", JSON_REQUIRED),
	JSON_STR(struct file_resource, rename, "rename", JSON_OPTIONAL),
	JSON_INT(struct file_resource, replicas, "replicas", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row replicated_map[] = {
	JSON_BOOL(struct file_replicated, rename, "renameByDefault", JSON_OPTIONAL),
	JSON_BOOL(struct file_replicated, single, "failRequestsGreaterThanOne", JSON_OPTIONAL),
	JSON_LIST(struct file_replicated, resources, "resources", JSON_OPTIONAL,
		  struct file_resource, resource_map),
	JSON_END,
};

static const struct json_row sharing_map[] = {
	JSON_STRUCT(struct file_sharing, slicing, "timeSlicing", JSON_OPTIONAL,
		    struct file_replicated, replicated_map),
	JSON_STRUCT(struct file_sharing, mps, "mps", JSON_OPTIONAL, struct file_replicated,
		    replicated_map),
	JSON_END,
};

static const struct json_row plugin_map[] = {
	JSON_BOOL(struct file_plugin, nodes, "passDeviceSpecs", JSON_OPTIONAL),
	JSON_STR(struct file_plugin, ids, "deviceIDStrategy", JSON_OPTIONAL),
	JSON_STR(struct file_plugin, policy, "sharedDevicesAllocationPolicy", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row flags_map[] = {
	JSON_BOOL(struct file_flags, gds, "gdsEnabled", JSON_OPTIONAL),
	JSON_BOOL(struct file_flags, mofed, "mofedEnabled", JSON_OPTIONAL),
	JSON_BOOL(struct file_flags, gdrcopy, "gdrcopyEnabled", JSON_OPTIONAL),
	JSON_STR(struct file_flags, mig, "migStrategy", JSON_OPTIONAL),
	JSON_STR(struct file_flags, mps_root, "mpsRoot", JSON_OPTIONAL),
	JSON_STRUCT(struct file_flags, plugin, "plugin", JSON_OPTIONAL, struct file_plugin,
		    plugin_map),
	JSON_END,
};

static const struct json_row imex_map[] = {
	JSON_BOOL(struct file_imex, required, "required", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row file_map[] = {
	JSON_STR(struct file, version, "version", JSON_OPTIONAL),
	JSON_STRUCT(struct file, flags, "flags", JSON_OPTIONAL, struct file_flags, flags_map),
	JSON_STRUCT(struct file, sharing, "sharing", JSON_OPTIONAL, struct file_sharing,
		    sharing_map),
	JSON_STRUCT(struct file, imex, "imex", JSON_OPTIONAL, struct file_imex, imex_map),
	JSON_END,
};

/* The value at "flags.plugin.deviceListStrategy"; NULL: there is none. Borrowed. */
static json_t *value_at(json_t *root, const char *path)
{
	auto_free char *copy = xstrdup(path);
	char *rest = copy;
	char *key;

	while (root && (key = strsep(&rest, ".")))
		root = json_object_get(root, key);
	return json_is_null(root) ? NULL : root;
}

/* --- fields ----------------------------------------------------------------------------------- */

/* True if @text is the second of two words, false if it is the first or NULL. */
static int take_choice(const char *field, const char *text, const char *const words[2],
		       bool *ret_second, struct err *err)
{
	*ret_second = text && strcmp(text, words[1]) == 0;
	if (!text || *ret_second || strcmp(text, words[0]) == 0)
		return 0;
	return err_set(err, ERR_INVALID, -EINVAL, "%s: expected %s or %s, got '%.64s'", field,
		       words[0], words[1], text);
}

static int take_list(json_t *value, unsigned *lists, struct err *err)
{
	const char *text = json_string_value(value);
	unsigned list = text ? nvidia_list_from_text(text) : 0;

	*lists |= list;
	if (list)
		return 0;
	return err_set(err, ERR_INVALID, -EINVAL,
		       "flags.plugin.deviceListStrategy: expected envvar, volume-mounts, "
		       "cdi-annotations or cdi-cri, got '%.64s'",
		       text ? text : "another type");
}

/* One word or a list of them. */
static int take_lists(json_t *value, unsigned *lists, struct err *err)
{
	json_t *item;
	size_t i;

	if (!value)
		return 0;
	if (!json_is_array(value))
		return take_list(value, lists, err);
	json_array_foreach (value, i, item) {
		if (take_list(item, lists, err) < 0)
			return err->code;
	}
	return 0;
}

static int take_flags(json_t *root, const struct file_flags *flags, struct nvidia_config *config,
		      struct err *err)
{
	const struct file_plugin *plugin = &flags->plugin;
	static const char *const policies[] = { "distributed", "packed" };
	static const char *const ids[] = { "uuid", "index" };

	config->nodes = plugin->nodes;
	config->gds = flags->gds;
	config->mofed = flags->mofed;
	config->gdrcopy = flags->gdrcopy;
	if (flags->mig && !nvidia_mig_strategy_from_text(flags->mig, &config->mig))
		return err_set(err, ERR_INVALID, -EINVAL,
			       "flags.migStrategy: expected none, single or mixed, got '%.64s'",
			       flags->mig);
	if (take_choice("flags.plugin.sharedDevicesAllocationPolicy", plugin->policy, policies,
			&config->packed, err) < 0 ||
	    take_choice("flags.plugin.deviceIDStrategy", plugin->ids, ids, &config->by_index, err) <
		    0)
		return err->code;
	return take_lists(value_at(root, "flags.plugin.deviceListStrategy"), &config->lists, err);
}

static bool asks_for_something(const json_t *value, const char *harmless)
{
	if (json_is_string(value))
		return *json_string_value(value) && strcmp(json_string_value(value), harmless) != 0;
	return json_is_true(value) || json_array_size(value) > 0;
}

static void list_ignored(json_t *root, struct nvidia_config *config)
{
	static const struct {
		const char *path;
		const char *harmless;
	} fields[] = {
		{ "flags.nvidiaDriverRoot", "/" },
		{ "flags.nvidiaDevRoot", "/" },
		{ "flags.plugin.cdiAnnotationPrefix", "cdi.k8s.io/" },
	};

	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		if (asks_for_something(value_at(root, fields[i].path), fields[i].harmless))
			json_strs_add(&config->ignored, fields[i].path);
	}
}

/* [], or one channel: 0. A number or a text. */
static int take_imex(json_t *root, const struct file_imex *file, struct nvidia_config *config,
		     struct err *err)
{
	const json_t *list = value_at(root, "imex.channelIDs");
	const json_t *id = json_array_get(list, 0);
	const char *text = json_string_value(id);

	if (!list || (json_is_array(list) && json_array_size(list) == 0))
		return 0;
	if (json_array_size(list) != 1 || !((text && strcmp(text, "0") == 0) ||
					    (json_is_integer(id) && json_integer_value(id) == 0)))
		return err_set(err, ERR_INVALID, -EINVAL, "imex.channelIDs: expected [] or [0]");
	config->imex = true;
	config->imex_required = file->required;
	return 0;
}

/* --- shared devices --------------------------------------------------------------------------- */

static int take_name(const char *text, const char *end, char **ret_name, struct err *err)
{
	bool whole = strncmp(text, PREFIX, strlen(PREFIX)) == 0;
	auto_free char *name = xasprintf("%s%.128s%s", whole ? "" : PREFIX, text, end);

	if (!names_valid_offered_resource(name))
		return err_set(err, ERR_INVALID, -EINVAL, "not a resource's name: '%.128s'", name);
	*ret_name = take_ptr(name);
	return 0;
}

/* "0", "0:1", "GPU-...", "MIG-..." */
static bool is_device(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	if (strncmp(text, "GPU-", 4) == 0 || strncmp(text, "MIG-", 4) == 0)
		return true;
	if (digits > 0 && text[digits] == ':' && text[digits + 1])
		return text[digits + 1 + strspn(text + digits + 1, "0123456789")] == '\0';
	return digits > 0 && text[digits] == '\0';
}

static int add_device(const json_t *value, struct json_strs *devices, struct err *err)
{
	auto_free char *text = NULL;

	if (json_is_integer(value) && json_integer_value(value) >= 0)
		text = xasprintf("%lld", (long long)json_integer_value(value));
	else if (json_is_string(value))
		text = xstrdup(json_string_value(value));
	if (!text || !is_device(text) || strlen(text) > 96)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "devices: expected an index or a UUID, got '%.96s'",
			       text ? text : "another type");
	if (!json_strs_add_new(devices, text))
		return err_set(err, ERR_INVALID, -EINVAL, "devices: '%s' is there twice", text);
	return 0;
}

static int take_devices(const json_t *value, struct nvidia_sharing *sharing, struct err *err)
{
	const char *text = json_string_value(value);
	json_int_t count = json_integer_value(value);
	const json_t *item;
	size_t i;

	sharing->all = !value || json_is_null(value) || (text && strcmp(text, "all") == 0);
	if (count > 0 && count <= NVIDIA_SHARED_MAX)
		sharing->count = (unsigned)count;
	if (sharing->all || sharing->count)
		return 0;
	if (json_array_size(value) == 0 || json_array_size(value) > NVIDIA_SHARED_MAX)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "devices: expected all, a number, or a list of indexes and UUIDs, "
			       "with 1 to %d devices",
			       NVIDIA_SHARED_MAX);
	json_array_foreach (value, i, item) {
		if (add_device(item, &sharing->devices, err) < 0)
			return err->code;
	}
	return 0;
}

/* One of the two ways to share devices. */
struct sharing_way {
	const char *field; /* "sharing.mps.resources" */
	int replicas_max;
	const struct file_replicated *file;
	bool single;
};

/* An entry that no device can belong to is a mistake. */
static int check_earlier(const struct nvidia_config *config, const struct nvidia_sharing *sharing,
			 const char *field, struct err *err)
{
	for (size_t i = 0; i < config->sharings.len; i++) {
		const struct nvidia_sharing *earlier = &config->sharings.items[i];

		if (earlier == sharing || strcmp(earlier->resource, sharing->resource) != 0)
			continue;
		if (earlier->all)
			return err_set(err, ERR_INVALID, -EINVAL,
				       "name: %s[%zu] already shares all devices of %s", field, i,
				       sharing->resource);
		for (size_t k = 0; k < sharing->devices.len; k++) {
			if (json_strs_has(&earlier->devices, sharing->devices.items[k]))
				return err_set(err, ERR_INVALID, -EINVAL,
					       "devices: '%s' is also in %s[%zu]",
					       sharing->devices.items[k], field, i);
		}
	}
	return 0;
}

static int take_sharing(const struct sharing_way *way, const struct file_resource *resource,
			const json_t *devices, struct nvidia_config *config, struct err *err)
{
	struct nvidia_sharing *sharing = array_add(&config->sharings);
	const char *name = resource->rename ? resource->rename : resource->name;

	if (take_name(resource->name, "", &sharing->resource, err) < 0 ||
	    take_name(name, way->file->rename && !resource->rename ? ".shared" : "", &sharing->name,
		      err) < 0)
		return err->code;
	if (resource->replicas < 2 || resource->replicas > way->replicas_max)
		return err_set(err, ERR_INVALID, -EINVAL, "replicas: expected 2 to %d, got %d",
			       way->replicas_max, resource->replicas);
	sharing->replicas = (unsigned)resource->replicas;
	if (take_devices(devices, sharing, err) < 0)
		return err->code;
	return check_earlier(config, sharing, way->field, err);
}

static int take_way(json_t *root, const struct sharing_way *way, struct nvidia_config *config,
		    struct err *err)
{
	const json_t *list = value_at(root, way->field);
	size_t len = way->file->resources.len;

	config->single = way->single;
	if (len == 0 || len > NVIDIA_SHARINGS_MAX)
		return err_set(err, ERR_INVALID, -EINVAL, "%s: expected 1 to %d resources, got %zu",
			       way->field, NVIDIA_SHARINGS_MAX, len);
	for (size_t i = 0; i < len; i++) {
		const json_t *devices = json_object_get(json_array_get(list, i), "devices");

		if (take_sharing(way, &way->file->resources.items[i], devices, config, err) < 0)
			return err_wrap(err, "%s[%zu]", way->field, i);
	}
	return 0;
}

/* As in NVIDIA's plugin, MPS goes before time-slicing, and its shares are given one at a time
 * unless the file says otherwise. */
static int take_mps(json_t *root, const struct file *file, struct nvidia_config *config,
		    struct err *err)
{
	const struct file_replicated *mps = &file->sharing.mps;
	const char *path = file->flags.mps_root ? file->flags.mps_root : MPS_ROOT;
	bool says = value_at(root, "sharing.mps.failRequestsGreaterThanOne");

	if (path[0] != '/' || strlen(path) > NVIDIA_MPS_ROOT_MAX)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "flags.mpsRoot: expected an absolute path of at most %d bytes, got "
			       "'%.64s'",
			       NVIDIA_MPS_ROOT_MAX, path);
	config->mps_root = xstrdup(path);
	return take_way(root,
			&(struct sharing_way){ "sharing.mps.resources", NVIDIA_MPS_CLIENTS_MAX, mps,
					       !says || mps->single },
			config, err);
}

static int take_sharings(json_t *root, const struct file *file, struct nvidia_config *config,
			 struct err *err)
{
	const struct file_replicated *slicing = &file->sharing.slicing;

	if (value_at(root, "sharing.mps"))
		return take_mps(root, file, config, err);
	if (!value_at(root, "sharing.timeSlicing"))
		return 0;
	return take_way(root,
			&(struct sharing_way){ "sharing.timeSlicing.resources", NVIDIA_REPLICAS_MAX,
					       slicing, slicing->single },
			config, err);
}

/* --- all of it -------------------------------------------------------------------------------- */

static int take(json_t *root, const struct file *file, struct nvidia_config *config,
		struct err *err)
{
	if (file->version && strcmp(file->version, "v1") != 0)
		return err_set(err, ERR_INVALID, -EINVAL, "unknown version: '%.32s'",
			       file->version);
	if (take_flags(root, &file->flags, config, err) < 0 ||
	    take_imex(root, &file->imex, config, err) < 0 ||
	    take_sharings(root, file, config, err) < 0)
		return err->code;
	list_ignored(root, config);
	return 0;
}

static int read_file(json_t *root, struct nvidia_config *config, struct err *err)
{
	struct file file;
	int r;

	/* An empty file asks for nothing. */
	if (json_is_null(root))
		return 0;
	r = json_map_decode(file_map, root, &file, err);
	if (r < 0)
		return r;
	r = take(root, &file, config, err);
	json_map_done(file_map, &file);
	return r;
}

int nvidia_config_parse(const char *name, const char *text, size_t len,
			struct nvidia_config *ret_config, struct err *err)
{
	struct nvidia_config config = { 0 };
	json_t *root = NULL;
	int r;

	if (len > NVIDIA_CONFIG_MAX)
		return err_set(err, ERR_INVALID, -EFBIG, "%s: more than %d bytes", name,
			       NVIDIA_CONFIG_MAX);
	r = yaml_parse(name, text, len, &root, err);
	if (r < 0)
		return r;
	r = read_file(root, &config, err);
	json_decref(root);
	if (r < 0) {
		nvidia_config_done(&config);
		return err_wrap(err, "%s", name);
	}
	*ret_config = config;
	return 0;
}

void nvidia_config_done(struct nvidia_config *config)
{
	for (size_t i = 0; i < config->sharings.len; i++) {
		free(config->sharings.items[i].resource);
		free(config->sharings.items[i].name);
		json_strs_done(&config->sharings.items[i].devices);
	}
	array_done(&config->sharings);
	free(config->mps_root);
	json_strs_done(&config->ignored);
	*config = (struct nvidia_config){ 0 };
}
