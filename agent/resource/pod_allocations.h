/* pod_allocations: which containers have which device, by its ID, from the kubelet's last list. */
#pragma once

#include <stdbool.h>

struct json_strs;
struct pod_allocations;
struct pod_device;
struct pcidevice_allocations;
struct pod_devices;

/* New, without allocations. */
struct pod_allocations *pod_allocations_new(void);
/* Takes NULL, returns NULL. */
struct pod_allocations *pod_allocations_free(struct pod_allocations *pods);

struct pod_allocations_ops {
	bool (*offers)(void *arg, const char *resource); /* Is the resource one of ours? */
	void (*changed)(void *arg, const char *id);      /* the holder of @id changed */
	/* Did this container have the device in the last status that an earlier agent wrote? May be
	 * NULL. */
	bool (*had)(void *arg, const struct pod_device *device);
};

/*
 * Set the allocations: all of them if @whole; else those that are not listed stay. An ID that is a
 * PCI address or a UUID counts for any plugin's resource: it is the same device. Any other ID
 * counts if its resource is ours, or was when it was listed first, or if that container had it
 * before. An ID of several parts joined by ',' counts for each part and for itself.
 */
void pod_allocations_set(struct pod_allocations *pods, const struct pod_devices *devices,
			 bool whole, const struct pod_allocations_ops *ops, void *arg);

/* Is the ID a PCI address or a UUID, so that it is the same device whatever plugin lists it? */
bool pod_allocations_is_device(const char *id);

/* Is the ID a USB port path ("1-2.3")? Other plugins may use such IDs for something else. */
bool pod_allocations_is_port(const char *id);

/* Add the IDs of all devices that pods have; in any order. */
void pod_allocations_ids(const struct pod_allocations *pods, struct json_strs *ids);

/* The resource of its first allocation; NULL: no pod has it. Valid until the next set. */
const char *pod_allocations_resource(const struct pod_allocations *pods, const char *id);

/* Its allocations, valid until the next set; empty if no pod has it. */
const struct pcidevice_allocations *pod_allocations_of(const struct pod_allocations *pods,
						       const char *id);
