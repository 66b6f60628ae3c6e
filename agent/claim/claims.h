/*
 * claims: the PCIDeviceClaims of this node, on kube/reconcile.h.
 *
 * claim_plan decides; binding and releasing are tasks of the binder: the reconcile's acts. Owns the
 * binder, what is remembered of its tasks (claim_history), and the reconcile; reads the informers'
 * stores and the inventory that it was given last.
 */
#pragma once

#include <stdbool.h>

#include "agent/binder/binder.h"

struct claim_offer;
struct claims;
struct clock;
struct events;
struct informer;
struct inventory;
struct kube_client;
struct metrics;
struct uv_loop_s;

/* Borrowed, all of it outlives the claims. */
struct claims_deps {
	struct uv_loop_s *loop;
	struct kube_client *client;
	struct clock *clock;
	struct events *events;
	struct metrics *metrics;        /* may be NULL */
	const struct informer *claims;  /* PCIDeviceClaims of all nodes  */
	const struct informer *devices; /* PCIDevices of this node       */
	/* USBDeviceClaims of all nodes: claims of their controllers wait for them. May be NULL. */
	const struct informer *usb_claims;
	const char *node_name;
	const struct json_strs *vfio_drivers; /* beside vfio-pci */
	const struct json_strs *driverless;   /* classes that a release leaves without driver */
	struct binder_options binder;
	/* A transition ended or got stuck: scan the devices again. Never runs before claims_new() has
	 * returned. */
	void (*on_moved)(void *arg);
	/* Has no pod the device at @address? If one has, *@ret_holder says which (the caller frees), NULL
	 * if that is not known yet. May be NULL: no pod ever has one. */
	bool (*is_free)(void *arg, const char *address, char **ret_holder);
	/* Has no pod the USB device in socket @port? Likewise. */
	bool (*is_usb_free)(void *arg, const char *port, char **ret_holder);
	/* Must the device at @address not be bound yet, because it is still being set up? When
	 * that ends, claims_enqueue_all() is to follow. May be NULL. */
	bool (*is_held)(void *arg, const char *address);
	/* Does the node's kubelet offer the device at @address (claim_plan.h)? When that
	 * changes, claims_enqueue() is to follow. May be NULL: there is no kubelet. */
	void (*ask_offer)(void *arg, const char *address, struct claim_offer *ret_offer);
	void *arg;
};

struct claims *claims_new(const struct claims_deps *deps);
/* Takes NULL, returns NULL. Helpers under way are left to end by themselves. */
struct claims *claims_free(struct claims *claims);

/* What the node has now; borrowed until the next call or the end. claims_enqueue_all() is to follow. */
void claims_set_inventory(struct claims *claims, const struct inventory *inventory);

/* The claim @name or the PCIDevice of that name changed, or the claim of a USB device on that
 * controller, or whether a pod has the device: enqueue the claims of its IOMMU group. */
void claims_enqueue(struct claims *claims, const char *name);

/* The node's address, whose interface is never given away (copied; NULL: not known). */
void claims_set_node_address(struct claims *claims, const char *address);

/* A list of claims or devices, or an inventory, is there, or anything else changed: enqueue every claim. */
void claims_enqueue_all(struct claims *claims);

/* Is the device of this name in a transition, or not seen by a scan that began after one? Then its
 * object is not to be written yet. */
bool claims_moving(const struct claims *claims, const char *name);
