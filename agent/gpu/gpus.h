/*
 * gpus: reconciles the SRIOVGPUDevices, VGPUDevices and MigConfigurations of this node, and the
 * PCIDeviceClaims by which vGPUs without a mediated device are offered: a reconcile
 * (kube/reconcile.h) each, with the plans card_plan, vgpu_plan (for the claims, too) and mig_plan.
 *
 * ACT runs one task of gpu_task.h for the card. On a node without an NVIDIA card that can be
 * divided nothing runs, and nothing is written but that an object which somebody made there is
 * about none.
 */
#pragma once

#include <stdbool.h>

#include "agent/gpu/gpu_task.h"

struct gpus;
struct str;
struct this_node;

struct gpus_deps {
	struct gpu_options options;
	/* A task has changed a card: scan the node. Never called before gpus_new() has returned. */
	void (*request_scan)(void *arg);
	/* What gpus_resource() returns may have changed. Likewise. */
	void (*offers_changed)(void *arg);
	/* Is the device @id (a PCI address, or the UUID of a mediated device) in no pod? If not,
	 * *@ret_holder is the holder, which the caller frees, or NULL if it is not known yet. May
	 * be NULL: no device is ever in use. */
	bool (*is_free)(void *arg, const char *id, char **ret_holder);
	/* Has a device of another type on this node the resource @resource of a mediated device?
	 * May be NULL: it never has. */
	bool (*is_taken)(void *arg, const char *resource);
	void *arg;
};

/* @node and the texts of @deps are borrowed. */
struct gpus *gpus_new(const struct this_node *node, const struct gpus_deps *deps);
/* Takes NULL, returns NULL. Programs that run are left to end by themselves. */
struct gpus *gpus_free(struct gpus *gpus);

/* The node has a new inventory: find its cards. The first time, start to list the objects.
 * gpus_enqueue_all() is to follow. */
void gpus_find_cards(struct gpus *gpus);

/* The PCIDeviceClaim or the PCIDevice @name changed, or the holder of the device: enqueue the
 * objects of its card. */
void gpus_enqueue_device(struct gpus *gpus, const char *name);

/* Enqueue everything: a list of claims or devices, or an inventory, is there, or the holder of any
 * device may have changed. */
void gpus_enqueue_all(struct gpus *gpus);

/* The kubelet's offers changed: enqueue the vGPUs whose resource has another owner than their
 * status says. */
void gpus_enqueue_taken(struct gpus *gpus);

/* The label with the name of the card whose vGPU is the function at @address; NULL: it is not a
 * vGPU. Valid until the next call. */
const char *gpus_parent_label(struct gpus *gpus, const char *address);

/* The resource of the mediated device @uuid; NULL: it is not the vGPU of an enabled VGPUDevice.
 * Valid until gpus_find_cards(). */
const char *gpus_resource(const struct gpus *gpus, const char *uuid);

/* Are all lists that it needs there? If not, @reason (may be NULL) gets the one that is missing. */
bool gpus_ready(struct gpus *gpus, struct str *reason);
