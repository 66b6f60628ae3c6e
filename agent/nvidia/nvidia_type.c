#include "agent/nvidia/nvidia_type.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/nvidia/nvidia_config.h"
#include "agent/nvidia/nvidia_devices.h"
#include "agent/nvidia/nvidia_gpus.h"
#include "agent/nvidia/nvidia_mps.h"
#include "agent/nvidia/nvidia_nodes.h"
#include "agent/plugin/device_type.h"
#include "agent/plugin/plugin_offers.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"

/* NVIDIA's container runtime takes the GPUs from mounts below this folder, which a container cannot
 * choose by its environment. */
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

/* --- the offer -------------------------------------------------------------------------------- */

const char *nvidia_type_trouble(const struct nvidia_type *type, const struct nvidia_device *device)
{
	const struct nvidia_gpu *gpu = device->gpu;
	const char *trouble = nvidia_gpu_trouble(gpu);

	if (!trouble)
		trouble = device->mig ? device->mig->trouble : nvidia_migs_trouble(&gpu->migs);
	if (trouble || !type->hindrance)
		return trouble;
	return type->hindrance(type->arg, device);
}

/* Of units, in the order of @ids. */
struct offering {
	struct json_strs ids;
	ARRAY(struct plugin_offer) units;
};

static void add_units(struct offering *offering, const struct nvidia_device *device,
		      const char *trouble)
{
	for (unsigned i = 0; i < nvidia_device_units(device); i++) {
		char *id = nvidia_unit_id(device, i);

		*array_add(&offering->ids) = id;
		*array_add(&offering->units) = (struct plugin_offer){
			.resource = nvidia_device_resource(device),
			.device = {
				.id = id,
				.healthy = !trouble,
				.numa_node = device->gpu->numa_node,
				.card = device->sharing || device->mig ? device->gpu->uuid : NULL,
				.trouble = trouble,
			},
		};
	}
}

void nvidia_type_offer(struct nvidia_type *type, struct plugins *plugins)
{
	struct offering offering = { 0 };
	struct nvidia_devices devices;

	nvidia_devices_make(type->gpus, type->config, type->mig, &devices);
	for (size_t i = 0; i < devices.len; i++) {
		const struct nvidia_device *device = &devices.items[i];

		if (device->uuid)
			add_units(&offering, device, nvidia_type_trouble(type, device));
	}
	plugin_offers_set(plugins, &nvidia_device_type, type, offering.units.items,
			  offering.units.len);
	nvidia_devices_done(&devices);
	json_strs_done(&offering.ids);
	array_done(&offering.units);
}

/* --- Allocate --------------------------------------------------------------------------------- */

static int check(const struct nvidia_type *type, const struct nvidia_devices *devices,
		 const char *uuid, struct err *err)
{
	const struct nvidia_device *device = nvidia_devices_find(devices, uuid);
	const char *what = strncmp(uuid, "MIG-", 4) == 0 ? "MIG device" : "GPU";
	const char *trouble;

	if (!device)
		return err_set(err, ERR_INVALID, -ENODEV, "%s '%s' is gone from the node", what,
			       uuid);
	trouble = nvidia_type_trouble(type, device);
	if (trouble)
		return err_set(err, ERR_INVALID, -EHOSTDOWN, "%s '%s' is not available: %s", what,
			       uuid, trouble);
	return 0;
}

static void add_variable(const struct json_strs *ids, struct allocation *allocation)
{
	auto_str struct str value = STR_INIT;

	for (size_t i = 0; i < ids->len; i++)
		str_addf(&value, "%s%s", i ? "," : "", ids->items[i]);
	(void)json_pairs_set(&allocation->envs, VISIBLE_DEVICES, str_cstr(&value));
}

static void add_mounts(const struct json_strs *ids, bool imex, struct allocation *allocation)
{
	(void)json_pairs_set(&allocation->envs, VISIBLE_DEVICES, MOUNTS_FOLDER);
	for (size_t i = 0; i < ids->len; i++) {
		auto_free char *path = xasprintf(MOUNTS_FOLDER "/%s", ids->items[i]);

		allocation_add_mount(allocation, path, "/dev/null", false);
	}
	if (imex)
		allocation_add_mount(allocation, MOUNTS_FOLDER "/imex/0", "/dev/null", false);
}

/* A key that no other annotation of the container has: "cdi.k8s.io/nvidia-device-plugin_<random
 * UUID>". */
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

/* As the node's configuration lists devices. NVIDIA's plugin answers both of the first two as the
 * mounts alone. */
static int add_lists(const struct nvidia_type *type, const struct json_strs *uuids,
		     const struct json_strs *visible, struct allocation *allocation,
		     struct err *err)
{
	bool imex = type->config->imex && nvidia_nodes_have_imex(type->place);

