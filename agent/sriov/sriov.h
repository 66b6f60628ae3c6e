/*
 * sriov: reconciles the SRIOVNetworkDevices of this node.
 *
 * Watches them, creates one for each network card that supports virtual functions, writes its
 * status, and lets hostdev-helper create the virtual functions of its spec and apply their
 * settings. sriov_plan decides, kube/reconcile.h carries it out; the act is a task (agent/task) for
 * the object. Owns the informer, the reconciler, the tasks and their attempts.
 */
#pragma once

#include <stdbool.h>

struct sriov;
struct str;
struct this_node;

struct sriov_deps {
	/* Virtual functions were made or removed: a scan is needed. */
	void (*on_moved)(void *arg);
	/* Claims that were held back (sriov_holds()) may go on. */
	void (*on_free)(void *arg);
	/* The answer of sriov_parent() for the function at @address may have changed. */
	void (*on_named)(void *arg, const char *address);
	/* Is the function at @address free? See offers_is_free(). May be NULL. */
	bool (*is_free)(void *arg, const char *address, char **ret_holder);
	/* Is the PCIDevice @name being bound or released, or has no scan begun since? See
	 * claims_moving(); an inventory follows. May be NULL. */
	bool (*is_moving)(void *arg, const char *name);
	void *arg;
};

/* No callback runs before sriov_start(), which starts the informer. @node is borrowed. */
struct sriov *sriov_new(const struct this_node *node, const struct sriov_deps *deps);
/* Tasks under way are left to end by themselves. Takes NULL, returns NULL. */
struct sriov *sriov_free(struct sriov *sriov);

void sriov_start(struct sriov *sriov);

/* Is its list there? If not, the reason is appended to @reason (may be NULL). */
bool sriov_ready(struct sriov *sriov, struct str *reason);

/* The node has a new inventory: note which card each virtual function belongs to.
 * sriov_enqueue_all() is to follow. */
void sriov_map_functions(struct sriov *sriov);

/* Anything else that decisions depend on changed, such as a claim, the inventory, or which pod has
 * a device: enqueue each object, and each card that has or should have one. */
void sriov_enqueue_all(struct sriov *sriov);

/* The node's address, whose interface is never removed (copied; NULL: not known). */
void sriov_set_node_address(struct sriov *sriov, const char *address);

/* Is the PCI function at @address a virtual function whose settings are being applied, so that it
 * must not be allocated yet? */
bool sriov_holds(struct sriov *sriov, const char *address);

/* The label that names the card of the virtual function at @address; NULL: it is none. Valid until
 * the next call. */
const char *sriov_parent(struct sriov *sriov, const char *address);
