/*
 * mdev_out: what mdev-create and mdev-remove say while they go on (agent/helper/sys/progress.h): their steps, and
 * why they end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct holder;
struct progress;

enum mdev_step {
	MDEV_STEP_NONE,
	MDEV_STEP_WAIT_LOCK,
	MDEV_STEP_WRITE_RECORD,
	MDEV_STEP_CREATE,
	MDEV_STEP_CHECK_HOLDERS,
	MDEV_STEP_REMOVE,
	MDEV_STEP_REMOVE_RECORD,
};

/* Why not all was done; each belongs to one result. */
enum mdev_reason {
	MDEV_REASON_NONE,
	MDEV_REASON_HELD,
	MDEV_REASON_BUSY,
	/* Refused. */
	MDEV_REASON_UUID_TAKEN,
	MDEV_REASON_TYPE_GONE,
	MDEV_REASON_NOT_OURS,
	/* Failed. */
	MDEV_REASON_STATE_NOT_WRITABLE,
	MDEV_REASON_CREATE_FAILED,
	MDEV_REASON_REMOVE_FAILED,
	MDEV_REASON_LOOK_FAILED,
};

/* The last line. Zero is "Done". */
struct mdev_end {
	enum mdev_reason reason;
	enum mdev_step step;
	const char *uuid; /* of the instance concerned, NULL: none          */
	int code;         /* negative errno of the kernel's answer, 0: none */
	int pid;          /* MDEV_REASON_BUSY: who has the lock, 0: unknown */
	char message[240];
	uint64_t took_us;
};

void mdev_out_step(struct progress *out, const char *uuid, enum mdev_step step);
void mdev_out_holder(struct progress *out, const struct holder *holder);
/* The instance is as it was wanted now. */
void mdev_out_done(struct progress *out, const char *uuid);
void mdev_out_end(struct progress *out, const struct mdev_end *end);