	if (type->lists & NVIDIA_LIST_VOLUME_MOUNTS) {
		add_mounts(visible, imex, allocation);
	} else if (type->lists & NVIDIA_LIST_ENVVAR) {
		add_variable(visible, allocation);
		if (imex)
			(void)json_pairs_set(&allocation->envs, "NVIDIA_IMEX_CHANNELS", "0");
	}
	return type->lists & NVIDIA_LIST_CDI ? add_cdi(type, uuids, allocation, err) : 0;
}

/* The devices that the units are of, each once, in the order of the request. */
static int find_devices(const struct nvidia_type *type, const struct nvidia_devices *devices,
			const struct json_strs *ids, struct json_strs *uuids, struct err *err)
{
	for (size_t i = 0; i < ids->len; i++) {
		auto_free char *uuid = nvidia_unit_uuid(ids->items[i]);

		if (type->config->single && ids->len > 1 && nvidia_unit_is_share(ids->items[i]))
			return err_set(err, ERR_INVALID, -EINVAL,
				       "invalid request: maximum request size for shared resources "
				       "is 1; found %zu",
				       ids->len);
		if (check(type, devices, uuid, err) < 0)
			return err->code;
		(void)json_strs_add_new(uuids, uuid);
	}
	return 0;
}

/* As NVIDIA's runtime is to find them: "GPU-...", or "0", and "0:1" for a MIG device. */
static void list_visible(const struct nvidia_type *type, const struct nvidia_devices *devices,
			 const struct json_strs *uuids, struct json_strs *visible)
{
	for (size_t i = 0; i < uuids->len; i++) {
		const struct nvidia_device *device = nvidia_devices_find(devices, uuids->items[i]);
		int index = device->gpu->index;
		auto_free char *text = NULL;

		if (!type->config->by_index || index < 0)
			text = xstrdup(uuids->items[i]);
		else if (device->mig)
			text = xasprintf("%d:%d", index, device->mig->slot);
		else
			text = xasprintf("%d", index);
		json_strs_add(visible, text);
	}
}

/* What NVIDIA's runtime gives besides the GPUs. */
static void add_extras(const struct nvidia_config *config, struct allocation *allocation)
{
	const struct {
		bool on;
		const char *name;
	} extras[] = { { config->gds, "NVIDIA_GDS" },
		       { config->mofed, "NVIDIA_MOFED" },
		       { config->gdrcopy, "NVIDIA_GDRCOPY" } };

	for (size_t i = 0; i < ARRAY_LEN(extras); i++) {
		if (extras[i].on)
			(void)json_pairs_set(&allocation->envs, extras[i].name, "enabled");
	}
}

static int add_nodes(const struct nvidia_type *type, const struct nvidia_devices *devices,
		     const struct json_strs *uuids, struct allocation *allocation, struct err *err)
{
	nvidia_nodes_add_shared(type->place, allocation);
	if (type->config->imex && nvidia_nodes_have_imex(type->place))
		nvidia_nodes_add_imex(allocation);
	for (size_t i = 0; i < uuids->len; i++) {
		const struct nvidia_device *device = nvidia_devices_find(devices, uuids->items[i]);

		if (nvidia_nodes_add(type->place, device, allocation, err) < 0)
			return err->code;
	}
	return 0;
}

static int allocate(void *arg, const char *resource, const struct json_strs *ids,
		    struct allocation *allocation, struct err *err)
{
	const struct nvidia_type *type = arg;
	struct nvidia_devices devices;
	struct json_strs uuids = { 0 };
	struct json_strs visible = { 0 };
	int r;

	nvidia_devices_make(type->gpus, type->config, type->mig, &devices);
	r = find_devices(type, &devices, ids, &uuids, err);
	if (r == 0)
		list_visible(type, &devices, &uuids, &visible);
	if (r == 0 && type->config->nodes)
		r = add_nodes(type, &devices, &uuids, allocation, err);
	nvidia_devices_done(&devices);
	if (r == 0)
		r = add_lists(type, &uuids, &visible, allocation, err);
	if (r == 0)
		add_extras(type->config, allocation);
	if (r == 0 && type->config->mps_root && nvidia_unit_is_share(ids->items[0]))
		nvidia_mps_add(type->config->mps_root, resource, allocation);
	json_strs_done(&uuids);
	json_strs_done(&visible);
	return r;
}

/* --- preferred GPUs --------------------------------------------------------------------------- */

static enum device_choice choose(void *arg, const char *resource)
{
	const struct nvidia_type *type = arg;
	struct nvidia_devices devices;
	bool are_parts;

	nvidia_devices_make(type->gpus, type->config, type->mig, &devices);
	are_parts = nvidia_devices_are_parts(&devices, resource);
	nvidia_devices_done(&devices);
	if (!are_parts)
		return CHOICE_WEIGHTS;
	return type->config->packed ? CHOICE_PACKED : CHOICE_DISTRIBUTED;
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
