/* mdev_config: a config from what stands in a HostDeviceConfig's spec, with single quotes. */
#pragma once

#include <string.h>

#include "agent/config/config.h"
#include "api/hostdeviceconfig.h"
#include "api/json_map.h"
#include "api/object.h"
#include "base/err.h"
#include "unit/suite.h"

/* The caller frees. */
static inline struct config *config_of_spec(const char *spec)
{
	auto_free char *text = xasprintf("{'metadata':{'name':'default'},'spec':{%s}}", spec);
	auto_json json_t *json = NULL;
	struct config *config;
	struct err err = { 0 };
	void *object = NULL;

	for (char *c = text; *c; c++) {
		if (*c == '\'')
			*c = '"';
	}
	if (json_map_load(text, strlen(text), &json, &err) < 0 ||
	    api_object_decode(&hostdeviceconfig_kind, json, &object, &err) < 0)
		fail_msg("%s", err.msg);
	config = config_new(object);
	assert_int_equal(config->troubles.len, 0);
	api_object_free(&hostdeviceconfig_kind, object);
	return config;
}
