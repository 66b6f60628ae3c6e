/*
 * claim_plan: the next single step for one claim, from what is true now.
 *
 * Pure: the claim, the devices of the node, the other claims and what the last transition came to
 * go in; one step comes out, with the text to write or the job to run. Nothing is remembered: a
 * crash between two steps is just another case.
 *
 *	live:    MARK -> TELL (intent) -> READ -> BIND -> TELL (ready) -> REST
 *	deleted: READ -> RELEASE -> UNMARK        (held: TELL -> REST, looked at again)
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/binder/binder.h"

struct inventory;
struct json_pairs;
struct pcidevice;
struct pcideviceclaim;
struct store;

enum claim_step {
	CLAIM_REST,    /* as it should be, or waits for a change                        */
	CLAIM_MARK,    /* write finalizer, address, node name, owner (decision->body)   */
	CLAIM_TELL,    /* write the status (decision->body)                             */
	CLAIM_READ,    /* read the claim again: the next step cannot be undone            */
	CLAIM_BIND,    /* have the helper do decision->job                              */
	CLAIM_RELEASE, /* likewise                                                      */
	CLAIM_UNMARK,  /* remove the finalizer (decision->body): everything is given back */
};

/* The last transition of the function's group, as far as it still matters. */
struct claim_attempt {
	const struct task_outcome *outcome; /* NULL: none */
	enum binder_verb verb;
	bool newer;                          /* it ended after the inventory's scan began */
	const struct binder_seen_list *seen; /* what it read back; NULL only without an outcome */
};

/* Can pods have the device, by the Node's status.allocatable and the kubelet's list? */
enum claim_offer_state {
	CLAIM_OFFER_NONE, /* the node has no kubelet that offers devices: nothing is waited for */
	CLAIM_OFFER_AWAITED,
	CLAIM_OFFERED,
	CLAIM_OFFER_NODE_GONE,       /* the cluster has no such Node    */
	CLAIM_OFFER_NODE_UNREADABLE, /* the agent may not read the Node */
};

struct claim_offer {
	enum claim_offer_state state;
	const char *resource; /* under which it is offered; NULL: not yet                    */
	const char *trouble;  /* why it is listed as unhealthy; NULL: it is healthy          */
	bool taken;           /* claimed devices of another type have the resource           */
	bool group_taken;     /* the trouble: a pod has another function of its IOMMU group  */
	bool held;            /* a pod has it                                                */
	bool dra;             /* by DRA, not by the kubelet                                  */
	const char *denied;   /* NODE_UNREADABLE: what the API server answers                */
};

/* All borrowed. */
struct claim_case {
	const char *node_name;
	const char *name;                   /* of the claim, and of its PCIDevice              */
	const struct pcideviceclaim *claim; /* the newest that is known; NULL: there is none   */
	bool fresh;     /* read from the API server in this run                                */
	bool on_demand; /* for a ResourceClaim, whose user reads the messages                  */
	const struct inventory *inventory;
	const struct store *claims;     /* PCIDeviceClaims, of all nodes                       */
	const struct store *usb_claims; /* USBDeviceClaims, likewise; NULL: there are none     */
	/* Address of a USB controller -> who has which of its devices, by an entry of the
	 * HostDeviceConfig; NULL: no pod */
	const struct json_pairs *usb_pods;
	const struct pcidevice *device; /* at the API server; NULL: none, or unreadable        */
	struct claim_attempt last;
	enum binder_state state; /* of the group */
	struct binder_trouble trouble;
	uint64_t unproven_ms; /* until the group counts as free: use_log.h; 0: it does */
	struct claim_offer offer;
	const char *allocated;    /* a function of its group that a pod was given; NULL: none  */
	const char *allocated_to; /* "pod default/vm-1"; NULL: not known yet                   */
	const char *bound_for;    /* the ResourceClaim for which its group is bound; NULL: none */
	const char *bind_trouble; /* why it must not get a VFIO node; NULL: it may, or has one  */
	const struct json_strs *vfio_drivers; /* that spec.driver may name, beside vfio-pci     */
	/* First digits of classes that a release leaves without driver */
	const struct json_strs *driverless;
	int64_t now_wall_ms;
};

struct claim_decision {
	enum claim_step step;
	json_t *body;          /* MARK, TELL, UNMARK: a merge patch with uid and resourceVersion */
	struct binder_job job; /* BIND, RELEASE                                                 */
	uint64_t again_ms;     /* REST: run again after this time; 0: not before a change        */
	int watch_pid;         /* REST: run again when this process ends; 0: none                */

	/* An event that goes with the step; NULL reason: none. On the claim. */
	bool warning;
	const char *event_reason; /* static, or part of the case */
	char *event_message;
	char *bound; /* the message of an event Bound that comes before that one; NULL: none */
};

/* The caller releases *@ret_decision. */
void claim_plan(const struct claim_case *c, struct claim_decision *ret_decision);
void claim_decision_done(struct claim_decision *decision);

enum claim_on_demand_step {
	CLAIM_ON_DEMAND_BOUND,  /* the whole group is bound for the ResourceClaim      */
	CLAIM_ON_DEMAND_BIND,   /* have the helper do decision->job                    */
	CLAIM_ON_DEMAND_WAIT,   /* for something that ends soon (decision->message)    */
	CLAIM_ON_DEMAND_REFUSE, /* it cannot be bound now (decision->message)          */
};

struct claim_on_demand_decision {
	enum claim_on_demand_step step;
	struct binder_job job; /* BIND                                                     */
	char *message;         /* WAIT, REFUSE                                             */
	uint64_t again_ms;     /* WAIT: plan again after this time; 0: not before a change  */
};

/*
 * The next step to bind the function of c->name for a ResourceClaim (on_demand_binds.h). c->claim
 * is a claim that exists in memory only: with the ResourceClaim's UID, for the whole group. Nobody
 * else may have anything to do with the group: no PCIDeviceClaim, and no other program that has
 * bound a function to a passthrough driver. c->bound_for and c->allocated are not read. The caller
 * releases *@ret_decision.
 */
void claim_plan_on_demand(const struct claim_case *c,
			  struct claim_on_demand_decision *ret_decision);
void claim_on_demand_decision_done(struct claim_on_demand_decision *decision);

/* Does the claim @name (NULL @claim: it is gone) concern the agent of @node_name? */
bool claim_is_ours(const char *node_name, const char *name, const struct pcideviceclaim *claim);
