/*
 * gpu_step: what the plans of the three kinds have in common: the next single step for one object,
 * as a value, and what the last step that changed a card came to.
 *
 * Nothing is remembered as progress. What is about to be done is written on the object first (its
 * "managed" field, GPU_TELL), so that a crash between two steps is just another case.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/condition.h"

struct api_kind;
struct patch_status;

enum gpu_kind { GPU_KIND_CARD, GPU_KIND_VGPU, GPU_KIND_MIG, GPU_KINDS };

const struct api_kind *gpu_kind_api(enum gpu_kind kind);

enum gpu_step {
	GPU_REST,    /* as it should be, or waits for a change                          */
	GPU_CREATE,  /* post body                                                       */
	GPU_SPEC,    /* write the spec (body): what somebody else has made is adopted   */
	GPU_TELL,    /* write the status (body)                                         */
	GPU_DELETE,  /* what the object is about is gone, and nothing is wanted of it   */
	GPU_ACT,     /* do the act                                                      */
	GPU_CLAIM,   /* post body, the PCIDeviceClaim of the function                   */
	GPU_UNCLAIM, /* delete that claim                                               */
	GPU_LOOK,    /* ask nvidia-smi how the card is divided                          */
};

enum gpu_verb {
	GPU_ENABLE_VFS,
	GPU_DISABLE_VFS,
	GPU_SET_TYPE,    /* of the function, to type: "0" is none */
	GPU_MAKE_MDEV,   /* uuid, of type                         */
	GPU_REMOVE_MDEV, /* uuid                                  */
	GPU_MIG_MODE_ON,
	GPU_MIG_CREATE,         /* an instance of profile, with what fills it       */
	GPU_MIG_REMOVE_COMPUTE, /* compute of instance                              */
	GPU_MIG_REMOVE,         /* instance                                         */
};

enum { GPU_TYPE_SIZE = 256, GPU_UUID_SIZE = 37 };

/* Plain values. */
struct gpu_act {
	enum gpu_verb verb;
	char address[17]; /* of the card; of the function for the three in the middle */
	char card[17];    /* one act for each card at a time                          */
	char type[GPU_TYPE_SIZE];
	char uuid[GPU_UUID_SIZE];
	int profile, instance, compute;
	char id[10]; /* of a card whose functions are made: "10de:25b6" */
	int count;   /* of functions that it can have                  */
};

/* What the last act on the object's behalf came to. Texts are borrowed. */
struct gpu_past {
	const struct gpu_act *act; /* NULL: none        */
	bool newer; /* it ended after the facts were read, or still runs: scan again */
	bool failed;
	const char *reason; /* CamelCase */
	const char *message;
	uint64_t wait_ms;  /* no other try of the same act before this has gone by; 0: now */
	const char *stuck; /* what an act on the card that does not end is doing; NULL: none is */
};

struct gpu_decision {
	enum gpu_step step;
	json_t *body;
	struct gpu_act act;
	uint64_t again_ms; /* REST: look again after this; 0: not before a change */

	/* An event that goes with the step; NULL reason: none. */
	bool warning;
	const char *event_reason; /* static, or part of the case */
	char *event_message;
};

void gpu_decision_done(struct gpu_decision *decision);

/* Does @a try the very thing that @b tried? */
bool gpu_act_same(const struct gpu_act *a, const struct gpu_act *b);

/* Is the last act of the past this one, failed, and not to be tried yet? */
bool gpu_past_holds(const struct gpu_past *past, const struct gpu_act *act);

/* What Ready is to say. Borrowed for the call. */
struct gpu_news {
	bool ready;
	const char *reason;  /* static, or part of the case */
	const char *message; /* NULL: none                  */
};

/*
 * Make the condition Ready of @s say @news; the rest of @s is as wanted already. True: the decision
 * is GPU_TELL with the patch, and with an event if people should know of the change. False, with
 * @decision as it was, if the status says all of it already.
 */
bool gpu_tell(const struct patch_status *s, const struct gpu_news *news,
	      struct gpu_decision *decision);

/*
 * Has no agent ever found the device of an object with these conditions? Then a user created the
 * object for another kind of device, or for a device that is not there yet: report
 * GPU_NOT_SUPPORTED and do not delete the object.
 */
bool gpu_is_strange(const struct api_conditions *conditions);

#define GPU_NOT_SUPPORTED "NotSupported"
