/* nvidia_offers: a stand-in for the plugins that notes what is offered to them, and containers'
 * answers as text. */
#pragma once

#include <string.h>

#include "agent/nvidia/nvidia_devices.h"
#include "agent/nvidia/nvidia_type.h"
#include "agent/plugin/device_type.h"
#include "agent/plugin/plugins.h"
#include "api/json_values.h"
#include "base/err.h"
#include "base/str.h"
#include "unit/suite.h"

/* What stands in for struct plugins. */
struct nvidia_offers {
	/* "nvidia.com/gpu: GPU-0@0 | GPU-1@1 Xid 79; a/b: GPU-2::0@0 of GPU-2", with the NUMA
	 * nodes and the cards */
	struct str text;
	unsigned sets; /* calls of plugins_set()                                          */
	void *type_arg;
};

static inline struct plugins *nvidia_offers_plugins(struct nvidia_offers *offers)
{
	return (struct plugins *)(void *)offers;
}

static inline void nvidia_offers_add(struct str *text, const struct plugin_resource *resource)
{
	str_addf(text, "%s%s:", text->len ? "; " : "", resource->name);
	for (size_t i = 0; i < resource->ndevices; i++) {
		const struct plugin_device *device = &resource->devices[i];

		assert_int_equal(device->healthy, !device->trouble);
		str_addf(text, "%s %s@%d", i ? " |" : "", device->id, device->numa_node);
		if (device->card)
			str_addf(text, " of %s", device->card);
		if (device->trouble)
			str_addf(text, " %s", device->trouble);
	}
}

void plugins_set(struct plugins *plugins, const struct device_type *type, void *type_arg,
		 const struct plugin_resource *resources, size_t len)
{
	struct nvidia_offers *offers = (struct nvidia_offers *)(void *)plugins;

	assert_ptr_equal(type, &nvidia_device_type);
	offers->sets++;
	offers->type_arg = type_arg;
	str_clear(&offers->text);
	for (size_t i = 0; i < len; i++)
		nvidia_offers_add(&offers->text, &resources[i]);
}

/* "A=b,c mount>path annotation=x cdi", or what the error says. The caller frees. */
static inline char *nvidia_offers_allocate(void *type_arg, const char *ids)
{
	struct allocation given = { 0 };
	struct json_strs list = { 0 };
	struct str out = STR_INIT;
	struct err err = { 0 };
	auto_free char *copy = xstrdup(ids);
	char *rest = copy;
	char *word;

	while ((word = strsep(&rest, " ")))
		json_strs_add(&list, word);
	if (nvidia_device_type.allocate(type_arg, NVIDIA_RESOURCE, &list, &given, &err) < 0)
		str_addf(&out, "%s ", err.msg);
	for (size_t i = 0; i < given.envs.len; i++)
		str_addf(&out, "%s=%s ", given.envs.items[i].key, given.envs.items[i].value);
	for (size_t i = 0; i < given.mounts.len; i++)
		str_addf(&out, "%s>%s%s ", given.mounts.items[i].host_path,
			 given.mounts.items[i].container_path,
			 given.mounts.items[i].read_only ? ":ro" : "");
	for (size_t i = 0; i < given.annotations.len; i++)
		str_addf(&out, "%s=%s ", given.annotations.items[i].key,
			 given.annotations.items[i].value);
	for (size_t i = 0; i < given.cdi_devices.len; i++)
		str_addf(&out, "%s ", given.cdi_devices.items[i]);
	for (size_t i = 0; i < given.devices.len; i++)
		str_addf(&out, "%s:%s ", given.devices.items[i].host_path,
			 given.devices.items[i].permissions);
	allocation_done(&given);
	json_strs_done(&list);
	if (out.len > 0)
		out.buf[--out.len] = '\0';
	return str_detach(&out);
}
