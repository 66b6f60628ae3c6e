#include "agent/hami/hami_units.h"

#include <errno.h>
#include <string.h>

#include "agent/hami/hami_config.h"
#include "agent/hami/hami_request.h"
#include "agent/nvidia/nvidia_devices.h"
#include "agent/nvidia/nvidia_gpus.h"
#include "agent/nvidia/nvidia_type.h"
#include "api/json_values.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"

enum { PERCENT = 100 };

/* Why @gpu is not divided; NULL: it is. */
static const char *exclusion(const struct nvidia_gpu *gpu, uint64_t memory_mib)
{
	if (gpu->has_mig)
		return "it is in MIG mode, which this agent does not divide for HAMi";
	if (memory_mib == 0)
		return "NVIDIA's library does not tell its memory; set preConfiguredDeviceMemory";
	return NULL;
}

void hami_units_make(const struct nvidia_type *type, const struct hami_config *config,
		     struct hami_units *ret_units, struct json_strs *left_out)
{
	struct hami_units units = { 0 };

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

void hami_units_done(struct hami_units *units)
{
	array_done(units);
}

char *hami_unit_id(const struct hami_gpu *gpu, unsigned i)
{
	return xasprintf("%s-%u", gpu->uuid, i);
}

static const struct hami_gpu *find(const struct hami_units *units, const char *uuid)
{
	for (size_t i = 0; i < units->len; i++) {
		if (strcmp(units->items[i].uuid, uuid) == 0)
			return &units->items[i];
	}
	return NULL;
}

static int check(const struct hami_gpu *gpu, const struct hami_share *share, struct err *err)
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

int hami_units_check(const struct hami_units *units, const struct hami_entry *entry,
		     struct err *err)
{
	for (size_t i = 0; i < entry->len; i++) {
		const struct hami_share *share = &entry->items[i];

		if (check(find(units, share->uuid), share, err) < 0)
			return err->code;
	}
	return 0;
}
