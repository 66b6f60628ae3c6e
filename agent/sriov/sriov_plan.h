/*
 * sriov_plan: the next single step for one SRIOVNetworkDevice, from what is true now.
 *
 * Pure: the object, the devices of the node, who has its virtual functions, and what the last run
 * of the helper came to go in; one step comes out, with the text to write or the job to run.
 *
 * 	no object: CREATE -> TELL
 * 	object:    MARK -> TELL (Applying) -> READ -> APPLY -> TELL (Ready) -> REST
 * 	settings:  APPLY after each scan, silently while all is as it should be
 * 	card gone: TELL (DeviceGone), or DELETE if the spec asks for nothing
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/sriov/sriov_job.h"

struct inventory;
struct pci_facts;
struct sriovnetworkdevice;
struct store;
struct task_outcome;

enum sriov_step {
	SRIOV_REST,   /* as it should be, or waits for a change            */
	SRIOV_CREATE, /* post decision->body                               */
	SRIOV_MARK,   /* write label, annotations, address (decision->body) */
	SRIOV_TELL,   /* write the status (decision->body)                 */
	SRIOV_READ,   /* read the object anew: the next step cannot be taken back */
	SRIOV_APPLY,  /* have the helper do decision->job                  */
	SRIOV_DELETE, /* the card is gone, and the spec asks for nothing   */
};

/* All borrowed. */
struct sriov_case {
	const char *node_name;
	const char *name;
	const struct sriovnetworkdevice *object; /* the newest that is known; NULL: none */
	bool fresh; /* the API server itself said so since this work began */
	const struct inventory *inventory;
	const struct store *objects; /* those of this node */
	const struct pci_facts *pf;  /* the card that is meant; NULL: not on the node */
	const char *claimed;         /* the claim of the card itself; NULL: none */
	const char *user; /* who has one of its virtual functions, in words; NULL: nobody */
	bool unknown;     /* whether a pod has one will be known in a moment */

	/* The last run of the helper, if it was for this spec and did not do it. */
	const struct task_outcome *failure;
	uint64_t hold_ms; /* no other try before this has gone by */

	bool verified;     /* a run after the scan found, or put, all settings right */
	const char *stuck; /* what a helper past its deadline does; NULL: there is none */
	int64_t now_wall_ms;
};

struct sriov_decision {
	enum sriov_step step;
	json_t *body;         /* CREATE: an object; MARK, TELL: a merge patch           */
	struct sriov_job job; /* APPLY                                                  */
	uint64_t again_ms;    /* REST: look again after this; 0: not before a change     */

	/* An event that goes with the step; NULL reason: none. On the object. */
	bool warning;
	const char *event_reason; /* static, or part of the case */
	char *event_message;
};

/* The caller releases *@ret_decision. */
void sriov_plan(const struct sriov_case *c, struct sriov_decision *ret_decision);
void sriov_decision_done(struct sriov_decision *decision);

/* Does the spec only follow what the node has, because nobody has set it? */
bool sriov_is_as_found(const struct sriovnetworkdevice *object);
