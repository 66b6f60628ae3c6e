/*
 * node_numbers: the numbers (major:minor) of the nodes of VFIO and USB devices that pods were given.
 *
 * A pod keeps its device node, and the right to open it, when the device is unplugged. The kernel gives the number to the
 * next device, which the pod would open. So a device whose node has the number of a pod's other device is not lent, until that
 * pod is gone. Owns the numbers; they are in no file. Of a VFIO device that was unplugged while no agent ran the number is not
 * known: then no VFIO device is lent that a pod does not have already. Not so with USB, which uses its numbers in turn.
 */
#pragma once

#include <stdbool.h>

struct json_strs;
struct node_numbers;
struct this_node;

/* Borrowed. */
struct node_numbers_deps {
	/* Add the IDs that pods have, as custody_ids(). */
	void (*held)(void *arg, struct json_strs *ids);
	/* Who has it, "pod default/vm-1"; the caller frees. */
	char *(*holder)(void *arg, const char *id);
	/* As custody_same_pod(). */
	bool (*same_pod)(void *arg, const char *a, const char *b);
	void *arg;
};

/* @node is borrowed. Looks at nothing yet. */
struct node_numbers *node_numbers_new(const struct this_node *node,
				      const struct node_numbers_deps *deps);
/* Takes NULL, returns NULL. */
struct node_numbers *node_numbers_free(struct node_numbers *numbers);

/* Who has what may have changed, or what there is: look at the nodes of all devices that pods have. */
void node_numbers_look(struct node_numbers *numbers);

/* The same of the device @id alone, which a pod may have now. */
void node_numbers_look_at(struct node_numbers *numbers, const char *id);

/* The devices were just given to a container: what pods had them before is gone. */
void node_numbers_give(struct node_numbers *numbers, const struct json_strs *ids);

/* Why the device @id, a PCI address, the UUID of a mediated device or a USB port path, is not to be lent: a pod could open it.
 * NULL: no pod could. The caller frees. */
char *node_numbers_trouble(struct node_numbers *numbers, const char *id);
