#include "agent/hami/hami.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "agent/hami/hami_config.h"
#include "agent/hami/hami_hook.h"
#include "agent/hami/hami_node.h"
#include "agent/hami/hami_pod.h"
#include "agent/hami/hami_request.h"
#include "agent/hami/hami_serve.h"
#include "agent/node/this_node.h"
#include "agent/nvidia/nvidia.h"
#include "agent/nvidia/nvidia_devices.h"
#include "agent/nvidia/nvidia_gpus.h"
#include "agent/nvidia/nvidia_type.h"
#include "agent/plugin/device_type.h"
#include "agent/plugin/plugins.h"
#include "api/json_values.h"
#include "base/array.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"

enum { LATER_MS = 5000, PERCENT = 100 };

struct hami {
	const struct this_node *node;
	struct hami_options options;
	struct hami_deps deps;
	struct hami_node *annotations;
	struct hami_serve *serve;
	struct hami_hook hook;
	struct clock_timer *look;

	bool is_read; /* `config` holds what the files say, or there are no files */
	struct hami_config config;
	char *cluster_text, *node_text; /* the files as last read             */
	char *config_trouble;           /* the last one logged; NULL: none    */
	char *hook_trouble;             /* likewise                           */
	struct json_strs left_out;      /* GPUs that the log says are not offered */
};

/* --- the configuration ------------------------------------------------------------------------ */

/* The content of a file; no text if there is no file. */
struct text {
	char *text;
	size_t len;
};

static int read_text(const char *path, struct text *ret_text, struct err *err)
{
	if (!path)
		return 0;
	return file_read(AT_FDCWD, path, HAMI_CONFIG_MAX, &ret_text->text, &ret_text->len, err);
}

/* @config has the defaults. */
static int parse(const struct hami *hami, const struct text *cluster, const struct text *own,
		 struct hami_config *config, struct err *err)
{
	const struct hami_options *options = &hami->options;

	if (cluster->text && hami_config_take_cluster(options->config_file, cluster->text,
						      cluster->len, config, err) < 0)
		return err->code;
	if (own->text && hami_config_take_node(options->node_config_file, own->text, own->len,
					       hami->node->name, config, err) < 0)
		return err->code;
	return 0;
}

/* 1: the configuration has changed; 0: it has not. Takes the texts that it uses. */
static int use_texts(struct hami *hami, struct text *cluster, struct text *own, struct err *err)
{
	struct hami_config config;

	if (hami->is_read && str_equal(cluster->text, hami->cluster_text) &&
	    str_equal(own->text, hami->node_text))
		return 0;
	hami_config_init(&config);
	if (parse(hami, cluster, own, &config, err) < 0) {
		hami_config_done(&config);
		return err->code;
	}
	hami_config_done(&hami->config);
	hami->config = config;
	free(hami->cluster_text);
	free(hami->node_text);
	hami->cluster_text = take_ptr(cluster->text);
	hami->node_text = take_ptr(own->text);
	hami->is_read = true;
	return 1;
}

static int read_config(struct hami *hami, struct err *err)
{
	struct text cluster = { 0 };
	struct text own = { 0 };
	int r = read_text(hami->options.config_file, &cluster, err);

	if (r == 0)
		r = read_text(hami->options.node_config_file, &own, err);
	if (r == 0)
		r = use_texts(hami, &cluster, &own, err);
	free(cluster.text);
	free(own.text);
	return r;
}

/* Log @trouble unless it was logged last. */
static void log_trouble(const char *message, const char *trouble, char **logged)
{
	if (trouble && !str_equal(trouble, *logged))
		log_error(message, log_str("reason", trouble));
	free(*logged);
	*logged = xstrdup_or_null(trouble);
}

static bool look_at_config(struct hami *hami)
{
	struct err err = { 0 };
	int r = read_config(hami, &err);

	log_trouble("HAMi's configuration cannot be used", r < 0 ? err.msg : NULL,
		    &hami->config_trouble);
	return r > 0;
}

