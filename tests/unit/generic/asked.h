/* asked: a HostDeviceConfig from text, and stand-ins for the plugins that record their calls. */
#pragma once

#include <jansson.h>
#include <string.h>

#include "agent/config/config.h"
#include "agent/plugin/device_type.h"
#include "agent/plugin/plugins.h"
#include "api/hostdeviceconfig.h"
#include "api/object.h"
#include "base/err.h"
#include "base/str.h"
#include "unit/suite.h"

/* The config whose spec is @spec, with ' for ". */
static inline struct config *asked_config(const char *spec)
{
	auto_free char *text = xasprintf("{'metadata':{'name':'default'},'spec':{%s}}", spec);
	auto_json json_t *json = NULL;
	struct config *config;
	void *object = NULL;

	for (char *c = text; *c; c++) {
		if (*c == '\'')
			*c = '"';
	}
	assert_int_equal(json_map_load(text, strlen(text), &json, NULL), 0);
	assert_int_equal(api_object_decode(&hostdeviceconfig_kind, json, &object, NULL), 0);
	config = config_new(object);
	api_object_free(&hostdeviceconfig_kind, object);
	return config;
}

/* What stands in for struct plugins. */
struct asked_plugins {
	struct str offered;    /* "a.io/kvm kvm0 kvm1|", the healthy ones; " !why" for the others */
	size_t sets;           /* calls of plugins_set()                                          */
	const char *taken;     /* a resource that another type has; NULL: none                    */
	const char *type_name; /* of the type that set last                                       */
};

static inline struct plugins *asked_as_plugins(struct asked_plugins *asked)
{
	return (struct plugins *)(void *)asked;
}

static inline void asked_say(struct str *out, const struct plugin_resource *resource)
{
	str_add(out, resource->name);
	for (size_t i = 0; i < resource->ndevices; i++) {
		const struct plugin_device *device = &resource->devices[i];

		assert_int_equal(device->healthy, device->trouble == NULL);
		assert_int_equal(device->numa_node, -1);
		if (device->trouble && i > 0) /* all are in one state */
			assert_string_equal(device->trouble, resource->devices[0].trouble);
		else if (device->trouble)
			str_addf(out, " !%s", device->trouble);
		str_addf(out, " %s", device->id);
	}
	str_add_char(out, '|');
}

void plugins_set(struct plugins *plugins, const struct device_type *type, void *type_arg,
		 const struct plugin_resource *resources, size_t len)
{
	struct asked_plugins *asked = (struct asked_plugins *)(void *)plugins;

	assert_non_null(type_arg);
	asked->type_name = type->name;
	asked->sets++;
	str_clear(&asked->offered);
	for (size_t i = 0; i < len; i++)
		asked_say(&asked->offered, &resources[i]);
}

const char *plugins_owner(const struct plugins *plugins, const char *resource)
{
	const struct asked_plugins *asked = (const struct asked_plugins *)(const void *)plugins;

	return asked->taken && strcmp(asked->taken, resource) == 0 ? "pci" : asked->type_name;
}

/* "/dev/kvm>/x:rw /folder>/folder", or what the error says. The caller frees. */
static inline char *asked_allocate(const struct device_type *type, void *arg, const char *resource,
				   const char *ids)
{
	auto_free char *copy = xstrdup(ids);
	struct allocation given = { 0 };
	struct json_strs list = { 0 };
	struct str out = STR_INIT;
	struct err err = { 0 };
	char *rest = copy;
	char *word;

	while ((word = strsep(&rest, " ")))
		json_strs_add(&list, word);
	if (type->allocate(arg, resource, &list, &given, &err) < 0)
		str_add(&out, err.msg);
	for (size_t i = 0; i < given.devices.len; i++)
		str_addf(&out, "%s%s>%s:%s", out.len ? " " : "", given.devices.items[i].host_path,
			 given.devices.items[i].container_path, given.devices.items[i].permissions);
	for (size_t i = 0; i < given.mounts.len; i++)
		str_addf(&out, "%s%s>%s%s", out.len ? " " : "", given.mounts.items[i].host_path,
			 given.mounts.items[i].container_path,
			 given.mounts.items[i].read_only ? ":ro" : "");
	assert_int_equal(given.envs.len, 0);
	allocation_done(&given);
	json_strs_done(&list);
	return str_detach(&out);
}

/* "genericDevices[0] a.io/kvm NodeMissing: why|". */
static inline void asked_troubles(struct str *out, const struct config_troubles *troubles)
{
	for (size_t i = 0; i < troubles->len; i++)
		str_addf(out, "%s[%d] %s %s: %s|", troubles->items[i].list,
			 (int)troubles->items[i].index, troubles->items[i].resource,
			 troubles->items[i].reason, troubles->items[i].message);
}
