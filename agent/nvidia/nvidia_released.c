#include "agent/nvidia/nvidia_released.h"

#include <jansson.h>
#include <stdlib.h>

#include "agent/resource/boot_record.h"
#include "base/mem.h"

struct nvidia_released {
	struct boot_record *record;
	json_t *gpus; /* address -> in persistence mode */
};

static void keep(struct nvidia_released *released)
{
	boot_record_keep(released->record, json_incref(released->gpus));
}

struct nvidia_released *nvidia_released_new(const char *state_dir)
{
	struct nvidia_released *released = xcalloc(1, sizeof(*released));

	released->record = boot_record_new(state_dir, "nvidia.json", "released", &released->gpus);
	if (!json_is_object(released->gpus)) {
		json_decref(released->gpus);
		released->gpus = json_object();
	}
	return released;
}

struct nvidia_released *nvidia_released_free(struct nvidia_released *released)
{
	if (!released)
		return NULL;
	boot_record_free(released->record);
	json_decref(released->gpus);
	free(released);
	return NULL;
}

bool nvidia_released_has(const struct nvidia_released *released, const char *address,
			 bool *ret_persistent)
{
	const json_t *value = json_object_get(released->gpus, address);

	if (!value)
		return false;
	*ret_persistent = json_is_true(value);
	return true;
}

void nvidia_released_set(struct nvidia_released *released, const char *address, bool persistent)
{
	(void)json_object_set_new(released->gpus, address, json_boolean(persistent));
	keep(released);
}

void nvidia_released_remove(struct nvidia_released *released, const char *address)
{
	if (json_object_del(released->gpus, address) == 0)
		keep(released);
}
