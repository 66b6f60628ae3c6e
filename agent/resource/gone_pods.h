/*
 * gone_pods: the devices of pods that the kubelet's checkpoint has named, as long as these pods
 * have processes.
 *
 * The kubelet forgets a pod that is deleted by force, and then ends its processes
 * (agent/resource/pod_processes.h). As long as one lives it has what it was given, and could open
 * the next device whose node has the same number. The pods are kept in a file of the state
 * directory, for the next process of this boot.
 */
#pragma once

#include <stdbool.h>

struct checkpoint;
struct gone_pods;
struct json_strs;
struct this_node;

/* @node and @checkpoint are borrowed. Reads both the file and the checkpoint. @ended: no process
 * has the device @id any more, of which gone_pods_await() has said that one does. */
struct gone_pods *gone_pods_new(const struct this_node *node, struct checkpoint *checkpoint,
				void (*ended)(void *arg, const char *id), void *arg);
/* Takes NULL, returns NULL. */
struct gone_pods *gone_pods_free(struct gone_pods *gone);

/* The kubelet may have written its checkpoint: before it forgets a pod, this has to be called. */
void gone_pods_note(struct gone_pods *gone);

/* "process 12 of a deleted pod (UID ...)": a process of a pod that had the device @id, whether or
 * not the checkpoint still names it; or that this cannot be told. NULL: none runs. The caller
 * frees. Its end is waited for. */
char *gone_pods_await(struct gone_pods *gone, const char *id);

/* The same of all pods but the one that the checkpoint names for @id now; nothing is waited for. */
char *gone_pods_other(struct gone_pods *gone, const char *id);

/* Has a process of any such pod the device @id, whether or not the checkpoint still names the pod?
 * Nothing is waited for; true if that cannot be told. */
bool gone_pods_have(struct gone_pods *gone, const char *id);

/* Add the devices that such processes have; as gone_pods_await() of each. */
void gone_pods_ids(struct gone_pods *gone, struct json_strs *ids);