static bool look_at_hook(struct hami *hami)
{
	bool changed = hami_hook_look(&hami->hook);

	log_trouble("no container can get a GPU", hami->hook.trouble, &hami->hook_trouble);
	return changed;
}

static void on_look(void *arg)
{
	struct hami *hami = arg;
	bool changed = look_at_config(hami);

	changed = look_at_hook(hami) || changed;
	clock_timer_start(hami->node->clock, hami->look, HAMI_LOOK_MS);
	if (changed)
		hami->deps.changed(hami->deps.arg);
}

/* --- units ------------------------------------------------------------------------------------ */

/* The GPUs to divide, in the order of their addresses. The strings are borrowed from them. */
struct units {
	struct hami_gpu *items;
	size_t len, cap;
};

/* Why @gpu is not divided; NULL: it is. */
static const char *exclusion(const struct nvidia_gpu *gpu, uint64_t memory_mib)
{
	if (gpu->has_mig)
		return "it is in MIG mode, which this agent does not divide for HAMi";
	if (memory_mib == 0)
		return "NVIDIA's library does not tell its memory; set preConfiguredDeviceMemory";
	return NULL;
}

/* The GPUs of @type to divide: all except those in MIG mode, those that the configuration excludes,
 * and those whose UUID or memory is unknown. GPUs in MIG mode or without known memory are added to
 * @left_out ("GPU-...: it is in MIG mode"), which may be NULL. */
static void units_make(const struct nvidia_type *type, const struct hami_config *config,
		       struct units *ret_units, struct json_strs *left_out)
{
	struct units units = { 0 };

	for (size_t i = 0; i < type->gpus->len; i++) {
		const struct nvidia_gpu *gpu = &type->gpus->items[i];
		const struct nvidia_device device = { .gpu = gpu, .uuid = gpu->uuid };
		uint64_t mib = gpu->memory_mib > 0 ? (uint64_t)gpu->memory_mib : config->memory_mib;
		const char *excluded;

		if (!gpu->uuid || hami_config_filters(config, gpu->uuid, gpu->index) ||
		    (mib == 0 && !gpu->looked))
			continue;
		excluded = exclusion(gpu, mib);
		if (excluded && left_out) {
			auto_free char *text = xasprintf("%s: %s", gpu->uuid, excluded);

			json_strs_add(left_out, text);
		}
		if (excluded)
			continue;
		*array_add(&units) = (struct hami_gpu){
			.uuid = gpu->uuid,
			.name = gpu->name,
			.index = gpu->index,
			.numa_node = gpu->numa_node,
			.count = config->split,
			.memory_mib = mib * config->memory / HAMI_WHOLE,
			.cores = (uint64_t)PERCENT * config->cores / HAMI_WHOLE,
			.trouble = nvidia_type_trouble(type, &device),
		};
	}
	*ret_units = units;
}

static const struct hami_gpu *find_gpu(const struct units *units, const char *uuid)
{
	for (size_t i = 0; i < units->len; i++) {
		if (strcmp(units->items[i].uuid, uuid) == 0)
			return &units->items[i];
	}
	return NULL;
}

static int check_share(const struct hami_gpu *gpu, const struct hami_share *share, struct err *err)
{
	if (!gpu)
		return err_set(err, ERR_INVALID, -ENODEV, "the node offers no GPU '%s'",
			       share->uuid);
	if (gpu->trouble)
		return err_set(err, ERR_INVALID, -EHOSTDOWN, "GPU '%s' is not available: %s",
			       share->uuid, gpu->trouble);
	if (share->memory_mib > gpu->memory_mib)
		return err_set(err, ERR_INVALID, -ERANGE,
			       "%llu MiB of the GPU '%s', which has %llu",
			       (unsigned long long)share->memory_mib, share->uuid,
			       (unsigned long long)gpu->memory_mib);
	if (share->cores > gpu->cores)
		return err_set(err, ERR_INVALID, -ERANGE,
			       "%llu percent of the GPU '%s', which has %llu",
			       (unsigned long long)share->cores, share->uuid,
			       (unsigned long long)gpu->cores);
	return 0;
}

