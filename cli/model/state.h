/*
 * state: in one word what can be had of a device now, with the sign and the colour that it is shown by.
 *
 * Pure. A sign goes with every colour, so that nothing is told by colour alone.
 */
#pragma once

#include <stdbool.h>

struct api_conditions;
struct cluster_device;
struct node_fault;

enum device_state {
	STATE_UNKNOWN,   /* nobody has said, or who said it is not well           */
	STATE_CLAIMABLE, /* may be claimed now                                    */
	STATE_REFUSED,   /* its node needs it, or it cannot be claimed now */
	STATE_PENDING,   /* claimed, not ready yet                                */
	STATE_AVAILABLE, /* offered to the kubelet, and no pod has it             */
	STATE_USED,      /* a pod has it                                          */
	STATE_RELEASING, /* its claim is being deleted                            */
	STATE_MISSING,   /* claimed, but not on the node                          */
	STATE_STUCK, /* the kernel has not finished a step: somebody has to look at the machine */
	STATES,
};

/* What else is claimed or asked for that has a claim of the device refused. */
enum state_conflict {
	CONFLICT_NONE,
	CONFLICT_DIVIDED,    /* virtual functions or vGPUs of it are asked for */
	CONFLICT_VF,         /* a virtual function of it is claimed            */
	CONFLICT_PF,         /* it is one, and its physical function is        */
	CONFLICT_USB,        /* USB devices that hang on it are                */
	CONFLICT_CONTROLLER, /* the USB controller that it hangs on is         */
};

enum state_colour {
	COLOUR_NONE,
	COLOUR_DIM,
	COLOUR_RED,
	COLOUR_GREEN,
	COLOUR_YELLOW,
	COLOUR_BLUE,
};

struct state_look {
	const char *word; /* "in use"                        */
	const char *key;  /* for programs, CamelCase: "InUse" */
	char sign;        /* ASCII                           */
	enum state_colour colour;
	const char *means; /* for a legend                    */
};

const struct state_look *state_look(enum device_state state);

/* Of a state, its reason and message: the condition that they are from. Texts are borrowed from the
 * device's objects, or static; never NULL. */
struct state_verdict {
	enum device_state state;
	const char *reason;  /* CamelCase, "" if there is none */
	const char *message; /* likewise                       */
	const char *since;   /* RFC 3339, or ""                */
};

/* Judge by what @device's objects say; its own @verdict is not looked at. */
struct state_verdict state_judge(const struct cluster_device *device);

/* Judge what a card is divided into by the condition Ready of the object that asks for it. @used: a pod has it;
 * @fault: what is wrong with the node, NULL: nothing. */
struct state_verdict state_judge_part(const struct api_conditions *conditions, bool used,
				      const struct node_fault *fault);
