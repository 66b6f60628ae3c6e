/*
 * pci_type: offers PCI functions to pods through the kubelet.
 *
 * A function is offered when its claim has bound it, or when it has no claim and the
 * HostDeviceConfig selects it (pci_selected.h); its ID is its address. A claimed function that a
 * HostDeviceConfig entry offers by DRA is marked so, and is not on any of the kubelet's lists. If
 * the entry offers functions on demand, so is a free function without a claim: it is healthy while
 * it could be bound, or is bound for a ResourceClaim.
 *
 * A claimed function is healthy while its claim is not being deleted and is Ready (or waits only
 * for the kubelet), the function is on the claim's driver, and its VFIO node exists. All of this is
 * read back, and again from the kernel before an allocation. Each offer is computed from the view
 * alone. If a resource is renamed while a pod has the device, the device keeps the old name until
 * the pod is gone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct config;
struct ledger_allocation;
struct device_type;
struct json_strs;
struct pci_type;
struct pcidevice_allocations;
struct plugins;
struct store;
struct this_node;

/* What exists now. All borrowed, and read at every update and every Allocate. */
struct pci_view {
	const struct this_node *node; /* without an inventory nothing is offered */
	const struct store *claims;   /* PCIDeviceClaims, of all nodes           */
	const struct store *devices;  /* PCIDevices of this node                 */
	const struct config *config;  /* NULL: not known yet, it selects nothing */
	/* As offers_resource(); NULL: no pod has anything. */
	const char *(*held_as)(void *arg, const char *address, bool *ret_ours);
	/* The pods that have the device, as the kubelet lists them; NULL: not known. May be
	 * NULL. */
	const struct pcidevice_allocations *(*pods)(void *arg, const char *address);
	/* As ledger_allocation(). May be NULL. */
	struct ledger_allocation (*allocation)(void *arg, const char *address);
	/* As ledger_written(). May be NULL. */
	const char *(*written)(void *arg, const char *address);
	/* The offer of the function by the HostDeviceConfig changed. May be NULL. */
	void (*selected)(void *arg, const char *address);
	/* As ledger_same_pod(). NULL: never. */
	bool (*same_pod)(void *arg, const char *a, const char *b);
	/* Is the function prepared for a ResourceClaim? NULL: never. */
	bool (*claimed)(void *arg, const char *address);
	/* As offers_bound_for(). NULL: never any. */
	char *(*bound_for)(void *arg, const char *address);
	/* Why the function could not be bound for a ResourceClaim now; NULL: it could. The caller
	 * frees. NULL: none could. */
	char *(*on_demand_trouble)(void *arg, const char *address);
	/* As struct on_demand_binder has it. NULL: never. */
	bool (*moving)(void *arg, const char *address);
	/* As node_numbers_trouble(). NULL: never any. */
	char *(*number)(void *arg, const char *address);
	/* As offers_start_trouble(). May be NULL. */
	char *(*start)(void *arg, const char *address);
	/* As offers_is_busy(). May be NULL. */
	bool (*busy)(void *arg, const char *address);
	void *arg;
};

/* @view may be changed between two calls, and outlives the type. */
struct pci_type *pci_type_new(const struct pci_view *view);
/* Takes NULL, returns NULL. */
struct pci_type *pci_type_free(struct pci_type *type);

/* Update the resources of @plugins to what the view shows. */
void pci_type_offer(struct pci_type *type, struct plugins *plugins);

/* A function as the kubelet's device list has it. */
struct pci_last_offer {
	char *address;
	char *resource;
	char *trouble;    /* why it is not healthy; NULL: it is                    */
	bool group_taken; /* the trouble: a pod has another function of its group */
	bool by_claim;    /* the trouble: its claim is not ready, or is deleted   */
	bool claimed;     /* else the HostDeviceConfig selects it                  */
	bool dra;         /* offered by DRA: not in the kubelet's list            */
	bool on_demand;   /* likewise: bound when it is prepared for a claim      */
	char *bound_for;  /* the ResourceClaim that it is; NULL: none             */
	size_t healthy;   /* functions of its resource in the kubelet's list       */
};

/* How the function @address was offered last; NULL: it was not. Valid until the next offer. */
const struct pci_last_offer *pci_type_last_offer(const struct pci_type *type, const char *address);

/* Add the nodes that what is offered now needs. */
void pci_type_nodes(struct pci_type *type, struct json_strs *nodes);

/* Its `arg` is the struct pci_type. */
extern const struct device_type pci_device_type;
