/*
 * retire: takes away what an agent that does not come back has left: objects, and our finalizers on claims.
 *
 * One step per call: what comes of it, the watch tells. Each write is made on exactly the state that was
 * seen. What is gone already is a success.
 */
#pragma once

#include "controller/views/view.h"
#include "kube/workq_run.h"

struct entry;
struct node_ties;

enum retire_step {
	RETIRE_NOTHING, /* nothing of it is ours to take away, or others have yet to let it go */
	RETIRE_DELETE,
	RETIRE_STRIP, /* take our finalizer off a claim that is being deleted */
};

/* Of an object of a node that is gone. A claim that no agent has ever seen is its owner's to delete. */
enum retire_step retire_plan(enum view_kind kind, const struct view *view);

void retire_delete(struct node_ties *ties, enum view_kind kind, const struct entry *entry,
		   work_end_fn *end, void *end_arg);
/* Reads the claim anew first. */
void retire_strip(struct node_ties *ties, enum view_kind kind, const char *name, work_end_fn *end,
		  void *end_arg);
