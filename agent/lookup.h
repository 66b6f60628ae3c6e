/*
 * lookup: what one part of the agent asks another. They know nothing of each other: each gets these
 * functions with its deps, which say what they are for. @arg is the struct wiring.
 */
#pragma once

#include <stdbool.h>

#include "agent/inventory/inventory.h"

struct api_condition_value;
struct claim_offer;
struct err;
struct json_strs;
struct on_demand_devices;
struct on_demand_bind;
struct mediateddevice;
struct pcidevice_allocations;
struct publish_offer;

/* For publish: struct publish_deps. */
bool lookup_is_moving(void *arg, const char *name);
const struct pcidevice_allocations *lookup_allocations(void *arg, enum inventory_kind kind,
						       const char *name);
const char *lookup_held_as(void *arg, const char *name);
void lookup_offer(void *arg, enum inventory_kind kind, const char *name,
		  struct publish_offer *ret_offer);
const char *lookup_mdev_resource(void *arg, const struct mediateddevice *device);
const struct api_condition_value *lookup_mdev_condition(void *arg, const char *parent);
const char *lookup_parent(void *arg, const char *name, const char **ret_key);

/* For claims: struct claims_deps; the first also for sriov, gpus, nvidia and drm. */
bool lookup_is_free(void *arg, const char *address, char **ret_holder);
bool lookup_is_usb_free(void *arg, const char *port, char **ret_holder);
bool lookup_is_held(void *arg, const char *address);
char *lookup_bind_trouble(void *arg, const char *address);
void lookup_claim_offer(void *arg, const char *address, struct claim_offer *ret_offer);

/* For claims, too. */
char *lookup_bound_for(void *arg, const char *address);

/* For offers: struct on_demand_binder (agent/dra/on_demand_binder.h). */
char *lookup_on_demand_trouble(void *arg, const char *id);
bool lookup_is_on_demand_moving(void *arg, const char *id);
struct on_demand_bind *lookup_bind_on_demand(void *arg, const struct on_demand_devices *devices,
					     void (*bound)(void *arg, const struct err *err),
					     void *bound_arg);
bool lookup_stop_on_demand(void *arg, struct on_demand_bind *bind, struct err *err);

/* For nvidia: struct nvidia_deps; the first also for drm. */
char *lookup_card_claim(void *arg, const char *address);
void lookup_given(void *arg, struct json_strs *ids);
const struct pcidevice_allocations *lookup_unit_allocations(void *arg, const char *id);

/* For nvidia, of hami. */
const char *lookup_hami_trouble(void *arg);

/* For gpus: is_taken() of struct gpus_deps. */
bool lookup_is_taken(void *arg, const char *resource);

/* For mdevs: otherwise() of struct mdevs_deps. */
const char *lookup_vgpu_resource(void *arg, const char *uuid);
