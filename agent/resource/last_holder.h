/*
 * last_holder: the last holder of a device according to the API server's objects. Pure.
 *
 * A restarted agent uses this until the kubelet has answered: a pod does not end with the agent.
 */
#pragma once

#include <stdbool.h>

struct pcidevice_allocations;
struct store;

/* Borrowed, for as long as it is asked. */
struct last_holder {
	const char *node_name;
	const struct store *claims;  /* PCIDeviceClaims, of all nodes           */
	const struct store *devices; /* PCIDevices of this node                 */
	const struct store *mdevs;   /* its MediatedDevices; NULL: none         */
};

/* Is @holder (NULL: none), from last_holder_pod(), a pod and not a process? */
bool last_holder_is_pod(const char *holder);

/* "pod NAMESPACE/NAME" of the first that has the device by a device plugin, for the caller to free;
 * NULL: none has. What ResourceClaims have, the checkpoints of the DRA driver say. */
char *last_holder_first_pod(const struct pcidevice_allocations *list);

/* "pod NAMESPACE/NAME" that had the device @id (a PCI address or a UUID), for the caller to free;
 * NULL: none is known. From its object, or from a claim that waits for the pod, because a PCIDevice
 * that was created again has lost the allocation. */
char *last_holder_pod(const struct last_holder *last, const char *id);

/* Who had the function at @address by its PCIDevice, which owns the list; NULL: there is none. */
const struct pcidevice_allocations *last_holder_allocations(const struct last_holder *last,
							    const char *address);