/* 0 if every share of @entry is of a healthy GPU of @units and no larger than the GPU; else
 * ERR_INVALID. */
static int units_check(const struct units *units, const struct hami_entry *entry, struct err *err)
{
	for (size_t i = 0; i < entry->len; i++) {
		const struct hami_share *share = &entry->items[i];

		if (check_share(find_gpu(units, share->uuid), share, err) < 0)
			return err->code;
	}
	return 0;
}

/* --- the offer -------------------------------------------------------------------------------- */

static const struct device_type device_type;

static void log_left_out(struct hami *hami, struct json_strs *now)
{
	for (size_t i = 0; i < now->len; i++) {
		if (!json_strs_has(&hami->left_out, now->items[i]))
			log_warn("a GPU is not offered", log_str("gpu", now->items[i]));
	}
	json_strs_done(&hami->left_out);
	hami->left_out = *now;
	*now = (struct json_strs){ 0 };
}

/* The kubelet gets several units of each GPU: "UUID-0", "UUID-1" and so on. */
static void offer_units(struct hami *hami, const struct units *units, struct plugins *plugins)
{
	ARRAY(struct plugin_device) devices = { 0 };
	struct json_strs ids = { 0 };
	struct plugin_resource resource = { .name = hami->config.resource };

	for (size_t i = 0; i < units->len * hami->config.split; i++) {
		const struct hami_gpu *gpu = &units->items[i / hami->config.split];

		*array_add(&ids) = xasprintf("%s-%zu", gpu->uuid, i % hami->config.split);
		*array_add(&devices) = (struct plugin_device){
			.id = ids.items[i],
			.healthy = !gpu->trouble,
			.numa_node = hami->config.numa ? gpu->numa_node : -1,
			.card = gpu->uuid,
			.trouble = gpu->trouble,
		};
	}
	resource.devices = devices.items;
	resource.ndevices = devices.len;
	plugins_set(plugins, &device_type, hami, &resource, devices.len > 0);
	json_strs_done(&ids);
	array_done(&devices);
}

void hami_offer(void *arg, struct plugins *plugins)
{
	struct hami *hami = arg;
	struct json_strs left_out = { 0 };
	struct units units;
	bool elsewhere = false;
	const struct nvidia_type *type;

	if (!hami->options.on)
		return;
	type = nvidia_view(hami->deps.nvidia, &elsewhere);
	if (elsewhere) {
		plugins_set(plugins, &device_type, hami, NULL, 0);
		hami_node_set(hami->annotations, NULL, 0);
	}
	if (!type || !hami->is_read)
		return;
	units_make(type, &hami->config, &units, &left_out);
	log_left_out(hami, &left_out);
	offer_units(hami, &units, plugins);
	hami_node_set(hami->annotations, units.len > 0 ? units.items : &(struct hami_gpu){ 0 },
		      units.len);
	array_done(&units);
}

/* --- Allocate --------------------------------------------------------------------------------- */

static void add_limits(struct hami *hami, const struct hami_entry *entry,
		       struct allocation *allocation)
{
	struct clock *clock = hami->node->clock;
	auto_free char *cores = xasprintf("%llu", (unsigned long long)entry->items[0].cores);
	auto_free char *cache = xasprintf("%s/vgpu/%016llx%016llx.cache", hami->hook.path,
					  (unsigned long long)clock_random(clock),
					  (unsigned long long)clock_random(clock));

	for (size_t i = 0; i < entry->len; i++) {
		auto_free char *name = xasprintf("CUDA_DEVICE_MEMORY_LIMIT_%zu", i);
		auto_free char *limit =
			xasprintf("%llum", (unsigned long long)entry->items[i].memory_mib);

		(void)json_pairs_set(&allocation->envs, name, limit);
	}
	(void)json_pairs_set(&allocation->envs, "CUDA_DEVICE_SM_LIMIT", cores);
	(void)json_pairs_set(&allocation->envs, "CUDA_DEVICE_MEMORY_SHARED_CACHE", cache);
	if (hami->config.memory > HAMI_WHOLE)
		(void)json_pairs_set(&allocation->envs, "CUDA_OVERSUBSCRIBE", "true");
	if (hami->config.log_level)
		(void)json_pairs_set(&allocation->envs, "LIBCUDA_LOG_LEVEL",
				     hami->config.log_level);
	if (hami->config.no_core_limit)
		(void)json_pairs_set(&allocation->envs, "GPU_CORE_UTILIZATION_POLICY", "disable");
}

