/*
 * errand: the calls that the work on one key of a queue takes, one after the other.
 *
 * Whoever has errands under way ends them all before it goes: nothing of them is called any more then.
 */
#pragma once

#include "controller/views/view.h"
#include "kube/workq_run.h"

struct errand;
struct kube_call;

/* Those under way; {0} is none. */
struct errands {
	struct errand *first;
};

struct errand {
	void *owner; /* the two are the owner's, as is the name */
	enum view_kind kind;
	char *name;
	enum reach reach;       /* where a claim is to be told something */
	struct kube_call *call; /* set with each call that is sent       */

	struct errands *all; /* from here on ours */
	struct errand *next;
	struct errand *before;
	work_end_fn *end;
	void *end_arg;
};

/* For the object @name, which is copied; @end as work_fn has it. */
struct errand *errand_new(struct errands *all, void *owner, const char *name, work_end_fn *end,
			  void *end_arg);

/* It is over: releases @errand, then tells how it ended. An object that is gone (-ENOENT) is no trouble. */
void errand_end(struct errand *errand, int result, const struct err *err);

/* Cancel the calls and end all. */
void errands_end(struct errands *all);
