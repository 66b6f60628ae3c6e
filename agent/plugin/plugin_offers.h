/*
 * plugin_offers: devices, each with the resource that it is one of, as resources for the kubelet.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/plugin/device_type.h"

struct plugins;

struct plugin_offer {
	const char *resource;
	bool claimed; /* see struct plugin_resource */
	struct plugin_device device;
};

/* plugins_set() of the resources of @offers, with the devices of each in this order. All is
 * borrowed for the call. */
void plugin_offers_set(struct plugins *plugins, const struct device_type *type, void *type_arg,
		       const struct plugin_offer *offers, size_t len);
