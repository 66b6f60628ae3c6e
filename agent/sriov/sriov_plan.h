/*
 * sriov_plan: the next single step for one SRIOVNetworkDevice, from what is true now.
 *
 * Pure: it takes the object, the devices of the node, what uses its virtual functions, and the
 * result of the last task; it returns one step, with the body to write or the job to run.
 *
 *	no object: CREATE -> PATCH_STATUS
 *	object:    PATCH -> PATCH_STATUS (Applying) -> READ -> APPLY -> PATCH_STATUS (Ready) -> REST
 *	settings:  APPLY after each scan; the status changes only if something was wrong
 *	card gone: PATCH_STATUS (DeviceGone), or DELETE if the spec asks for nothing
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/json_values.h"

struct inventory;
struct pci_facts;
struct sriovnetworkdevice;
struct store;
struct task_outcome;

enum sriov_step {
	SRIOV_REST,         /* as it should be, or waits for a change               */
	SRIOV_CREATE,       /* create the object: decision->body                    */
	SRIOV_PATCH,        /* write label, annotations, address: decision->body    */
	SRIOV_PATCH_STATUS, /* write the status: decision->body                     */
	SRIOV_READ,         /* read the object: the next step cannot be undone      */
	SRIOV_APPLY,        /* have the helper do decision->job                     */
	SRIOV_DELETE,       /* the card is gone, and the spec asks for nothing      */
};

/* All borrowed. */
struct sriov_case {
	const char *node_name;
	const char *name;
	const struct sriovnetworkdevice *object; /* the newest that is known; NULL: none */
	bool fresh; /* the API server itself has returned it in this run */
	const struct inventory *inventory;
	const struct store *objects; /* those of this node */
	const struct pci_facts *pf;  /* the card that is meant; NULL: not on the node */
	const char *claimed;         /* the claim of the card itself; NULL: none */
	const char *user;   /* what uses one of its virtual functions, for people; NULL: nothing */
	bool unknown;       /* whether a claim or a pod has one will be known in a moment */
	size_t unpublished; /* how many of its virtual functions have no PCIDevice yet */

	/* Of the last task for this spec, if it was not done; NULL: it was, or there was none. */
	const struct task_outcome *failure;
	uint64_t hold_ms; /* the next may not begin before this has gone by */

	bool verified;     /* a task after the scan has found, or made, all settings right */
	const char *stuck; /* what a stuck helper does, for people; NULL: there is none */
	int64_t now_wall_ms;
};

/* The texts of a job are its own (sriov_job_done). */
struct sriov_job {
	struct json_strs words; /* of the command line; empty: no job */
	bool count;             /* it changes how many there are */
};

struct sriov_decision {
	enum sriov_step step;
	json_t *body;         /* CREATE: an object; PATCH, PATCH_STATUS: a merge patch   */
	struct sriov_job job; /* APPLY                                                  */
	uint64_t again_ms;    /* REST: plan again after this; 0: not before a change     */

	/* An event that goes with the step; NULL reason: none. On the object. */
	bool warning;
	const char *event_reason; /* static, or part of the case */
	char *event_message;
};

/* The caller releases *@ret_decision. */
void sriov_plan(const struct sriov_case *c, struct sriov_decision *ret_decision);
void sriov_decision_done(struct sriov_decision *decision);

/* Does the spec only follow what the node has, because no user has set it? */
bool sriov_is_as_found(const struct sriovnetworkdevice *object);

void sriov_job_done(struct sriov_job *job);

/* Has @object settings of any virtual function below @count? */
bool sriov_job_has_settings(const struct sriovnetworkdevice *object, int count);

/* Has it settings of the virtual function @index? */
bool sriov_job_sets(const struct sriovnetworkdevice *object, int index);
