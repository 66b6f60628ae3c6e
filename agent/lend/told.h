/*
 * told: who had a device when the API server was told of it last. Pure.
 *
 * An agent that begins anew asks this until a kubelet has answered: a pod does not end with its agent.
 */
#pragma once

#include <stdbool.h>

struct pcidevice_allocations;
struct store;

/* Borrowed, for as long as it is asked. */
struct told {
	const char *node_name;
	const struct store *claims;  /* PCIDeviceClaims, of all nodes           */
	const struct store *devices; /* PCIDevices of this node                 */
	const struct store *mdevs;   /* its MediatedDevices; NULL: none         */
};

/* Is @holder (NULL: nobody) a pod, and not a process? As told_holder() says it. */
bool told_is_pod(const char *holder);

/* "pod NAMESPACE/NAME" that had the device @id (a PCI address or a UUID), for the caller to free; NULL: nobody had
 * it, or nobody says it. By its object, or by a claim that waits for the pod: a PCIDevice that was made anew does
 * not know it any more. */
char *told_holder(const struct told *told, const char *id);

/* Who had the function at @address by its PCIDevice, which owns the list; NULL: there is none. */
const struct pcidevice_allocations *told_allocations(const struct told *told, const char *address);
