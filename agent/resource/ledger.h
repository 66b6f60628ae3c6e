/*
 * ledger: which container has which device, according to the kubelet and to recent Allocate calls.
 *
 * Devices that ResourceClaims have are apart: the DRA driver knows which these are, and the ledger
 * only which containers have them.
 *
 * Owns the client of podresources. A pod that just got devices may be in no list yet, and a kubelet
 * that has just started lists no pods before it has read them from the API server. The ledger waits
 * for both.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ledger;
struct json_strs;
struct pcidevice_allocations;
struct pod_device;
struct this_node;

enum {
	LEDGER_UNKNOWN_MS = 15000,
	LEDGER_RECENT_MS = 2000, /* all containers of a pod have their devices by then */
};

/* An allocation to a container of a pod that is not known yet. */
struct ledger_allocation {
	const char *resource; /* the resource of the allocation; NULL: no recent one */
	uint64_t call;        /* increases with each call; equal: allocated in one call */
	bool open;            /* the same container may still request devices of other resources */
	bool recent;          /* no LEDGER_RECENT_MS ago, whether or not a list names the pod   */
};

/* Borrowed. */
struct ledger_deps {
	const char *socket_path;
	const char *checkpoint_path; /* the kubelet's; agent/plugin/checkpoint.h */
	/* The holder of the device @id (NULL: any device) changed, or is certain now
	 * (ledger_written()). Is called after the function that causes it has returned, except by
	 * ledger_offered(). */
	void (*changed)(void *arg, const char *id);
	bool (*offers)(void *arg, const char *resource);         /* see pod_allocations.h */
	bool (*had)(void *arg, const struct pod_device *device); /* see pod_allocations.h */
	const char *dra_driver; /* ours, whose devices are read; NULL: none */
	/* The ID of a device that a container has by a ResourceClaim of this driver; NULL: that is
	 * not prepared, or not any more. Borrowed. Needed with @dra_driver. */
	const char *(*claimed_id)(void *arg, const struct pod_device *device);
	/* Make the kubelet write its checkpoint while ledger_wants_written(): now if it has an open
	 * stream, else soon. */
	void (*make_kubelet_write)(void *arg);
	void *arg;
};

/* Asks nothing before ledger_ask(). @node is borrowed. */
struct ledger *ledger_new(const struct this_node *node, const struct ledger_deps *deps);
/* Takes NULL, returns NULL. The loop must run once more. */
struct ledger *ledger_free(struct ledger *ledger);

/* Something may have changed: ask soon. */
void ledger_ask(struct ledger *ledger);

/* What is offered may not be what it was: `changed` runs inside. */
void ledger_offered(struct ledger *ledger);

/* The Node's heartbeat; 0: the Node has no such condition, because no kubelet has written it. */
void ledger_set_heartbeat(struct ledger *ledger, int64_t heartbeat_ms);

/* The devices @ids of @resource were just allocated to a pod whose name is not known yet. */
void ledger_allocate(struct ledger *ledger, const char *resource, const struct json_strs *ids);

/* Return the resource under which a pod has the device or is about to get it; NULL: none known. The
 * checkpoint counts as in ledger_written(). Valid until the next call for a device, or until
 * `changed` is called. */
const char *ledger_resource(struct ledger *ledger, const char *id);

/*
 * Return the last allocation of the device. It counts until a list that was requested later names
 * the device's pod, at least while its container is open, or until ledger_is_free() without a list.
 * A container is open until the kubelet's checkpoint names the device (agent/plugin/checkpoint.h),
 * at most for LEDGER_RECENT_MS; without a checkpoint, none is. Valid until `changed` or
 * ledger_allocate() is called.
 */
struct ledger_allocation ledger_allocation(struct ledger *ledger, const char *id);

/* Return whether one pod has both devices, since each was allocated last. Compares the UIDs in the
 * kubelet's checkpoint, or the kubelet's list where the checkpoint has none. */
bool ledger_same_pod(struct ledger *ledger, const char *a, const char *b);

/* See offers_is_free(). A kubelet that has not answered LEDGER_UNKNOWN_MS after ledger_new() counts
 * as one without pods. A kubelet that stops answering keeps the pods of its last answer. */
bool ledger_is_free(struct ledger *ledger, const char *id, char **ret_holder);

/* Return the holder of the device from the kubelet's checkpoint, if the kubelet's list does not
 * have it: the kubelet has not answered yet, stopped answering or has just started, or only an init
 * container has the device, which it never lists. In the first three cases any pod may have the
 * device if the checkpoint exists but cannot be read. NULL: no holder, or the list names it.
 * Static. */
const char *ledger_written(struct ledger *ledger, const char *id);

/* Return a process of a pod that had the device before the pod in the kubelet's checkpoint. This
 * happens after a forced deletion: the kubelet allocates the device again before it has ended the
 * pod's processes. NULL: none. The caller frees. */
char *ledger_former(struct ledger *ledger, const char *id);

/* Return whether a process of a pod has the device, although the kubelet counts the device as free.
 * The checkpoint may still name that pod. */
bool ledger_is_busy(struct ledger *ledger, const char *id);

/* Add the IDs of the devices that pods have, or are about to, as far as is known; of those in the
 * kubelet's checkpoint what counts for ledger_written(), which may be other plugins'. In any order,
 * perhaps twice. */
void ledger_ids(struct ledger *ledger, struct json_strs *ids);

/* Does the checkpoint name devices that the kubelet does not list? It is then to be written again
 * from time to time. */
bool ledger_wants_written(const struct ledger *ledger);

/* Who has it by a device plugin; NULL: not known yet. Valid until `changed` is called. */
const struct pcidevice_allocations *ledger_allocations(const struct ledger *ledger, const char *id);
/* Likewise, by a ResourceClaim. */
const struct pcidevice_allocations *ledger_claims(const struct ledger *ledger, const char *id);
