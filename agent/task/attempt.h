/*
 * attempt: the last task for one key, as far as it still matters: what it came to, when the next
 * may begin, and which scans are older than what it did. Pure; times are the loop's.
 *
 * An outcome holds for one state of one object: an object with another uid or generation has not
 * been tried. What a task did to the hardware does not depend on the object: attempt_is_newer().
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/task/task_line.h"

struct err;

/* How long after an attempt that was not done the next may begin. */
struct attempt_backoff {
	uint64_t held_ms;    /* 0: as after one that failed */
	uint64_t refused_ms; /* likewise                    */
	uint64_t busy_ms;    /* likewise; else nothing has failed, and none is counted          */
	uint64_t first_ms;   /* one that failed; doubled with each failure in a row ... */
	uint64_t max_ms;     /* ... up to this                                          */
};

/* What a task may change of what scans show. */
enum attempt_effect {
	ATTEMPT_CHANGES_NOTHING,
	ATTEMPT_CHANGES_ONE, /* one device: if that is held or refused, nothing was changed      */
	/* several: one may be held or refused when others have been changed */
	ATTEMPT_CHANGES_MANY,
};

/* The object of an attempt, its generation and the direction. Borrowed. */
struct attempt_object {
	const char *uid;
	int64_t generation;
	int direction; /* the kind's own: what has failed in one holds no other back */
};

/* {0} is: nothing has been tried. */
struct attempt {
	char *uid; /* of the object that the last was begun for */
	int64_t generation;
	int direction;
	enum attempt_effect effect;
	uint64_t began_ms;
	struct task_outcome outcome; /* TASK_NONE: it runs, or is not known */
	unsigned failures; /* in a row, for this object; those with a pause of their own are none */
	uint64_t due_ms;   /* when the next may begin             */
	uint64_t done_ms;  /* when the last that was done for this object began; 0: none */
	/* When the last that may have changed what scans show ended; 0: none */
	uint64_t changed_ms;
};

void attempt_done(struct attempt *attempt);

/* A task begins. */
void attempt_begin(struct attempt *attempt, const struct attempt_object *object,
		   enum attempt_effect effect, uint64_t now_ms);

/* The task came to @outcome, which is taken over (it is empty afterwards). True if what scans show
 * may have changed. After TASK_STUCK, attempt_end_unknown() ends it. */
bool attempt_end(struct attempt *attempt, struct task_outcome *outcome,
		 const struct attempt_backoff *backoff, uint64_t now_ms);

/* No task was started: @err says why. It counts as one that was refused with HelperFailed. */
void attempt_not_started(struct attempt *attempt, const struct attempt_object *object,
			 const struct attempt_backoff *backoff, const struct err *err,
			 uint64_t now_ms);

/* What stood in the way is gone: the next may begin at once. */
void attempt_wake(struct attempt *attempt);

/* The task is stuck, or was stuck and has ended: its outcome is not known. */
void attempt_end_unknown(struct attempt *attempt, uint64_t now_ms);

/* Is a scan that began at @scan_ms older than what was done? Within the same millisecond the answer
 * is yes, because another scan follows every change. */
bool attempt_is_newer(const struct attempt *attempt, uint64_t scan_ms);

/* What the last attempt for @object came to, if it was not done and is not stuck, else NULL;
 * *@ret_hold_ms: the next may not begin before this has gone by. Valid until the attempt
 * changes. */
const struct task_outcome *attempt_failure(const struct attempt *attempt,
					   const struct attempt_object *object, uint64_t now_ms,
					   uint64_t *ret_hold_ms);

/* Has a task for @object that began after the scan of @scan_ms been done? */
bool attempt_is_done(const struct attempt *attempt, const struct attempt_object *object,
		     uint64_t scan_ms);
