/* why: explains the state of one device. Pure. */
#pragma once

#include <stdint.h>

struct cluster;
struct cluster_device;
struct device_events;
struct out;

/* Append the explanation of @device to out->text, as out->format says (table, wide, json, yaml).
 * @how: how the caller can claim it (rights_how()). */
void why_print(struct cluster *cluster, const struct cluster_device *device, const char *how,
	       const struct device_events *events, int64_t now_wall_ms, struct out *out);
