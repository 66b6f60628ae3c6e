/* devices_scene: the devices that DRA offers of a made-up node, set as device types would. */
#pragma once

#include <string.h>

#include "agent/dra/dra_devices.h"
#include "agent/plugin/device_type.h"
#include "agent/plugin/plugins.h"
#include "api/json_map.h"
#include "base/mem.h"
#include "base/str.h"
#include "fake/fake_clock.h"
#include "unit/agent/world.h"
#include "unit/this_node.h"

#define UUID "11111111-2222-3333-4444-555555555551"

static const struct device_type pci_like = { .name = "pci" };
static const struct device_type usb_like = { .name = "usb" };
static const struct device_type mdev_like = { .name = "mdev" };

enum { DEVICES_SCENE_MAX = 600 };

/* Of one resource; "0000:3b:00.0 0000:3b:00.1!": those with '!' are not healthy, with '?' on
 * demand. */
static inline void devices_scene_set_as(struct dra_devices *devices, const struct device_type *type,
					const char *resource, const char *ids)
{
	static struct plugin_device list[DEVICES_SCENE_MAX];
	auto_free char *copy = xstrdup(ids);
	char *rest = copy;
	char *id;
	struct plugin_resource of = { .name = resource, .devices = list };

	while (*ids && (id = strsep(&rest, " "))) {
		size_t len = strlen(id);
		bool ill = id[len - 1] == '!';
		bool on_demand = id[len - 1] == '?';

		assert_true(of.ndevices < DEVICES_SCENE_MAX);
		if (ill || on_demand)
			id[len - 1] = '\0';
		list[of.ndevices++] = (struct plugin_device){ .id = id,
							      .healthy = !ill,
							      .numa_node = -1,
							      .dra = true,
							      .on_demand = on_demand,
							      .trouble = ill ? "it is ill" : NULL };
	}
	dra_devices_set(devices, type, NULL, &of, of.ndevices > 0 ? 1 : 0);
}

static inline void devices_scene_set(struct dra_devices *devices, const struct device_type *type,
				     const char *ids)
{
	devices_scene_set_as(devices, type, "a.io/x", ids);
}
