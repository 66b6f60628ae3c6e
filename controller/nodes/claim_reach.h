/*
 * claim_reach: tells in the status of a claim that its node is gone, is not Ready or has no agent.
 *
 * Reads a claim anew before it writes, and writes on exactly that state; nothing when the claim says it
 * already, or has never said anything while all is well. Other conditions are left as they are.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "controller/views/view.h"

struct claim_reach;
struct err;
struct node_ties;

struct claim_reach *claim_reach_new(const struct node_ties *ties);
/* Takes NULL, returns NULL. */
struct claim_reach *claim_reach_free(struct claim_reach *told);

/* The claim @name, or how its node is, changed. */
void claim_reach_touch(struct claim_reach *told, enum view_kind kind, const char *name);

/* What must be written when a claim says @said and its node is @is; UNSAID: nothing. */
enum reach claim_reach_plan(enum reach said, enum reach is);

/* The merge patch that makes the claim of this text say @reach, in *@ret_body for the caller to
 * json_decref(); NULL: it says so. Errors (ERR_INVALID): it is no object, or has no room for a condition. */
int claim_reach_patch(const char *text, size_t len, enum reach reach, int64_t now_wall_ms,
		      json_t **ret_body, struct err *err);
