/* device_json: a device for programs, and as a name. Pure. */
#pragma once

#include <jansson.h>

struct cluster_device;
struct node_fault;
struct part;
struct str;

/* What is known of @device, without its children; a new object for the caller to json_decref(). */
json_t *device_json(const struct cluster_device *device);

/* What is wrong with a node, likewise. */
json_t *node_fault_json(const struct node_fault *fault);

/* What a device is divided into, likewise. */
json_t *part_json(const struct part *part);

/* Append "pcidevice.devices.harvesterhci.io/NAME" as kubectl's -o name does; of a claim without its
 * device, the claim's. */
void device_add_name(struct str *to, const struct cluster_device *device);

/* "default/pod-1,default/pod-2", the containers' pods, each once; the caller frees. */
char *device_pods(const struct cluster_device *device);
