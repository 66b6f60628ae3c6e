/*
 * gpu_task: runs one program that changes a card, or asks how it is divided: hostdev-helper, or a
 * command of the vendor, as a child with a deadline.
 *
 * One task for each card at a time, on behalf of one object. A child that misses its deadline is left
 * to end by itself; until then its card is stuck, and no other task is started for it. Decides nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/gpu/gpu_outcome.h"
#include "agent/gpu/mig_look.h"

struct gpu_tasks;
struct helper_place;
struct json_strs;
struct this_node;

struct gpu_options {
	const char *sriov_manage; /* NULL or "": the kernel's sriov_numvfs is written instead */
	const char *nvidia_smi;
	uint64_t deadline_ms; /* of one child; later it is stuck */
};

/* The stuck child of @card has ended. */
typedef void gpu_free_fn(void *arg, const char *card);

/* @node and the texts of @options are borrowed. */
struct gpu_tasks *gpu_tasks_new(const struct this_node *node, const struct gpu_options *options,
				gpu_free_fn *on_free, void *arg);
/* Takes NULL, returns NULL. Children are abandoned, no callback runs. The loop must run once more. */
struct gpu_tasks *gpu_tasks_free(struct gpu_tasks *tasks);

/* Does a child run for @card, stuck or not? */
bool gpu_tasks_is_busy(const struct gpu_tasks *tasks, const char *card);

/* What the stuck child of @card does, in words; NULL: none is stuck. Valid until the loop goes on. */
const char *gpu_tasks_stuck(const struct gpu_tasks *tasks, const char *card);

/* How a task ended. Valid during the call. */
struct gpu_task_end {
	const char *key; /* of the object that it was for */
	const char *card;
	enum gpu_verb verb; /* of an act */
	const struct gpu_outcome *outcome;
	struct mig_look *look; /* of a question that was answered: its members are the receiver's to
				  take, it is emptied then; else NULL */
};
typedef void gpu_task_end_fn(void *arg, const struct gpu_task_end *end);

/* Do @act for the object @key. The card must not be busy. @on_end runs exactly once, never before this
 * returns. */
void gpu_tasks_act(struct gpu_tasks *tasks, const char *key, const struct gpu_act *act,
		   gpu_task_end_fn *on_end, void *arg);

/* Ask nvidia-smi how @card is divided. Likewise. */
void gpu_tasks_look(struct gpu_tasks *tasks, const char *key, const char *card,
		    gpu_task_end_fn *on_end, void *arg);

/* The command line of an act: the words, without the program's name, for the caller to release with
 * json_strs_done(). Returns the vendor's command that is to be run; NULL: hostdev-helper. Pure. */
const char *gpu_task_words(const struct helper_place *helper, const struct gpu_options *options,
			   const struct gpu_act *act, struct json_strs *ret_words);
