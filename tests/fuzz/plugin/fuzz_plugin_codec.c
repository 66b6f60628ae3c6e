/* Any bytes as a request of a kubelet, the first byte says which, and the rule of a choice: what is
 * answered can be read, gives exactly what was asked for, and what is read can be written. */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "agent/plugin/device_list.h"
#include "agent/plugin/plugin_answer.h"
#include "agent/plugin/plugin_codec.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "fake/kubelet/plugin_client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int toy_allocate(void *arg, const char *resource, const struct json_strs *ids,
			struct allocation *allocation, struct err *err)
{
	(void)arg;
	(void)err;
	for (size_t i = 0; i < ids->len; i++)
		allocation_add_device(allocation, ids->items[i], resource);
	return 0;
}

static enum device_choice toy_choose(void *arg, const char *resource)
{
	(void)resource;
	return *(const enum device_choice *)arg;
}

static uint16_t toy_weight(void *arg, const char *resource, const char *a, const char *b)
{
	(void)arg;
	(void)resource;
	return (uint16_t)((a[0] ^ b[0]) << 8);
}

static const struct device_type toy_type = {
	.name = "toy", .allocate = toy_allocate, .choose = toy_choose, .weight = toy_weight
};

static const struct plugin_device devices[] = {
	{ .id = "a", .healthy = true, .numa_node = 0, .root = "x" },
	{ .id = "b", .healthy = true, .numa_node = 0, .root = "y" },
	{ .id = "c", .healthy = true, .numa_node = 1, .root = "x" },
	{ .id = "d", .healthy = true, .numa_node = -1, .card = "c" },
	{ .id = "e", .healthy = false, .numa_node = -1 },
};

static void on_refused(void *arg, const char *id, const struct err *err)
{
	(void)arg;
	(void)id;
	(void)err;
	assert(false);
}

static void check_allocations(struct str *out, const struct plugin_ids *ids)
{
	struct plugin_allocations all = { 0 };
	auto_str struct str again = STR_INIT;

	assert(plugin_codec_read_allocations(str_cstr(out), out->len, &all, NULL) == 0);
	assert(all.len == ids->len && all.len > 0);
	for (size_t i = 0; i < all.len; i++) {
		assert(all.items[i].devices.len == ids->items[i].len);
		for (size_t k = 0; k < ids->items[i].len; k++)
			assert(strcmp(all.items[i].devices.items[k].host_path,
				      ids->items[i].items[k]) == 0);
	}
	assert(plugin_codec_write_allocate(ids, &again, NULL) == 0);
	plugin_allocations_done(&all);
}

static void try_allocate(const struct plugin_source *source, const char *data, size_t len)
{
	struct plugin_ids ids = { 0 };
	auto_str struct str out = STR_INIT;
	struct err err = { 0 };

	if (plugin_answer_allocate(source, data, len, &out, &ids, &err) == GRPC_OK) {
		check_allocations(&out, &ids);
	} else {
		assert(err.code < 0 && err.msg[0] && out.len == 0);
	}
	plugin_ids_done(&ids);
}

static void try_preferred(const struct plugin_source *source, const char *data, size_t len)
{
	struct plugin_preferences preferences = { 0 };
	struct plugin_ids chosen = { 0 };
	auto_str struct str out = STR_INIT;

	plugin_answer_preferred(source, data, len, &out);
	assert(plugin_codec_read_preferred(str_cstr(&out), out.len, &chosen, NULL) == 0);
	if (plugin_codec_read_preferences(data, len, &preferences, NULL) == 0) {
		assert(chosen.len == preferences.len || chosen.len == 0);
		for (size_t i = 0; i < chosen.len; i++)
			assert(chosen.items[i].len <= preferences.items[i].size);
	}
	plugin_preferences_done(&preferences);
	plugin_ids_done(&chosen);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum device_choice choice = size > 0 ? data[0] / 2 % 4 : CHOICE_NEAR;
	struct plugin_source source = { .resource = "t.io/toy", .type = &toy_type, .arg = &choice };
	struct device_list *list = NULL;
	const char *request = (const char *)data + 1;

	if (size == 0)
		return 0;
	assert(device_list_new(devices, ARRAY_LEN(devices), on_refused, NULL, &list, NULL) == 0);
	source.list = list;
	if (data[0] % 2)
		try_allocate(&source, request, size - 1);
	else
		try_preferred(&source, request, size - 1);
	device_list_unref(list);
	return 0;
}
