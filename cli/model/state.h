/*
 * state: the state of a device in one word, with its sign and colour.
 *
 * Pure. Each colour has a sign, so that no information depends on colour alone.
 */
#pragma once

#include <stdbool.h>

#include "text/out.h"

struct api_conditions;
struct api_meta;
struct cluster_device;
struct node_fault;

enum device_state {
	STATE_UNKNOWN,   /* not reported, or its node has a problem */
	STATE_CLAIMABLE, /* may be claimed now                                    */
	STATE_REFUSED,   /* its node needs it, or it cannot be claimed now */
	STATE_PENDING,   /* claimed, not ready yet                                */
	STATE_AVAILABLE, /* offered to the kubelet, and no pod has it             */
	STATE_USED,      /* a pod has it                                          */
	STATE_RELEASING, /* its claim is being deleted                            */
	STATE_MISSING,   /* claimed, but not on the node                          */
	STATE_STUCK,     /* the kernel has not finished a step; look at the machine */
	STATES,
};

/* Other claims or objects that make the API server refuse a claim of the device, or that would keep
 * the claimed device from being used. */
enum state_conflict {
	CONFLICT_NONE,
	CONFLICT_DIVIDED, /* an object asks for virtual functions or vGPUs of it */
	CONFLICT_VF,      /* a virtual function of it is claimed            */
	CONFLICT_PF,      /* it is one, and its physical function is claimed */
	/* USB devices behind it, or its IOMMU group, are claimed, or a pod has them */
	CONFLICT_USB,
	CONFLICT_CONTROLLER, /* its USB controller is claimed */
	CONFLICT_OWNER,      /* another function of its IOMMU group is another user's */
	CONFLICT_GROUP,      /* another function is claimed with its whole IOMMU group; claimable */
	CONFLICT_HIDDEN,     /* there may be a claim that the caller may not read; not known */
	CONFLICT_USB_HIDDEN, /* likewise, of USB devices behind it or its IOMMU group */
};

struct state_look {
	const char *word; /* "in use"                        */
	const char *key;  /* for programs, CamelCase: "InUse" */
	char sign;        /* ASCII                           */
	enum out_colour colour;
	const char *means; /* for a legend                    */
};

const struct state_look *state_look(enum device_state state);

/* A state, with reason and message of the condition that it comes from. Texts are borrowed from
 * the device's objects, or static; never NULL. */
struct state_verdict {
	enum device_state state;
	const char *reason;  /* CamelCase, "" if there is none */
	const char *message; /* likewise                       */
	const char *since;   /* RFC 3339, or ""                */
};

/* The state by the objects of @device. Its own @verdict is ignored. */
struct state_verdict state_judge(const struct cluster_device *device);

/* The state of a part of a card, by the condition Ready of the object that asks for it. @used: a
 * pod has it. @fault: that of the node; NULL: none. */
struct state_verdict state_judge_part(const struct api_conditions *conditions, bool used,
				      const struct node_fault *fault);

/* The finalizer that keeps a claim which is being deleted, and whose device hostdev has released or
 * never bound: it is not hostdev's. NULL: none does. */
const char *state_finalizer(const struct api_meta *claim);
