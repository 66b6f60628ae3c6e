/*
 * sriov: reconciles the SRIOVNetworkDevices of this node.
 *
 * Watches them, creates one for each network card that can make virtual functions, writes its
 * status, and has hostdev-helper give the card as many virtual functions as its spec wants, with
 * their settings. sriov_plan decides, kube/reconcile.h does it; the act is a task (agent/task) for
 * the object. Owns the informer, the reconcile, the tasks and their attempts.
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
	uint64_t deadline_ms; /* of one task; later it is stuck: helper_run.h */
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
	/* Virtual functions were made or removed: a scan is needed. */
	void (*on_moved)(void *arg);
	/* Claims that were held back (sriov_holds()) may go on. */
	void (*on_free)(void *arg);
	/* What sriov_parent() says of the function at @address may not be what it was. */
	void (*on_named)(void *arg, const char *address);
	/* Has no pod the function at @address? As lend_is_free() says. May be NULL. */
	bool (*is_free)(void *arg, const char *address, char **ret_holder);
	void *arg;
};

/* No callback runs before sriov_start(), which starts the informer. */
struct sriov *sriov_new(const struct sriov_deps *deps);
/* Tasks under way are left to end by themselves. Takes NULL, returns NULL. */
struct sriov *sriov_free(struct sriov *sriov);

void sriov_start(struct sriov *sriov);

/* Is its list there? If not, the reason is appended to @reason (may be NULL). */
bool sriov_ready(struct sriov *sriov, struct str *reason);

/* What the node has now; borrowed until the next call or the end. sriov_enqueue_all() is to follow. */
void sriov_set_inventory(struct sriov *sriov, const struct inventory *inventory);

/* Anything else that decisions depend on changed, such as a claim, the inventory, or which pod has a device:
 * enqueue each object, and each card that has or should have one. */
void sriov_enqueue_all(struct sriov *sriov);

/* The node's address, whose interface is never taken away (copied; NULL: not known). */
void sriov_set_node_address(struct sriov *sriov, const char *address);

/* Is the PCI function at @address a virtual function whose settings are being applied, so that no pod
 * may get it yet? */
bool sriov_holds(struct sriov *sriov, const char *address);

/* The label that names the card of the virtual function at @address; NULL: it is none. Valid until the
 * next call. */
const char *sriov_parent(struct sriov *sriov, const char *address);
