/*
 * node_numbers: the numbers (major:minor) of the device nodes that pods got for VFIO and USB
 * devices.
 *
 * When a device is unplugged, its pod keeps the device node and the right to open it. The kernel
 * may use the number of that node for another device, which the pod can then open. So a device is
 * not offered while its node has a number that a pod got for another device. And no device is bound
 * to a VFIO driver while a pod may open a number that none of its devices has any more, because the
 * kernel takes the lowest free number. This does not apply to USB, where the kernel takes numbers
 * in turn.
 *
 * The numbers are kept in a file of the state directory, so that the next agent of this boot knows
 * them. If a VFIO device was unplugged while no agent ran and the file does not have its number, no
 * VFIO devices are bound or offered except those that pods already have.
 */
#pragma once

#include <stdbool.h>

struct json_strs;
struct node_numbers;
struct this_node;

/* Borrowed. */
struct node_numbers_deps {
	/* Add the IDs that pods have, as ledger_ids(). */
	void (*held)(void *arg, struct json_strs *ids);
	/* Who has it, "pod default/vm-1"; the caller frees. */
	char *(*holder)(void *arg, const char *id);
	/* As ledger_same_pod(). */
	bool (*same_pod)(void *arg, const char *a, const char *b);
	void *arg;
};

/* @node is borrowed. Reads the file of the previous agent, and no device yet. */
struct node_numbers *node_numbers_new(const struct this_node *node,
				      const struct node_numbers_deps *deps);
/* Takes NULL, returns NULL. */
struct node_numbers *node_numbers_free(struct node_numbers *numbers);

/* Read the nodes of all devices that pods have. Call it when an allocation or a device has
 * changed. */
void node_numbers_update(struct node_numbers *numbers);

/* The devices were just allocated to a container, so their earlier pods are gone. */
void node_numbers_allocate(struct node_numbers *numbers, const struct json_strs *ids);

/* Why the device @id must not be offered: which pod could open it. @id is a PCI address, the UUID
 * of a mediated device or a USB port path. NULL: no pod could open it. The caller frees. */
char *node_numbers_trouble(struct node_numbers *numbers, const char *id);

/* Explain why the device @id must not get a VFIO node now: a pod could open it. Checks all devices
 * that pods have. NULL: it has a node already, or no pod could open the next one. The caller
 * frees. */
char *node_numbers_bind_trouble(struct node_numbers *numbers, const char *id);
