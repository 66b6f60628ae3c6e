/* fuzz_smi_table: any bytes as an answer of nvidia-smi, and as a driver's table of vGPU types. What
 * is taken is bounded, and clean enough for the API. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/gpu/gpu_cards.h"
#include "agent/gpu/smi_table.h"
#include "api/json_values.h"
#include "base/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_number(int number)
{
	assert(number >= 0 && number <= SMI_NUMBER_MAX);
}

static void check_name(const char *name)
{
	assert(strnlen(name, SMI_NAME_SIZE) < SMI_NAME_SIZE);
	assert(strncmp(name, "MIG ", 4) == 0 && name[4]);
	assert(!strpbrk(name + 4, " \"\\\n|"));
}

static void check_tables(const char *text, size_t len)
{
	struct smi_profiles profiles = { 0 };
	struct smi_instances instances = { 0 };
	struct smi_computes computes = { 0 };

	smi_profiles_parse(text, len, &profiles);
	smi_instances_parse(text, len, &instances);
	smi_computes_parse(text, len, &computes);
	assert(profiles.len <= SMI_ROWS_MAX && instances.len <= SMI_ROWS_MAX &&
	       computes.len <= SMI_ROWS_MAX);
	for (size_t i = 0; i < profiles.len; i++) {
		check_name(profiles.items[i].name);
		check_number(profiles.items[i].id);
		check_number(profiles.items[i].available);
		check_number(profiles.items[i].total);
		assert(profiles.items[i].memory_mib >= 0);
	}
	for (size_t i = 0; i < instances.len; i++) {
		check_name(instances.items[i].name);
		check_number(instances.items[i].profile);
		check_number(instances.items[i].id);
	}
	for (size_t i = 0; i < computes.len; i++) {
		check_number(computes.items[i].instance);
		check_number(computes.items[i].id);
	}
	array_done(&profiles);
	array_done(&instances);
	array_done(&computes);
}

static void check_types(const char *text)
{
	struct json_strs lines = { 0 };
	struct json_pairs types = { 0 };

	while (*text) {
		size_t len = strcspn(text, "\n");
		auto_free char *line = xstrndup(text, len);

		json_strs_add(&lines, line);
		text += len + (text[len] == '\n');
	}
	vgpu_types_parse(&lines, &types);
	assert(types.len <= VGPU_TYPES_MAX);
	for (size_t i = 0; i < types.len; i++) {
		assert(types.items[i].key[0] && strlen(types.items[i].key) <= VGPU_TYPE_NAME_MAX);
		assert(vgpu_type_valid(types.items[i].value));
		assert(vgpu_types_name(&types, types.items[i].value));
	}
	json_pairs_done(&types);
	json_strs_done(&lines);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *text = xmalloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	(void)smi_mode_parse(text, size);
	(void)smi_says_none(text, size);
	check_tables(text, size);
	check_types(text);
	return 0;
}