/* The GPUs themselves, as for a container with whole GPUs. */
static int add_gpus(const struct nvidia_type *type, const struct hami_entry *entry,
		    struct allocation *allocation, struct err *err)
{
	struct nvidia_type borrowed = *type;
	struct json_strs uuids = { 0 };
	int r;

	for (size_t i = 0; i < entry->len; i++)
		json_strs_add(&uuids, entry->items[i].uuid);
	r = nvidia_device_type.allocate(&borrowed, NVIDIA_RESOURCE, &uuids, allocation, err);
	json_strs_done(&uuids);
	return r;
}

static int grant(void *arg, const struct hami_entry *entry, const struct hami_pod *pod,
		 const struct hami_pod_container *container, struct allocation *allocation,
		 struct err *err)
{
	struct hami *hami = arg;
	struct units units;
	bool elsewhere = false;
	const struct nvidia_type *type = nvidia_view(hami->deps.nvidia, &elsewhere);
	int r;

	if (!type)
		return err_set(err, ERR_RETRY, -EAGAIN, "the GPUs of the node are not known");
	units_make(type, &hami->config, &units, NULL);
	r = units_check(&units, entry, err);
	array_done(&units);
	if (r == 0)
		r = add_gpus(type, entry, allocation, err);
	if (r == 0)
		r = hami_hook_add(&hami->hook, pod->meta.uid, container->name,
				  hami_pod_declines(container), allocation, err);
	if (r == 0)
		add_limits(hami, entry, allocation);
	return r;
}

static void allocate_later(void *arg, const char *resource, const struct json_strs *ids,
			   struct deferred *deferred)
{
	struct hami *hami = arg;

	hami_serve_add(hami->serve, resource, ids->len, deferred);
}

static const struct device_type device_type = {
	.name = "hami",
	.allocate_later = allocate_later,
	.later_ms = LATER_MS,
};

/* --- life ------------------------------------------------------------------------------------- */

void hami_node_seen(struct hami *hami)
{
	if (hami->annotations)
		hami_node_changed(hami->annotations);
}

const char *hami_trouble(const struct hami *hami)
{
	return hami->options.on ? hami->hook.trouble : NULL;
}

static void start(struct hami *hami)
{
	hami->annotations = hami_node_new(hami->node, hami->options.form);
	hami->serve = hami_serve_new(&(struct hami_serve_deps){
		.node = hami->node,
		.annotations = hami->annotations,
		.grant = grant,
		.arg = hami,
	});
	(void)hami_hook_look(&hami->hook);
	clock_timer_start(hami->node->clock, hami->look, 0);
}

struct hami *hami_new(const struct this_node *node, const struct hami_options *options,
		      const struct hami_deps *deps)
{
	struct hami *hami = xcalloc(1, sizeof(*hami));

	hami->node = node;
	hami->options = *options;
	hami->deps = *deps;
	hami->hook = (struct hami_hook){ .host_root = node->host_root, .path = options->hook };
	hami_config_init(&hami->config);
	hami->look = clock_timer_new(node->clock, on_look, hami);
	if (options->on)
		start(hami);
	return hami;
}

struct hami *hami_free(struct hami *hami)
{
	if (!hami)
		return NULL;
	hami_serve_free(hami->serve);
	hami_node_free(hami->annotations);
	hami_hook_done(&hami->hook);
	hami_config_done(&hami->config);
	free(hami->cluster_text);
	free(hami->node_text);
	free(hami->config_trouble);
	free(hami->hook_trouble);
	json_strs_done(&hami->left_out);
	clock_timer_free(hami->node->clock, hami->look);
	free(hami);
	return NULL;
}
