/* history: the events of one device, oldest first, with the owner of the claim. Pure. */
#pragma once

struct cluster_device;
struct device_events;
struct out;

/* Append the history of @device to out->text, as out->format says (table, wide, json, yaml). */
void history_print(const struct cluster_device *device, const struct device_events *events,
		   struct out *out);
