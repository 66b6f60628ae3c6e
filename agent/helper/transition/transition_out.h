/*
 * transition_out: what a transition says while it goes on (agent/helper/sys/progress.h): its steps, and why it
 * ends.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct bind_seen;
struct holder;
struct progress;

enum transition_step {
	STEP_NONE,
	STEP_WAIT_LOCK,
	STEP_LOAD_MODULE,
	STEP_CHECK_HOLDERS,
	STEP_WRITE_RECORD,
	STEP_SET_OVERRIDE,
	STEP_UNBIND,
	STEP_PROBE,
	STEP_CLEAR_OVERRIDE,
	STEP_BIND,
	STEP_REMOVE_RECORD,
	STEP_ROLLBACK,
	STEP_SET_AUTOPROBE,
	STEP_REMOVE_FUNCTIONS,
	STEP_MAKE_FUNCTIONS,
	STEP_SET_FUNCTIONS,
};

/* Why a transition did not come to its end; each belongs to one result. */
enum transition_reason {
	REASON_NONE,
	REASON_HELD,
	REASON_BUSY,
	/* Refused, with nothing changed. */
	REASON_DEVICE_GONE,
	REASON_DIFFERENT_DEVICE,
	REASON_OVERRIDE_OWNED,
	REASON_IN_USE,
	REASON_USE_UNKNOWN,
	REASON_CLAIM_DELETED,
	REASON_DRIVER_CHANGED,
	REASON_TOO_MANY_VFS,
	REASON_VFS_IN_USE,
	/* Failed. */
	REASON_DRIVER_MISSING,
	REASON_NO_IOMMU_BACKEND,
	REASON_STATE_NOT_WRITABLE,
	REASON_OVERRIDE_FAILED,
	REASON_UNBIND_FAILED,
	REASON_PROBE_FAILED,
	REASON_NATIVE_DRIVER_MISSING,
	REASON_NATIVE_BIND_FAILED,
	REASON_GROUP_NOT_VIABLE,
	REASON_NODE_MISSING,
	REASON_NUM_VFS_FAILED,
	REASON_AUTOPROBE_FAILED,
	REASON_SETTINGS_FAILED,
	REASON_AGENT_NOT_PRIVILEGED,
};

/* The last line. Zero is "Done". */
struct transition_end {
	enum transition_reason reason;
	enum transition_step step;
	bool changed;        /* before it ended, so that a refusal is a failure */
	const char *address; /* of the function concerned, NULL: none           */
	int code;            /* negative errno of the kernel's answer, 0: none  */
	int pid;             /* REASON_BUSY: who has the lock, 0: not known     */
	char message[240];
	uint64_t kernel_us;
	uint64_t took_us;
};

void transition_out_step(struct progress *out, const char *address, enum transition_step step);
void transition_out_holder(struct progress *out, const struct holder *holder);
void transition_out_function(struct progress *out, const char *address,
			     const struct bind_seen *seen);
void transition_out_end(struct progress *out, const struct transition_end *end);
