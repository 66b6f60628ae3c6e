/*
 * checkpoint: which devices containers have, as the kubelet's device manager has it on disk.
 *
 * The file kubelet_internal_checkpoint is the kubelet's own and no interface: it is a reason to
 * hold a device, to take a container for one that has got all of its devices, or two devices for
 * those of one pod. Where it cannot be read nothing is given on its account. A kubelet writes it
 * when a container has got its devices of all resources, before anything else is admitted
 * (allocateContainerResources() of pkg/kubelet/cm/devicemanager/manager.go, 1.34), and when a
 * device plugin tells of its devices. Pods that are gone are in it until the next time.
 */
#pragma once

#include <stdint.h>

struct checkpoint;
struct json_strs;

enum { CHECKPOINT_MAX = 16 << 20 }; /* bytes; a longer one counts as unreadable */

enum checkpoint_answer {
	CHECKPOINT_MISSING,   /* there is no such file: no container was given anything */
	CHECKPOINT_UNKNOWN,   /* it cannot be read, or is not understood                */
	CHECKPOINT_ALLOCATED, /* a container has the device                             */
	CHECKPOINT_FREE,
};

/* @path is copied; nothing is read yet. */
struct checkpoint *checkpoint_new(const char *path);
/* Takes NULL, returns NULL. */
struct checkpoint *checkpoint_free(struct checkpoint *checkpoint);

/* Another number as soon as the kubelet has written it again; 0: there is none. Reads nothing of
 * it. */
uint64_t checkpoint_version(struct checkpoint *checkpoint);

/* Of the device @id, of whatever resource; an ID of several that are joined by ',' names each of
 * them. What it says is read again only if it was written. */
enum checkpoint_answer checkpoint_find(struct checkpoint *checkpoint, const char *id);

/* The UID of the pod that has the device @id; NULL: it names none, or several. Valid until the next
 * question. */
const char *checkpoint_pod(struct checkpoint *checkpoint, const char *id);

/* The resource as which a container has the device @id, of several the first; NULL: it names none.
 * Valid likewise. */
const char *checkpoint_resource(struct checkpoint *checkpoint, const char *id);

/* Add the nodes on the host that the kubelet gives a container for the devices @ids of @resource,
 * each time that it starts. None: that is not known. */
void checkpoint_nodes(struct checkpoint *checkpoint, const char *resource,
		      const struct json_strs *ids, struct json_strs *nodes);

/* Add the IDs of all devices that it names; in any order. */
void checkpoint_ids(struct checkpoint *checkpoint, struct json_strs *ids);
