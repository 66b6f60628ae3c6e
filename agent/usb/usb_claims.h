/*
 * usb_claims: carries out the USBDeviceClaims of this node.
 *
 * Looks at one claim at a time, several side by side: asks usb_claim_plan for the next step, does
 * it (a write, a read), and asks again until there is none. Owns the queue; reads the node's caches
 * and inventory.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct this_node;
struct usb_claims;

struct usb_claims_deps {
	/* Is the device in port @port free? See offers_is_free(). */
	bool (*is_free)(void *arg, const char *port, char **ret_holder);
	/* Have claimed devices of another kind the resource of the claim @name? */
	bool (*is_taken)(void *arg, const char *name);
	/* Would a pod get the device in port @port, by the resource of the claim @name? See
	 * offers_can_allocate(). */
	bool (*is_offered)(void *arg, const char *name, const char *port);
	/* Is the node of the device in socket @port not QEMU's, and cannot be made so? */
	bool (*is_out_of_reach)(void *arg, const char *port);
	/* How long until the device in socket @port counts as free? As use_log_unproven_ms(). May
	 * be NULL. */
	uint64_t (*unproven_ms)(void *arg, const char *port, bool refused);
	/* The claim of the device in socket @port is about to go: its node is the node's again. */
	void (*restore_node)(void *arg, const char *port);
	void *arg;
};

/* @node is borrowed. */
struct usb_claims *usb_claims_new(const struct this_node *node, const struct usb_claims_deps *deps);
/* Takes NULL, returns NULL. */
struct usb_claims *usb_claims_free(struct usb_claims *claims);

/* The claim @name, or the USBDevice of that name, changed at the API server: enqueue the claim. */
void usb_claims_enqueue(struct usb_claims *claims, const char *name);

/* Anything else changed, such as a list that is there now: enqueue every claim. */
void usb_claims_enqueue_all(struct usb_claims *claims);
