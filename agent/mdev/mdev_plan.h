/*
 * mdev_plan: which mediated devices to create or remove so that the node has the desired ones, and
 * the condition of each parent.
 *
 * Pure: it turns facts and desired types into one small plan for each parent. A parent keeps the
 * type that it has. Parents without a type are assigned in the order of their addresses, to the
 * types in the desired order, each to the type with the fewest parents. Instances that hostdev did
 * not create for a type are never removed, nor are instances in use.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/json_values.h"

struct config;
struct facts;
struct mdev_desired;
struct task_outcome;

struct mdev_desired {
	bool enabled;           /* false: nothing is created and nothing removed    */
	struct json_strs types; /* wanted, names or ids, in the user's order        */
	struct json_strs kept;  /* not wanted, but another plugin's: never removed  */
};

enum {
	MDEV_RUN_MAX = 256, /* instances to create or remove at once; the next plan has the rest */
};

/* Owner in the records of instances that were created for a type. Other parts use their own. */
#define MDEV_OWNER_TYPES "types"

/* The state of a parent. */
enum mdev_state {
	MDEV_UNCONFIGURED, /* no type is wanted on this node: nothing to do               */
	MDEV_DISABLED,     /* nothing is to be made or removed                            */
	MDEV_NO_TYPE_FITS, /* it supports no wanted type                                  */
	MDEV_NOT_DEALT,    /* it was assigned no type: it can create no instance now      */
	MDEV_TAKEN,        /* it has instances of a type that is not wanted, of others    */
	MDEV_INCOMPLETE,   /* instances are to be made                                    */
	MDEV_COMPLETE,     /* all instances of its type are there                         */
	MDEV_TO_REMOVE,    /* own instances are to be removed                             */
	MDEV_IN_USE,       /* own instances are to be removed, and are in use */
};

/* What is to be done on one parent. At most one of @create and @remove has items. */
struct mdev_parent_plan {
	char *parent;
	enum mdev_state state;
	char *type;              /* the id of the type that falls to it; NULL: none          */
	struct json_strs create; /* UUIDs of @type                                           */
	struct json_strs remove;
	struct json_strs forget; /* records whose instances are gone                         */
	struct json_strs in_use; /* to be removed once they are free                         */
	size_t there;            /* instances of @type                                       */
};

struct mdev_plan {
	struct mdev_parent_plan *items; /* by parent, as the scan has them */
	size_t len;
	size_t cap;
};

/* Borrowed for the call. */
struct mdev_plan_case {
	const char *node_name;
	const struct facts *facts;
	const struct mdev_desired *desired;
	/* Is the instance @uuid free, for certain? NULL: all are free. */
	bool (*is_free)(void *arg, const char *uuid);
	void *arg;
};

void mdev_plan_make(const struct mdev_plan_case *c, struct mdev_plan *ret_plan);
void mdev_plan_done(struct mdev_plan *plan);

/* Is there anything to create, to remove or to forget? */
bool mdev_plan_has_work(const struct mdev_parent_plan *plan);

/* The condition Configured of a parent. Texts are its own. */
struct mdev_condition {
	bool configured;
	char *reason;
	char *message;
};

/* Why a plan is delayed. Borrowed; NULL: it is not, or not known. */
struct mdev_obstacle {
	const char *stuck;                  /* what a helper of the parent is blocked in    */
	const struct task_outcome *failure; /* what the last attempt at the plan came to    */
	const char *holder;                 /* holder of the first instance of @plan->in_use */
	const char *trouble;                /* why none must be created: a pod could open it */
};

void mdev_condition_make(const struct mdev_parent_plan *plan, const struct mdev_obstacle *obstacle,
			 struct mdev_condition *ret_condition);
void mdev_condition_done(struct mdev_condition *condition);

/*
 * Collect the desired types from @config for a node with @labels; NULL for either: not known yet,
 * and nothing is done. Entries whose nodeSelector matches the node replace the cluster's list, in
 * their order. Without such entries, the cluster's list counts.
 */
void mdev_desired_make(const struct config *config, const struct json_pairs *labels,
		       struct mdev_desired *ret_desired);

void mdev_desired_done(struct mdev_desired *desired);

bool mdev_desired_equal(const struct mdev_desired *a, const struct mdev_desired *b);
