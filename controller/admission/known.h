/*
 * known: what the controller has seen of the cluster, which is all that the rules look at.
 *
 * Owns nothing and reads only. An answer made of it needs no call to anybody.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct migconfiguration;
struct node;
struct device;
struct pcideviceclaim;
struct resources;
struct sriovgpudevice;
struct sriovnetworkdevice;
struct store;
struct device;
struct usbdeviceclaim;
struct vgpudevice;
struct virtualmachine;

enum known_kind {
	KNOWN_PCIDEVICE,
	KNOWN_USBDEVICE,
	KNOWN_PCICLAIM,
	KNOWN_USBCLAIM,
	KNOWN_NODE,
	KNOWN_NIC,
	KNOWN_GPU,
	KNOWN_VGPU,
	KNOWN_VM,
	KNOWN_KINDS,
};

/* Borrowed. */
struct known {
	const struct store *stores[KNOWN_KINDS];
	bool synced[KNOWN_KINDS]; /* the store has had a list                             */
	const struct resources
		*resources; /* that devices have, or that nodes offer               */
};

extern const struct api_kind *const known_kinds[KNOWN_KINDS];

/* NULL: there is none, or it cannot be read. Valid until the stores change. */
const struct device *known_pcidevice(const struct known *known, const char *name);
const struct device *known_usbdevice(const struct known *known, const char *name);
const struct pcideviceclaim *known_pciclaim(const struct known *known, const char *name);
const struct usbdeviceclaim *known_usbclaim(const struct known *known, const char *name);
const struct sriovgpudevice *known_gpu(const struct known *known, const char *name);
const struct vgpudevice *known_vgpu(const struct known *known, const char *name);

/* The uid of the object of that kind and name; "" if there is none. */
const char *known_uid(const struct known *known, enum known_kind kind, const char *name);

/* Is there no such node, or is it being deleted? Also true of no name at all. */
bool known_node_gone(const struct known *known, const char *name);

/* Walk over those that can be read: from *@cursor = 0 to NULL, in arbitrary order. */
const void *known_next(const struct known *known, enum known_kind kind, size_t *cursor);

/* The device of that address on that node, and its claim. */
const struct device *known_pci_at(const struct known *known, const char *node, const char *address);
const struct pcideviceclaim *known_pciclaim_at(const struct known *known, const char *node,
					       const char *address);

/* Texts of the API: NULL is the empty one. */
bool known_same(const char *a, const char *b);
bool known_empty(const char *text);
