/*
 * gpu_task: the tasks (agent/task) that change the cards of this node, or ask nvidia-smi how one is
 * divided; what the last act for each object came to, and what nvidia-smi said last of each card.
 *
 * One task for each card at a time, on behalf of one object. While one is stuck, no other is
 * started for its card. Decides nothing. A restart forgets it: then all is read and tried again.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/gpu/gpu_step.h"
#include "agent/gpu/smi_table.h"
#include "api/json_values.h"

struct api_meta;
struct gpu_tasks;
struct this_node;

struct gpu_options {
	const char *sriov_manage; /* NULL or "": the kernel's sriov_numvfs is written instead */
	const char *nvidia_smi;
	uint64_t deadline_ms; /* of one child; later it is stuck */
};

struct gpu_tasks_deps {
	/* The task for the object @key has ended, or is stuck. @is_act: @card may have been
	 * changed; else it was a look. */
	void (*on_end)(void *arg, enum gpu_kind kind, const char *key, const char *card,
		       bool is_act);
	/* The stuck task of @card has ended. */
	void (*on_gone)(void *arg, const char *card);
	void *arg;
};

/* @node and the texts of @options are borrowed. */
struct gpu_tasks *gpu_tasks_new(const struct this_node *node, const struct gpu_options *options,
				const struct gpu_tasks_deps *deps);
/* Takes NULL, returns NULL. Tasks are abandoned, no callback runs. */
struct gpu_tasks *gpu_tasks_free(struct gpu_tasks *tasks);

/* Does a task run for the card at @address, stuck or not? */
bool gpu_tasks_is_busy(const struct gpu_tasks *tasks, const char *address);

/* Do @act for the object @key, whose metadata are @meta. The card must not be busy. True: on_end
 * runs exactly once, not before this returns. False: nothing was started, and gpu_tasks_past()
 * gives the reason. */
bool gpu_tasks_act(struct gpu_tasks *tasks, enum gpu_kind kind, const char *key,
		   const struct api_meta *meta, const struct gpu_act *act);

/* Ask nvidia-smi how the card at @address is divided. Likewise; gpu_tasks_said() gives the answer,
 * or the reason. */
bool gpu_tasks_look(struct gpu_tasks *tasks, enum gpu_kind kind, const char *key,
		    const char *address);

/* What the last act for the object @key came to. @meta: of the object now, NULL: there is none;
 * @address: of its card, NULL: not known. Texts are valid until the loop goes on. */
void gpu_tasks_past(const struct gpu_tasks *tasks, enum gpu_kind kind, const char *key,
		    const struct api_meta *meta, const char *address, struct gpu_past *ret_past);

/* The object is gone. */
void gpu_tasks_forget(struct gpu_tasks *tasks, enum gpu_kind kind, const char *key);

/* What nvidia-smi said of a card. */
struct gpu_said {
	const struct mig_look *look; /* NULL: it is not known             */
	const char *reason;          /* why not; NULL: it was not asked   */
	const char *trouble;
};

/* What is older than @max_age_ms, or than the last act, is not known. Valid until the loop goes
 * on. */
void gpu_tasks_said(const struct gpu_tasks *tasks, const char *address, uint64_t max_age_ms,
		    struct gpu_said *ret_said);

/* What is to be run. */
struct gpu_command {
	const char *tool; /* the vendor's command; NULL: hostdev-helper, with @verb */
	const char *verb; /* static */
	struct json_strs words;
};

/* The command of @act; the caller releases the words. Pure. */
void gpu_command_make(const struct gpu_options *options, const struct gpu_act *act,
		      struct gpu_command *ret_command);
