/*
 * node_plan: what to write to objects of nodes. Claims report that their node is gone, not Ready or
 * without an agent; objects of a deleted node are removed.
 *
 * Pure. Patches are made from the claim's text at the API server, because a view lacks the needed
 * fields. Other conditions and other finalizers are kept.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/cache/view.h"

struct decision;
struct err;
struct reconcile_view;
struct store;

bool node_plan_is_claim(enum view_kind kind);

/* The node of the object @name from its view or, for a claim without a node, from its device;
 * "": not known. @stores is indexed by enum view_kind. Valid until the stores change. */
const char *node_plan_node(const struct store *const *stores, enum view_kind kind, const char *name,
			   const struct view *view);

/* The state to write if a claim has @written and its node is @actual; UNKNOWN: nothing. */
enum reach claim_reach_plan(enum reach written, enum reach actual);

/* The merge patch that sets the condition of the claim with this text to @reach, in *@ret_body,
 * which the caller releases with json_decref(); NULL: it has that already. Errors (ERR_INVALID): it
 * is not an object, or has no room for a condition. */
int claim_reach_patch(const char *text, size_t len, enum reach reach, int64_t now_wall_ms,
		      json_t **ret_body, struct err *err);

enum retire_step {
	RETIRE_NOTHING, /* nothing to remove, or other finalizers remain */
	RETIRE_DELETE,
	RETIRE_REMOVE_FINALIZER, /* remove our finalizer from a claim that is being deleted */
};

/* The step for an object of a deleted node. A claim that no agent has ever processed is left to
 * its owner. */
enum retire_step retire_plan(enum view_kind kind, const struct view *view);

/* The step that removes our finalizer from a claim: a READ, then the patch; REST if at the API
 * server it has no such finalizer or is not being deleted. */
void retire_remove_finalizer(enum view_kind kind, const struct reconcile_view *view,
			     struct decision *ret_decision);
