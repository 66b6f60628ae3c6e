/*
 * binder: runs the transitions of IOMMU groups, a task (agent/task) each, whose keys are the group
 * and its functions; and what a transition is: its job, its lines and its outcome.
 *
 * Decides nothing (claim_plan does) and writes nothing to the API. A helper that misses its
 * deadline is left to end by itself; until then its group is stuck, and no other helper is started
 * for it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/process/helper_place.h"
#include "agent/task/task_line.h"
#include "api/json_map.h"

struct binder;
struct metrics;
struct uv_loop_s;

enum { BINDER_FUNCTIONS_MAX = 1024 }; /* of one job */

/* Borrowed texts that outlive the binder. */
struct binder_options {
	struct helper_place helper;
	/* Of one step, four times that while it only looks; later it is stuck, if helper_run has
	 * no more patience */
	uint64_t deadline_ms;
	struct metrics *metrics; /* may be NULL */
	const char *proc;        /* where helpers are seen; NULL: /proc */
};

/* One function of a transition. The texts of a job are its own (binder_job_done). */
struct binder_function {
	char *address;
	char *id;       /* "8086:10d3": what must be there                       */
	char *serial;   /* NULL: not known                                        */
	char *identity; /* base/device_identity.h; NULL: not known               */
	char *native;   /* the driver it goes back to; "": none; NULL: not known */
	char *driver;   /* the passthrough driver                                */
	char *claim;
	char *uid;
	bool driverless; /* a release leaves it without driver                                  */
	bool allow_unknown; /* bind it also where the agent cannot see whether the host uses it */
};

enum binder_verb { BINDER_BIND, BINDER_RELEASE, BINDER_PLAN_BIND, BINDER_PLAN_RELEASE };

struct binder_job {
	enum binder_verb verb;
	char *group;    /* NULL: none, or not known any more */
	bool on_demand; /* for a ResourceClaim: binder_cancel() does not concern it */
	struct binder_function *items;
	size_t len;
	size_t cap;
};

/* Release what the job owns; it is empty again. */
void binder_job_done(struct binder_job *job);

/* "bind", "release", "plan-bind", "plan-release": the helper's word, and the metrics'. */
const char *binder_verb_text(enum binder_verb verb);

/* A function as the helper read it back at its end. */
struct binder_seen {
	char *address;
	char *driver;   /* NULL: none        */
	char *override; /* NULL: none is set */
};

struct binder_seen_list {
	struct binder_seen *items;
	size_t len;
	size_t cap;
};

/* What a transition came to: its task, and what only a transition has. */
struct binder_outcome {
	struct task_outcome task;     /* TASK_STUCK: past the deadline; binder_look() tells more  */
	uint64_t took_ms;             /* from the start of the helper, as the agent saw it        */
	uint64_t ended_ms;            /* on the clock of inventory->began_ms                      */
	struct binder_seen_list seen; /* empty if no state was read back: STUCK, a dead helper */
	struct json_strs lines;       /* for the two plan verbs: the lines of the helper      */
};

/* Release what the outcome owns; it is empty again. */
void binder_outcome_done(struct binder_outcome *outcome);

/* Make @to (uninitialised, or holding nothing) a deep copy of @from. */
void binder_outcome_copy(struct binder_outcome *to, const struct binder_outcome *from);

/* A transition has ended or got stuck. @outcome is valid during the call. */
typedef void binder_end_fn(void *arg, const struct binder_outcome *outcome);

/* The helper of @group ("" for a job without one) that was stuck has ended: the group may be moved
 * again. What it did in the end is not known: look at the devices. */
typedef void binder_free_fn(void *arg, const char *group);

/* The step of the job that moves @address takes longer than the deadline, and is waited for:
 * binder_look() tells which. */
typedef void binder_late_fn(void *arg, const char *address);

/* @on_late gets the binder's @arg. */
void binder_set_late(struct binder *binder, binder_late_fn *on_late);

/* @on_free may be NULL. */
struct binder *binder_new(struct uv_loop_s *loop, const struct binder_options *options,
			  binder_free_fn *on_free, void *arg);
/* Takes NULL, returns NULL. Helpers under way are abandoned, not killed, and keep no loop alive; no
 * callback runs. May be called in a callback. */
struct binder *binder_free(struct binder *binder);

/* The node's address, whose interface is never given away (copied; NULL: not known). */
void binder_set_node_address(struct binder *binder, const char *address);

enum binder_state { BINDER_IDLE, BINDER_RUNNING, BINDER_IS_STUCK };

/* Why a group cannot be moved just now. The texts are valid until the loop goes on. */
struct binder_trouble {
	int pid;             /* of the helper                  */
	const char *verb;    /* binder_verb_text()             */
	const char *step;    /* "" before the first            */
	const char *address; /* of the function; "" if unknown */
	uint64_t age_ms;
	bool late; /* its step takes longer than the deadline */
};

/*
 * Of the claim @claim only the one with @uid is there (NULL: none, or it is being deleted):
 * transitions that bind for another one stop, unless they have begun to change something. They end
 * as ever: TASK_BUSY with the reason ClaimDeleted if they have stopped.
 */
void binder_cancel(struct binder *binder, const char *claim, const char *uid);

/* State of the group that @address is in (of the job that moves it). @ret_trouble may be NULL and
 * is filled unless IDLE. */
enum binder_state binder_look(const struct binder *binder, const char *address,
			      struct binder_trouble *ret_trouble);

/*
 * Start @job (copied). @end runs exactly once and never before this returns, then too when the
 * helper cannot be started (TASK_FAILED, reason HelperFailed). A job whose group or function is
 * under way already comes to TASK_BUSY. The group is idle again when @end runs, but for TASK_STUCK:
 * then when on_free does. Both may start the next job.
 */
void binder_start(struct binder *binder, const struct binder_job *job, binder_end_fn *end,
		  void *arg);
