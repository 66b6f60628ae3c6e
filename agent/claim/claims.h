/*
 * claims: the PCIDeviceClaims of this node, on kube/reconcile.h.
 *
 * claim_plan decides; binding and releasing are tasks of the binder: the reconcile's acts. Owns the
 * binder, what is remembered of its tasks (claim_attempts), and the reconcile; reads the node's
 * caches and inventory.
 */
#pragma once

#include <stdbool.h>

struct claim_offer;
struct claims;
struct err;
struct json_strs;
struct on_demand_bind;
struct on_demand_spec;
struct this_node;

struct claims_deps {
	const struct json_strs *driverless; /* classes that a release leaves without driver */
	/* A transition ended or got stuck: scan the devices again. Never runs before claims_new()
	 * has returned. */
	void (*on_moved)(void *arg);
	/* Has no pod the device at @address? If one has, *@ret_holder says which (the caller
	 * frees), NULL if that is not known yet. May be NULL: no pod ever has one. */
	bool (*is_free)(void *arg, const char *address, char **ret_holder);
	/* Has no pod the USB device in socket @port? Likewise. */
	bool (*is_usb_free)(void *arg, const char *port, char **ret_holder);
	/* Must the device at @address not be bound yet, because it is still being set up? When
	 * that ends, claims_enqueue_all() is to follow. May be NULL. */
	bool (*is_held)(void *arg, const char *address);
	/* Why must the device at @address not get a VFIO node now? As node_numbers_bind_trouble():
	 * the caller frees. When who has what changes, claims_enqueue_all() is to follow. May be
	 * NULL. */
	char *(*bind_trouble)(void *arg, const char *address);
	/* The ResourceClaim for which the device at @address is bound on demand, or is about to be:
	 * "ResourceClaim default/nic"; NULL: none. The caller frees. When that changes,
	 * claims_enqueue() is to follow. May be NULL. */
	char *(*bound_for)(void *arg, const char *address);
	/* Does the node's kubelet offer the device at @address (claim_plan.h)? When that
	 * changes, claims_enqueue() is to follow. May be NULL: there is no kubelet. */
	void (*ask_offer)(void *arg, const char *address, struct claim_offer *ret_offer);
	void *arg;
};

/* @node and what @deps names are borrowed. Without a cache of USBDeviceClaims, claims of USB
 * controllers do not wait for them. */
struct claims *claims_new(const struct this_node *node, const struct claims_deps *deps);
/* Takes NULL, returns NULL. Helpers under way are left to end by themselves. */
struct claims *claims_free(struct claims *claims);

/* The node has a new inventory: forget what it supersedes, wake what it shows to have changed,
 * cancel what must not be bound. claims_enqueue_all() is to follow. */
void claims_update_attempts(struct claims *claims);

/* The claim @name or the PCIDevice of that name changed, or the claim of a USB device on that
 * controller, or whether a pod has the device: enqueue the claims of its IOMMU group. */
void claims_enqueue(struct claims *claims, const char *name);

/* The node's address, whose interface is never bound (copied; NULL: not known). */
void claims_set_node_address(struct claims *claims, const char *address);

/* Enqueue every claim: a list of claims or devices, or an inventory, has been read, or anything
 * else has changed. */
void claims_enqueue_all(struct claims *claims);

/* The name of the claim that takes the function at @address: its own, or one that includes its
 * IOMMU group, and that is not refused for another reason than Held. NULL: none; the caller
 * frees. */
char *claims_taker(const struct claims *claims, const char *address);

/* Is the device of this name in a transition, or not seen by a scan that began after one? Then its
 * object is not to be written yet. */
bool claims_moving(const struct claims *claims, const char *name);

/* Why the function at @address could not be bound for a ResourceClaim now (on_demand_binds.h).
 * NULL: it could, or it is not known yet. The caller frees. */
char *claims_on_demand_trouble(const struct claims *claims, const char *address);

/* on_demand_binds_begin() and on_demand_binds_stop(), which frees the bind. */
struct on_demand_bind *claims_bind_on_demand(struct claims *claims,
					     const struct on_demand_spec *spec,
					     void (*bound)(void *arg, const struct err *err),
					     void *arg);
bool claims_stop_on_demand(struct claims *claims, struct on_demand_bind *bind, struct err *err);
