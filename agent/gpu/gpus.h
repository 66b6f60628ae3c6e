/*
 * gpus: reconciles the SRIOVGPUDevices, VGPUDevices and MigConfigurations of this node, and the
 * PCIDeviceClaims by which vGPUs without a mediated device are offered: a reconcile (kube/reconcile.h)
 * each, with the plans card_plan, vgpu_plan (for the claims, too) and mig_plan.
 *
 * ACT runs one task of gpu_task.h for the card. On a node without an NVIDIA card that can be divided
 * nothing runs, and nothing is written but that an object which somebody made there is about none.
 */
#pragma once

#include <stdbool.h>

#include "agent/gpu/gpu_task.h"

struct clock;
struct events;
struct gpus;
struct informer;
struct inventory;
struct kube_client;
struct metrics;
struct str;

/* Borrowed, all of it outlives it. */
struct gpus_deps {
	struct uv_loop_s *loop;
	struct kube_client *client;
	struct clock *clock;
	struct events *events;
	struct metrics *metrics;        /* may be NULL                  */
	const struct informer *claims;  /* PCIDeviceClaims of all nodes */
	const struct informer *devices; /* PCIDevices of this node      */
	const char *node_name;
	struct gpu_options options;
	/* A card was changed: the devices are to be looked at anew. Never runs before gpus_new() has returned. */
	void (*on_moved)(void *arg);
	/* What gpus_resource() says may have changed. Likewise. */
	void (*on_lent)(void *arg);
	/* Has no pod the device @id (an address, or the UUID of a mediated device)? If one has, *@ret_holder says
	 * which (the caller frees), NULL if that is not known yet. May be NULL: no pod ever has one. */
	bool (*is_free)(void *arg, const char *id, char **ret_holder);
	/* Is the resource, of a mediated device, another kind's on this node? May be NULL: it never is. */
	bool (*is_taken)(void *arg, const char *resource);
	void *arg;
};

struct gpus *gpus_new(const struct gpus_deps *deps);
/* Takes NULL, returns NULL. Children under way are left to end by themselves. */
struct gpus *gpus_free(struct gpus *gpus);

/* What the node has now; borrowed until the next call or the end. */
void gpus_set(struct gpus *gpus, const struct inventory *inventory);

/* The PCIDeviceClaim or the PCIDevice @name changed; or who has that device. */
void gpus_touch(struct gpus *gpus, const char *name);

/* A list of claims or devices is there, or who has any device may have changed: look at all. */
void gpus_synced(struct gpus *gpus);

/* What is lent to the kubelet, and as what, has been settled anew: who of one name goes first. */
void gpus_offered(struct gpus *gpus);

/* The label that says of which card the function at @address is a vGPU; NULL: it is none. Valid until the
 * next call. */
const char *gpus_parent(struct gpus *gpus, const char *address);

/* As what the mediated device @uuid is lent, since it is the vGPU of an enabled VGPUDevice; NULL: it is none.
 * Valid until gpus_set(). */
const char *gpus_resource(const struct gpus *gpus, const char *uuid);

/* Are the lists that it needs there? If not, @reason (may be NULL) says which. */
bool gpus_ready(struct gpus *gpus, struct str *reason);
