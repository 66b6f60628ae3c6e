/*
 * node_plan: what is written of the objects of nodes: claims say that their node is gone, is not
 * Ready or has no agent; what an agent that does not come back has left is taken away.
 *
 * Pure. Patches are made from the text of a claim as the API server has it, because a view is too
 * little for that. Other conditions and the finalizers of others stay.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/views/view.h"

struct decision;
struct err;
struct reconcile_view;
struct store;

bool node_plan_is_claim(enum view_kind kind);

/* The node of the object @name as its view says, or, of a claim that does not say, its device; "":
 * not known. @stores are by enum view_kind. Valid until they change. */
const char *node_plan_node(const struct store *const *stores, enum view_kind kind, const char *name,
			   const struct view *view);

/* What must be written when a claim says @said and its node is @is; UNSAID: nothing. */
enum reach claim_reach_plan(enum reach said, enum reach is);

/* The merge patch that makes the claim of this text say @reach, in *@ret_body for the caller to
 * json_decref(); NULL: it says so. Errors (ERR_INVALID): it is no object, or has no room for a
 * condition. */
int claim_reach_patch(const char *text, size_t len, enum reach reach, int64_t now_wall_ms,
		      json_t **ret_body, struct err *err);

enum retire_step {
	RETIRE_NOTHING, /* nothing of it is ours to take away, or others have yet to let it go */
	RETIRE_DELETE,
	RETIRE_STRIP, /* remove our finalizer from a claim that is being deleted */
};

/* Of an object of a node that is gone. A claim that no agent has ever seen is its owner's to delete. */
enum retire_step retire_plan(enum view_kind kind, const struct view *view);

/* The step that removes our finalizer from a claim: a READ, then the patch; REST if the API server
 * has it without, or not being deleted. */
void retire_strip(enum view_kind kind, const struct reconcile_view *view,
		  struct decision *ret_decision);
