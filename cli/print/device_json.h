/* device_json: a device as JSON, and its name as -o name prints it. Pure. */
#pragma once

#include <jansson.h>

struct cluster_device;
struct node_fault;
struct part;
struct str;

/* @device as a new JSON object, without its children; the caller calls json_decref(). */
json_t *device_json(const struct cluster_device *device);

/* The fault of a node, likewise. */
json_t *node_fault_json(const struct node_fault *fault);

/* A part of a device, likewise. */
json_t *part_json(const struct part *part);

/* Append "pcidevice.devices.harvesterhci.io/NAME", as kubectl's -o name does; for a claim
 * without a device, the claim's. */
void device_add_name(struct str *to, const struct cluster_device *device);

/* "1-2.3 (Stick), 1-4 (Keyboard)": the USB devices behind a controller or hub, without hubs; "" if
 * there are none. The caller frees. */
char *device_usb_below(const struct cluster_device *device);

/* "default/pod-1,default/pod-2": the pods that have it, each once. The caller frees. */
char *device_pods(const struct cluster_device *device);
