/*
 * gone_pods: devices of pods that the kubelet's checkpoint has named and that still have processes.
 *
 * The kubelet forgets a pod that is deleted by force, and ends its processes afterwards
 * (agent/resource/pod_processes.h). A process that is still running keeps its devices, and could
 * open the next device whose node has the same number. The pods are kept in a file of the state
 * directory, so that the next agent of this boot knows them.
 */
#pragma once

#include <stdbool.h>

struct checkpoint;
struct gone_pods;
struct json_strs;
struct this_node;

/* @node and @checkpoint are borrowed. Reads the file and the checkpoint. @ended is called when no
 * process has the device @id any more, after gone_pods_await() reported one. */
struct gone_pods *gone_pods_new(const struct this_node *node, struct checkpoint *checkpoint,
				void (*ended)(void *arg, const char *id), void *arg);
/* Takes NULL, returns NULL. */
struct gone_pods *gone_pods_free(struct gone_pods *gone);

/* The kubelet may have written its checkpoint: before it forgets a pod, this has to be called. */
void gone_pods_note(struct gone_pods *gone);

/* Return "process 12 of a deleted pod (UID ...)" if a pod that had the device @id still has a
 * process, whether or not the checkpoint names it, or an explanation if this cannot be read. NULL:
 * no such process. The caller frees the text. `ended` is called later. */
char *gone_pods_await(struct gone_pods *gone, const char *id);

/* The same of all pods but the one that the checkpoint names for @id now; nothing is waited for. */
char *gone_pods_other(struct gone_pods *gone, const char *id);

/* Return whether a process of such a pod has the device @id. Also true if this cannot be read. Does
 * not wait. */
bool gone_pods_have(struct gone_pods *gone, const char *id);

/* Add the devices that such processes have; as gone_pods_await() of each. */
void gone_pods_ids(struct gone_pods *gone, struct json_strs *ids);
