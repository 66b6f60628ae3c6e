/*
 * checkpoint: which devices containers have, according to the kubelet's device manager on disk.
 *
 * The file kubelet_internal_checkpoint belongs to the kubelet and is no interface. It is used to
 * hold a device, to see that a container has all of its devices, and to see that two devices are of
 * one pod. If it cannot be read, nothing is allocated because of it. A kubelet writes it when a
 * container has its devices of all resources, before it admits anything else
 * (allocateContainerResources() of pkg/kubelet/cm/devicemanager/manager.go, 1.34), and when a
 * device plugin sends its list. Pods that are gone stay in it until the next write.
 */
#pragma once

#include <stdint.h>

struct checkpoint;
struct json_strs;

enum { CHECKPOINT_MAX = 16 << 20 }; /* bytes; a longer one counts as unreadable */

enum checkpoint_answer {
	CHECKPOINT_MISSING,   /* there is no file: no container has devices */
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

/* Look the device @id up, of any resource; an ID of several joined by ',' counts for each of them.
 * The file is read again only after a write. */
enum checkpoint_answer checkpoint_find(struct checkpoint *checkpoint, const char *id);

/* The UID of the pod that has the device @id; NULL: it names none, or several. Valid until the next
 * question. */
const char *checkpoint_pod(struct checkpoint *checkpoint, const char *id);

/* Return the resource as which a container has the device @id (the first of several); NULL: none.
 * Valid until the next call. */
const char *checkpoint_resource(struct checkpoint *checkpoint, const char *id);

/* Add the device nodes of the host that the kubelet gives a container for the devices @ids of
 * @resource at each start. None: not known. */
void checkpoint_nodes(struct checkpoint *checkpoint, const char *resource,
		      const struct json_strs *ids, struct json_strs *nodes);

/* Add the IDs of all devices that it names; in any order. */
void checkpoint_ids(struct checkpoint *checkpoint, struct json_strs *ids);
