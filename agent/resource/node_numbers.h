/*
 * node_numbers: the numbers (major:minor) of the nodes of VFIO and USB devices that pods were
 * given.
 *
 * When a device is unplugged, a pod that has it keeps the device node and the right to open it. The
 * kernel may give the number of that node to another device, which the pod can then open. Therefore
 * a device is not offered while its node has a number that a pod was given for another device, and
 * none is bound to a VFIO driver while a pod may open a number that none of its devices has any
 * more: the kernel takes the lowest free number. The numbers are kept in a file of the state
 * directory, for the next process of this boot. If a VFIO device was unplugged while no agent ran
 * and the file does not have its number, that is unknown: then no VFIO devices are bound or offered
 * but those that pods already have. This does not apply to USB, where the kernel uses the numbers
 * in turn.
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

/* @node is borrowed. Reads what the process before has kept; looks at no device yet. */
struct node_numbers *node_numbers_new(const struct this_node *node,
				      const struct node_numbers_deps *deps);
/* Takes NULL, returns NULL. */
struct node_numbers *node_numbers_free(struct node_numbers *numbers);

/* Who has what may have changed, or what there is: look at the nodes of all devices that pods
 * have. */
void node_numbers_update(struct node_numbers *numbers);

/* The devices were just given to a container: what pods had them before is gone. */
void node_numbers_allocate(struct node_numbers *numbers, const struct json_strs *ids);

/* Why the device @id must not be offered: which pod could open it. @id is a PCI address, the UUID
 * of a mediated device or a USB port path. NULL: no pod could open it. The caller frees. */
char *node_numbers_trouble(struct node_numbers *numbers, const char *id);

/* Why the device @id must not get a VFIO node now: a pod could open it. Looks at all devices that
 * pods have. NULL: it has one already, or no pod could open the next one. The caller frees. */
char *node_numbers_bind_trouble(struct node_numbers *numbers, const char *id);
