#include "agent/nvidia/nvidia_type.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/nvidia/nvidia_gpus.h"
#include "agent/plugin/device_type.h"
#include "agent/plugin/plugins.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"

/* NVIDIA's container runtime takes the GPUs from mounts below this folder, which a container cannot choose by its
 * environment. */
#define VISIBLE_DEVICES "NVIDIA_VISIBLE_DEVICES"
#define MOUNTS_FOLDER   "/var/run/nvidia-container-devices"

static const struct {
	const char *text;
	enum nvidia_list list;
} lists[] = {
	{ "envvar", NVIDIA_LIST_ENVVAR },
	{ "volume-mounts", NVIDIA_LIST_VOLUME_MOUNTS },
	{ "cdi-annotations", NVIDIA_LIST_CDI_ANNOTATIONS },
	{ "cdi-cri", NVIDIA_LIST_CDI_CRI },
};

unsigned nvidia_list_from_text(const char *text)
{
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		if (strcmp(lists[i].text, text) == 0)
			return lists[i].list;
	}
	return 0;
}

/* --- the offer ---------------------------------------------------------------------------------- */

/* Why it is not healthy; NULL: it is. */
static const char *trouble_of(const struct nvidia_type *type, const struct nvidia_gpu *gpu)
{
	if (gpu->trouble || !type->hindrance)
		return gpu->trouble;
	return type->hindrance(type->arg, gpu->uuid);
}

void nvidia_type_offer(struct nvidia_type *type, struct plugins *plugins)
{
	const struct nvidia_gpus *gpus = type->gpus;
	auto_free struct plugin_device *devices = xcalloc(gpus->len + 1, sizeof(*devices));
	struct plugin_resource resource = { .name = NVIDIA_RESOURCE, .devices = devices };

	for (size_t i = 0; i < gpus->len; i++) {
		const struct nvidia_gpu *gpu = &gpus->items[i];
		const char *trouble;

		if (!gpu->uuid)
			continue;
		trouble = trouble_of(type, gpu);
		devices[resource.ndevices++] = (struct plugin_device){ .id = gpu->uuid,
								       .healthy = !trouble,
								       .numa_node = gpu->numa_node,
								       .trouble = trouble };
	}
	plugins_set(plugins, &nvidia_device_type, type, &resource, resource.ndevices > 0 ? 1 : 0);
}

/* --- Allocate ------------------------------------------------------------------------------------ */

static int check(const struct nvidia_type *type, const char *uuid, struct err *err)
{
	const struct nvidia_gpu *gpu = nvidia_gpus_find(type->gpus, uuid);
	const char *trouble;

	if (!gpu)
		return err_set(err, ERR_INVALID, -ENODEV, "GPU '%s' is gone from the node", uuid);
	trouble = trouble_of(type, gpu);
	if (trouble)
		return err_set(err, ERR_INVALID, -EHOSTDOWN, "GPU '%s' is not healthy: %s", uuid,
			       trouble);
	return 0;
}

static void add_variable(const struct json_strs *ids, struct allocation *allocation)
{
	auto_str struct str value = STR_INIT;

	for (size_t i = 0; i < ids->len; i++)
		str_addf(&value, "%s%s", i ? "," : "", ids->items[i]);
	(void)json_pairs_set(&allocation->envs, VISIBLE_DEVICES, str_cstr(&value));
}

static void add_mounts(const struct json_strs *ids, struct allocation *allocation)
{
	(void)json_pairs_set(&allocation->envs, VISIBLE_DEVICES, MOUNTS_FOLDER);
	for (size_t i = 0; i < ids->len; i++) {
		auto_free char *path = xasprintf(MOUNTS_FOLDER "/%s", ids->items[i]);

		allocation_add_mount(allocation, path, "/dev/null", false);
	}
}

/* A key that no other annotation of the container has: "cdi.k8s.io/nvidia-device-plugin_<random UUID>". */
static void add_annotation(struct clock *clock, const char *names, struct allocation *allocation)
{
	uint64_t a = clock_random(clock);
	uint64_t b = clock_random(clock);
	auto_free char *key =
		xasprintf("cdi.k8s.io/nvidia-device-plugin_%08x-%04x-4%03x-%04x-%012llx",
			  (unsigned)(a >> 32), (unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xfff),
			  (unsigned)(0x8000 | (b >> 48 & 0x3fff)),
			  (unsigned long long)(b & 0xffffffffffffULL));

	(void)json_pairs_set(&allocation->annotations, key, names);
}

static int add_cdi(const struct nvidia_type *type, const struct json_strs *ids,
		   struct allocation *allocation, struct err *err)
{
	auto_str struct str names = STR_INIT;

	for (size_t i = 0; i < ids->len; i++) {
		auto_free char *name = xasprintf(NVIDIA_CDI_KIND "=%s", ids->items[i]);

		str_addf(&names, "%s%s", i ? "," : "", name);
		if ((type->lists & NVIDIA_LIST_CDI_CRI) &&
		    allocation_add_cdi_device(allocation, name, err) < 0)
			return err->code;
	}
	if (type->lists & NVIDIA_LIST_CDI_ANNOTATIONS)
		add_annotation(type->clock, str_cstr(&names), allocation);
	return 0;
}

static int allocate(void *arg, const char *resource, const struct json_strs *ids,
		    struct allocation *allocation, struct err *err)
{
	const struct nvidia_type *type = arg;

	(void)resource;
	for (size_t i = 0; i < ids->len; i++) {
		if (check(type, ids->items[i], err) < 0)
			return err->code;
	}
	/* NVIDIA's plugin answers both as the mounts alone. */
	if (type->lists & NVIDIA_LIST_VOLUME_MOUNTS)
		add_mounts(ids, allocation);
	else if (type->lists & NVIDIA_LIST_ENVVAR)
		add_variable(ids, allocation);
	return type->lists & NVIDIA_LIST_CDI ? add_cdi(type, ids, allocation, err) : 0;
}

/* --- preferred GPUs --------------------------------------------------------------------------------- */

static enum device_choice choose(void *arg, const char *resource)
{
	(void)arg;
	(void)resource;
	return CHOICE_WEIGHTS;
}

static uint16_t weight(void *arg, const char *resource, const char *a, const char *b)
{
	const struct nvidia_type *type = arg;

	(void)resource;
	return nvidia_gpus_weight(type->gpus, a, b);
}

const struct device_type nvidia_device_type = {
	.name = "nvidia",
	.allocate = allocate,
	.choose = choose,
	.weight = weight,
};
