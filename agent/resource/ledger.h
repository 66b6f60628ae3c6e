/*
 * ledger: who has which device: what the kubelet says, and what it cannot say yet.
 *
 * Owns the questions to podresources. A pod whose devices were just handed out may be in no list
 * for a moment, and a kubelet that has just begun lists no pods before it has heard of them: both
 * are waited for.
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
	LEDGER_RECENT_MS = 2000, /* a pod's containers are all given theirs by then */
};

/* That a device was given to a container of a pod that is not known yet. */
struct ledger_allocation {
	const char *resource; /* as which it was given; NULL: it was not lately */
	uint64_t call;        /* the later the greater; the same: given in one call */
	bool open;            /* the same container may still be given devices of other resources */
	bool recent;          /* no LEDGER_RECENT_MS ago, whether or not a list names the pod   */
};

/* Borrowed. */
struct ledger_deps {
	const char *socket_path;
	const char *checkpoint_path; /* the kubelet's; agent/plugin/checkpoint.h */
	/* Who has the device @id (NULL: any device) is not what it was, or no longer in doubt
	 * (ledger_written()). Never runs before the function that was called has returned, but for
	 * ledger_offered(). */
	void (*changed)(void *arg, const char *id);
	bool (*offers)(void *arg, const char *resource);         /* as pod_allocations.h says */
	bool (*had)(void *arg, const struct pod_device *device); /* likewise            */
	/* Have the kubelet write its checkpoint, as long as ledger_wants_written(): at once if it
	 * has a stream open, else soon. */
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

/* The devices @ids of @resource were just given to a pod, whose name is not known yet. */
void ledger_allocate(struct ledger *ledger, const char *resource, const struct json_strs *ids);

/* The resource under which a pod has the device, or is about to; NULL: none, as far as is known.
 * What the kubelet's checkpoint says counts as for ledger_written(). Valid until the next question
 * about a device, or `changed` is called. */
const char *ledger_resource(struct ledger *ledger, const char *id);

/*
 * How the device was given last. It counts as given until a list that was asked for afterwards
 * tells which pod has it, but as long as its container is open; or until ledger_is_free() without a
 * list. Open is a container until the kubelet's checkpoint names the device
 * (agent/plugin/checkpoint.h), at most LEDGER_RECENT_MS; without a checkpoint none is. Valid until
 * `changed` is called or ledger_allocate().
 */
struct ledger_allocation ledger_allocation(struct ledger *ledger, const char *id);

/* Does the kubelet give both devices to one pod, as far as it has told since each was given last?
 * By the UIDs in its checkpoint; only where it has none by its list. */
bool ledger_same_pod(struct ledger *ledger, const char *a, const char *b);

/* As offers_is_free(). A kubelet that has said nothing LEDGER_UNKNOWN_MS after ledger_new() counts
 * as one without pods; one that answers no more has those that it had. */
bool ledger_is_free(struct ledger *ledger, const char *id, char **ret_holder);

/* The holder of the device from the kubelet's checkpoint, if the kubelet itself does not say it:
 * because it has not answered yet, does not answer any more, or has just started; or because it
 * never lists what only an init container was given. In the first three cases any pod may have the
 * device if the checkpoint exists and cannot be read. NULL: no holder, or the kubelet says it.
 * Static. */
const char *ledger_written(struct ledger *ledger, const char *id);

/* A process of a pod that had the device before the one that the kubelet's checkpoint names now:
 * that pod was deleted by force, and the kubelet gives the device away before it has ended the
 * pod's processes. NULL: there is none. The caller frees. */
char *ledger_former(struct ledger *ledger, const char *id);

/* Has a process of a pod the device, which the kubelet counts as free? Its checkpoint may name that
 * pod until it gives something to another one. */
bool ledger_is_busy(struct ledger *ledger, const char *id);

/* Add the IDs of the devices that pods have, or are about to, as far as is known; of those in the
 * kubelet's checkpoint what counts for ledger_written(), which may be other plugins'. In any order,
 * perhaps twice. */
void ledger_ids(struct ledger *ledger, struct json_strs *ids);

/* Does the checkpoint name devices that the kubelet does not list? It is then to be written again
 * from time to time. */
bool ledger_wants_written(const struct ledger *ledger);

/* Who has it; NULL: not known yet. Valid until `changed` is called. */
const struct pcidevice_allocations *ledger_allocations(const struct ledger *ledger, const char *id);
