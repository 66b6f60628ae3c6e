/*
 * led_type: an example of a device type, which offers the LEDs of a node.
 *
 * A LED is a folder below /sys/class/leds. A container gets the folders of its LEDs as mounts.
 */
#pragma once

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "agent/plugin/plugins.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

/* The arg of the functions. */
struct leds {
	const char *root; /* "/sys/class/leds" */
};

static int leds_allocate(void *arg, const char *resource, const struct json_strs *ids,
			 struct allocation *allocation, struct err *err)
{
	const struct leds *leds = arg;
	auto_str struct str names = STR_INIT;

	for (size_t i = 0; i < ids->len; i++) {
		auto_free char *path = xasprintf("%s/%s", leds->root, ids->items[i]);

		/* The LED may have gone since the last leds_offer(). */
		if (access(path, F_OK) < 0)
			return err_set(err, ERR_RETRY, -errno, "look at LED '%s': %s",
				       ids->items[i], strerror(errno));
		allocation_add_mount(allocation, path, path, false);
		str_addf(&names, "%s%s", i ? "," : "", ids->items[i]);
	}
	json_pairs_set(&allocation->envs, "LEDS", str_cstr(&names));
	log_debug("LEDs allocated", log_str("resource", resource));
	return 0;
}

static const struct device_type led_type = { .name = "led", .allocate = leds_allocate };

/* Call this whenever the LEDs or their state may have changed; an unchanged list costs nothing. */
static void leds_offer(struct plugins *plugins, struct leds *leds)
{
	const struct plugin_device devices[] = {
		{ .id = "front", .healthy = true, .numa_node = -1 },
		{ .id = "back", .numa_node = -1, .trouble = "it is broken" },
	};
	const struct plugin_resource resources[] = {
		{ .name = "example.com/led", .devices = devices, .ndevices = ARRAY_LEN(devices) },
	};

	plugins_set(plugins, &led_type, leds, resources, ARRAY_LEN(resources));
}
