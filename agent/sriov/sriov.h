/*
 * sriov: carries out the SRIOVNetworkDevices of this node.
 *
 * Watches them, creates one for each network card that can make virtual functions, keeps its
 * status, and has hostdev-helper give the card as many virtual functions as its spec wants, with
 * their settings. Looks at one object at a time, several side by side: asks sriov_plan for the next
 * step, does it, asks again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/process/helper_place.h"

struct clock;
struct events;
struct informer;
struct inventory;
struct kube_client;
struct metrics;
struct sriov;
struct str;
struct uv_loop_s;

/* Borrowed texts that outlive it. */
struct sriov_options {
	struct helper_place helper;
	uint64_t deadline_ms; /* of one helper; later it is stuck, see helper_run */
};

/* Borrowed, all of it outlives it. */
struct sriov_deps {
	struct uv_loop_s *loop;
	struct kube_client *client;
	struct clock *clock;
	struct events *events;
	struct metrics *metrics;        /* may be NULL                       */
	const struct informer *claims;  /* PCIDeviceClaims of all nodes      */
	const struct informer *devices; /* PCIDevices of this node; may be NULL */
	const char *node_name;
	struct sriov_options options;
	/* Virtual functions were made or removed: the devices are to be looked at anew. */
	void (*on_moved)(void *arg);
	/* Claims that were held back (sriov_holds()) may go on. */
	void (*on_free)(void *arg);
	/* What sriov_parent() says of the function at @address may not be what it was. */
	void (*on_named)(void *arg, const char *address);
	/* As claims_deps has it. May be NULL. */
	bool (*is_free)(void *arg, const char *address, char **ret_holder);
	void *arg;
};

/* Owns its informer, which sriov_start() starts. No callback runs before that. */
struct sriov *sriov_new(const struct sriov_deps *deps);
/* Takes NULL, returns NULL. Helpers under way are left to end by themselves. */
struct sriov *sriov_free(struct sriov *sriov);

void sriov_start(struct sriov *sriov);

/* Has its list been seen? If not, the reason is appended to @reason (may be NULL). */
bool sriov_ready(struct sriov *sriov, struct str *reason);

/* What the node has now; borrowed until the next call or the end. */
void sriov_set(struct sriov *sriov, const struct inventory *inventory);

/* A claim, or who has a device, changed: look at what waits for that. */
void sriov_touch_waiting(struct sriov *sriov);

/* The list of claims is there: look at all. */
void sriov_synced(struct sriov *sriov);

/* The node's address, whose interface is never taken away (copied; NULL: not known). */
void sriov_set_node_address(struct sriov *sriov, const char *address);

/* Is the PCI function at @address a virtual one whose settings are being put in place, so that
 * nobody may be given it yet? */
bool sriov_holds(struct sriov *sriov, const char *address);

/* The label that says whose virtual function the one at @address is; NULL: nobody's. Valid until
 * the next call. */
const char *sriov_parent(struct sriov *sriov, const char *address);
