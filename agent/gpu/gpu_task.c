#include "agent/gpu/gpu_task.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/gpu/gpu_cards.h"
#include "agent/inventory/inventory.h"
#include "agent/node/this_node.h"
#include "agent/task/attempt.h"
#include "agent/task/task.h"
#include "agent/task/task_line.h"
#include "api/kind.h"
#include "api/meta.h"
#include "base/array.h"
#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"

/* What is remembered of one object. */
struct object {
	struct gpu_act act; /* the last */
	bool runs;          /* and it is not stuck */
	struct attempt attempt;
};

/* One card: its task, and what is not seen by a scan. */
struct card {
	struct gpu_tasks *tasks;
	char address[17];
	uint64_t changed_ms; /* when an act that a scan may show ended; 0: none did */

	struct task *task;  /* NULL: none                                   */
	enum gpu_kind kind; /* of the object that it is for ...             */
	char *key;          /* ... which is told its end; NULL: it has been */
	char *stuck;        /* what it does, in words; NULL: it is not stuck */

	/* The last look, also one under way. */
	enum mig_question question;
	struct str answer;
	struct mig_look look;
	bool is_asked;          /* it has ended, at asked_ms ... */
	uint64_t asked_ms;      /* ... and the card was not changed since */
	char *reason, *trouble; /* why it has no answer; NULL: it has */
};

struct gpu_tasks {
	const struct this_node *node;
	struct gpu_options options;
	struct gpu_tasks_deps deps;
	struct map *objects[GPU_KINDS]; /* key -> struct object   */
	struct map *cards;              /* address -> struct card */
};

/* 5 s, doubled up to about ten minutes; nothing has failed while somebody is in the way. */
static const struct attempt_backoff backoff = {
	.held_ms = 5000,
	.busy_ms = 5000,
	.first_ms = 5000,
	.max_ms = 640000,
};

static uint64_t now_ms(const struct gpu_tasks *tasks)
{
	return clock_now_ms(tasks->node->clock);
}

static struct object *object_for(struct gpu_tasks *tasks, enum gpu_kind kind, const char *key)
{
	struct object *object = map_get(tasks->objects[kind], key);

	if (!object) {
		object = xcalloc(1, sizeof(*object));
		(void)map_set(tasks->objects[kind], key, object);
	}
	return object;
}

static void object_free(struct object *object)
{
	attempt_done(&object->attempt);
	free(object);
}

static struct card *card_for(struct gpu_tasks *tasks, const char *address)
{
	struct card *card = map_get(tasks->cards, address);

	if (!card) {
		card = xcalloc(1, sizeof(*card));
		card->tasks = tasks;
		(void)snprintf(card->address, sizeof(card->address), "%s", address);
		(void)map_set(tasks->cards, address, card);
	}
	return card;
}

static void forget_look(struct card *card)
{
	mig_look_done(&card->look);
	str_clear(&card->answer);
	free(take_ptr(card->reason));
	free(take_ptr(card->trouble));
	card->is_asked = false;
}

static void card_free(void *arg)
{
	struct card *card = arg;

	task_abandon(card->task);
	forget_look(card);
	str_done(&card->answer);
	free(card->key);
	free(card->stuck);
	free(card);
}

/* --- tasks ------------------------------------------------------------------------------------ */

static void begin_task(struct card *card, enum gpu_kind kind, const char *key)
{
	assert(!card->task);
	str_set(&card->key, key);
	card->kind = kind;
}

static void on_task_gone(void *arg)
{
	struct card *card = arg;
	const struct gpu_tasks_deps *deps = &card->tasks->deps;

	log_info("a child that waited for a card's driver has ended",
		 log_str("card", card->address));
	card->task = NULL;
	free(take_ptr(card->stuck));
	card->changed_ms = now_ms(card->tasks);
	forget_look(card);
	deps->on_gone(deps->arg, card->address);
}

static bool start_task(struct card *card, const struct gpu_command *command,
		       void (*on_line)(void *arg, const char *line, size_t len),
		       void (*on_end)(void *arg, struct task_outcome *outcome), struct err *err)
{
	const struct gpu_tasks *tasks = card->tasks;

	card->task = task_start(&(struct task_spec){ .loop = tasks->node->loop,
						     .helper = &tasks->node->helper,
						     .deadline_ms = tasks->options.deadline_ms,
						     .is_logged = true,
						     .verb = command->verb,
						     .tool = command->tool,
						     .key = card->key,
						     .words = &command->words,
						     .on_line = on_line,
						     .on_end = on_end,
						     .on_gone = on_task_gone,
						     .arg = card },
				err);
	return card->task != NULL;
}

static void set_stuck(struct card *card)
{
	auto_free char *what = task_describe(card->task);

	card->stuck = xasprintf("%s: it waits for the driver of %s", what, card->address);
}

/* May begin another task for the card, unless this one is stuck. */
static void report_end(struct card *card, bool is_act)
{
	const struct gpu_tasks_deps *deps = &card->tasks->deps;
	auto_free char *key = take_ptr(card->key);

	deps->on_end(deps->arg, card->kind, key, card->address, is_act);
}

/* --- command lines ---------------------------------------------------------------------------- */

static void add_number(struct json_strs *words, const char *flag, int number)
{
	auto_free char *word = xasprintf("%d", number);

	json_strs_add(words, flag);
	json_strs_add(words, word);
}

static void make_vfs_command(const struct gpu_options *options, const struct gpu_act *act,
			     struct gpu_command *command)
{
	auto_free char *count = xasprintf("%d", act->count);

	if (options->sriov_manage && *options->sriov_manage) {
		command->tool = options->sriov_manage;
		command->verb = "sriov-manage";
		json_strs_add(&command->words, act->verb == GPU_ENABLE_VFS ? "-e" : "-d");
		json_strs_add(&command->words, act->address);
		return;
	}
	command->verb = "vfs";
	task_words_add(&command->words, "address", act->address);
	task_words_add(&command->words, "id", act->id);
	task_words_add(&command->words, "count", count);
}

static void make_mdev_command(const struct gpu_act *act, struct gpu_command *command)
{
	bool make = act->verb == GPU_MAKE_MDEV;

	command->verb = make ? "mdev-create" : "mdev-remove";
	task_words_add(&command->words, "parent", act->address);
	if (make)
		task_words_add(&command->words, "type", act->type);
	task_words_add(&command->words, "owner", GPU_MDEV_OWNER);
	task_words_add(&command->words, "uuid", act->uuid);
}

static void make_mig_command(const struct gpu_options *options, const struct gpu_act *act,
			     struct gpu_command *command)
{
	struct json_strs *words = &command->words;

	command->tool = options->nvidia_smi;
	command->verb = "nvidia-smi";
	if (act->verb != GPU_MIG_MODE_ON)
		json_strs_add(words, "mig");
	json_strs_add(words, "-i");
	json_strs_add(words, act->address);
	if (act->verb == GPU_MIG_MODE_ON) {
		add_number(words, "-mig", 1);
	} else if (act->verb == GPU_MIG_CREATE) {
		add_number(words, "-cgi", act->profile);
		json_strs_add(words, "-C");
	} else if (act->verb == GPU_MIG_REMOVE_COMPUTE) {
		json_strs_add(words, "-dci");
		add_number(words, "-gi", act->instance);
		add_number(words, "-ci", act->compute);
	} else {
		json_strs_add(words, "-dgi");
		add_number(words, "-gi", act->instance);
	}
}

void gpu_command_make(const struct gpu_options *options, const struct gpu_act *act,
		      struct gpu_command *ret_command)
{
	*ret_command = (struct gpu_command){ 0 };
	switch (act->verb) {
	case GPU_ENABLE_VFS:
	case GPU_DISABLE_VFS:
		make_vfs_command(options, act, ret_command);
		return;
	case GPU_SET_TYPE:
		ret_command->verb = "vgpu-set";
		task_words_add(&ret_command->words, "address", act->address);
		task_words_add(&ret_command->words, "type", act->type);
		return;
	case GPU_MAKE_MDEV:
	case GPU_REMOVE_MDEV:
		make_mdev_command(act, ret_command);
		return;
	case GPU_MIG_MODE_ON:
	case GPU_MIG_CREATE:
	case GPU_MIG_REMOVE_COMPUTE:
	case GPU_MIG_REMOVE:
		make_mig_command(options, act, ret_command);
		return;
	}
}

/* --- acts ------------------------------------------------------------------------------------- */

/* Does a scan show what such an act does? What nvidia-smi does is seen by asking it again. */
static bool is_scanned(enum gpu_verb verb)
{
	switch (verb) {
	case GPU_ENABLE_VFS:
	case GPU_DISABLE_VFS:
	case GPU_SET_TYPE:
	case GPU_MAKE_MDEV:
	case GPU_REMOVE_MDEV:
		return true;
	case GPU_MIG_MODE_ON:
	case GPU_MIG_CREATE:
	case GPU_MIG_REMOVE_COMPUTE:
	case GPU_MIG_REMOVE:
		return false;
	}
	return true;
}

/* Whatever the helper calls it, the schemas have one word for it. */
static const char *condition_reason(const struct task_outcome *outcome, enum gpu_verb verb)
{
	static const char *const kept[] = { "HelperFailed", "ToolFailed", "ToolMissing" };

	if (outcome->result == TASK_HELD)
		return "InUse";
	if (outcome->result == TASK_BUSY)
		return "Applying";
	for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
		if (strcmp(outcome->reason, kept[i]) == 0)
			return kept[i];
	}
	return verb == GPU_ENABLE_VFS || verb == GPU_DISABLE_VFS ? "NoEffect" : "WriteFailed";
}

static void log_unchanged(const struct card *card, const char *reason)
{
	log_warn("a card was not changed", log_str("kind", gpu_kind_api(card->kind)->kind),
		 log_str("object", card->key), log_str("card", card->address),
		 log_str("reason", reason));
}

/* Takes over @outcome. True if what scans show may have changed. */
static bool end_attempt(const struct card *card, struct object *object,
			struct task_outcome *outcome)
{
	if (outcome->result != TASK_DONE) {
		const char *reason = condition_reason(outcome, object->act.verb);

		str_set(&outcome->reason, reason);
		log_unchanged(card, outcome->message);
	}
	return attempt_end(&object->attempt, outcome, &backoff, now_ms(card->tasks));
}

static void on_act_end(void *arg, struct task_outcome *outcome)
{
	struct card *card = arg;
	struct object *object = map_get(card->tasks->objects[card->kind], card->key);
	bool is_changed = true;

	object->runs = false;
	if (outcome) {
		card->task = NULL;
		is_changed = end_attempt(card, object, outcome);
	} else {
		set_stuck(card);
		log_unchanged(card, card->stuck);
	}
	if (is_changed)
		card->changed_ms = now_ms(card->tasks);
	forget_look(card);
	report_end(card, true);
}

/* The kinds of acts have failures of their own. */
static struct attempt_object attempt_object(const struct api_meta *meta, const struct gpu_act *act)
{
	return (struct attempt_object){ .uid = meta->uid ? meta->uid : "",
					.generation = meta->generation,
					.direction = (int)act->verb };
}

bool gpu_tasks_act(struct gpu_tasks *tasks, enum gpu_kind kind, const char *key,
		   const struct api_meta *meta, const struct gpu_act *act)
{
	const struct attempt_object of = attempt_object(meta, act);
	struct card *card = card_for(tasks, act->card);
	struct object *object = object_for(tasks, kind, key);
	struct task_outcome outcome;
	struct gpu_command command;
	struct err err = { 0 };

	begin_task(card, kind, key);
	gpu_command_make(&tasks->options, act, &command);
	log_info("changing a card", log_str("card", act->card), log_str("address", act->address),
		 log_str("program", command.tool ? command.tool : "hostdev-helper"),
		 log_str("what", command.tool ? command.words.items[0] : command.verb));
	object->act = *act;
	attempt_begin(&object->attempt, &of,
		      is_scanned(act->verb) ? ATTEMPT_CHANGES_MANY : ATTEMPT_CHANGES_NOTHING,
		      now_ms(tasks));
	object->runs = start_task(card, &command, NULL, on_act_end, &err);
	json_strs_done(&command.words);
	if (object->runs)
		return true;
	task_outcome_not_started(command.tool, &err, &outcome);
	(void)end_attempt(card, object, &outcome);
	return false;
}

/* --- looks ------------------------------------------------------------------------------------ */

static void on_answer_line(void *arg, const char *line, size_t len)
{
	struct card *card = arg;

	if (card->answer.len + len + 1 > SMI_TEXT_MAX)
		return;
	str_add_mem(&card->answer, line, len);
	str_add_char(&card->answer, '\n');
}

static void end_look(struct card *card, const char *reason, const char *trouble)
{
	card->is_asked = true;
	card->asked_ms = now_ms(card->tasks);
	card->reason = xstrdup_or_null(reason);
	card->trouble = xstrdup_or_null(trouble);
}

static bool ask(struct card *card);

/* True if nvidia-smi is asked another question. What it prints says more than its exit status. */
static bool take_answer(struct card *card, const struct task_outcome *outcome)
{
	bool failed = outcome->result != TASK_DONE;
	struct err err = { 0 };

	if (failed && (!outcome->exit || card->answer.len == 0)) {
		end_look(card, outcome->reason, outcome->message);
		return false;
	}
	if (mig_look_take(&card->look, card->question, str_cstr(&card->answer), card->answer.len,
			  failed, &err)) {
		card->question++;
		return ask(card);
	}
	end_look(card, card->look.known ? NULL : "ToolFailed", card->look.known ? NULL : err.msg);
	return false;
}

static void on_answer_end(void *arg, struct task_outcome *outcome)
{
	struct card *card = arg;

	if (outcome) {
		card->task = NULL;
		if (take_answer(card, outcome))
			return;
	} else {
		set_stuck(card);
		end_look(card, "Stuck", card->stuck);
	}
	report_end(card, false);
}

/* False: it cannot be asked, and the look has ended. */
static bool ask(struct card *card)
{
	struct gpu_command command = { .tool = card->tasks->options.nvidia_smi,
				       .verb = "nvidia-smi" };
	const char *args[MIG_ARGS_MAX];
	struct task_outcome outcome;
	struct err err = { 0 };
	bool is_started;

	str_clear(&card->answer);
	mig_look_args(card->question, card->address, args);
	for (size_t i = 0; args[i]; i++)
		json_strs_add(&command.words, args[i]);
	is_started = start_task(card, &command, on_answer_line, on_answer_end, &err);
	json_strs_done(&command.words);
	if (is_started)
		return true;
	task_outcome_not_started(command.tool, &err, &outcome);
	end_look(card, outcome.reason, outcome.message);
	task_outcome_done(&outcome);
	return false;
}

bool gpu_tasks_look(struct gpu_tasks *tasks, enum gpu_kind kind, const char *key,
		    const char *address)
{
	struct card *card = card_for(tasks, address);

	begin_task(card, kind, key);
	forget_look(card);
	card->question = MIG_ASK_MODE;
	return ask(card);
}

/* --- questions -------------------------------------------------------------------------------- */

bool gpu_tasks_is_busy(const struct gpu_tasks *tasks, const char *address)
{
	const struct card *card = map_get(tasks->cards, address);

	return card && card->task;
}

static void add_card_past(const struct gpu_tasks *tasks, const char *address, struct gpu_past *past)
{
	const struct card *card = map_get(tasks->cards, address);

	if (!card)
		return;
	if (card->changed_ms > 0 && card->changed_ms >= tasks->node->inventory->began_ms)
		past->newer = true;
	past->stuck = card->stuck;
}

void gpu_tasks_past(const struct gpu_tasks *tasks, enum gpu_kind kind, const char *key,
		    const struct api_meta *meta, const char *address, struct gpu_past *ret_past)
{
	const struct object *object = map_get(tasks->objects[kind], key);

	*ret_past = (struct gpu_past){ 0 };
	if (object) {
		const struct task_outcome *outcome = &object->attempt.outcome;

		*ret_past = (struct gpu_past){
			.act = &object->act,
			.newer = object->runs,
			.failed = outcome->result != TASK_DONE,
			.reason = outcome->reason,
			.message = outcome->message,
		};
		if (meta) {
			const struct attempt_object of = attempt_object(meta, &object->act);

			(void)attempt_failure(&object->attempt, &of, now_ms(tasks),
					      &ret_past->wait_ms);
		}
		address = address ? address : object->act.card;
	}
	if (address)
		add_card_past(tasks, address, ret_past);
}

void gpu_tasks_forget(struct gpu_tasks *tasks, enum gpu_kind kind, const char *key)
{
	const struct object *object = map_get(tasks->objects[kind], key);

	if (object && !object->runs)
		object_free(map_remove(tasks->objects[kind], key));
}

void gpu_tasks_said(const struct gpu_tasks *tasks, const char *address, uint64_t max_age_ms,
		    struct gpu_said *ret_said)
{
	const struct card *card = map_get(tasks->cards, address);

	*ret_said = (struct gpu_said){ 0 };
	if (!card || !card->is_asked || now_ms(tasks) - card->asked_ms >= max_age_ms)
		return;
	ret_said->look = card->look.known ? &card->look : NULL;
	ret_said->reason = card->reason;
	ret_said->trouble = card->trouble;
}

/* --- life ------------------------------------------------------------------------------------- */

struct gpu_tasks *gpu_tasks_new(const struct this_node *node, const struct gpu_options *options,
				const struct gpu_tasks_deps *deps)
{
	struct gpu_tasks *tasks = xcalloc(1, sizeof(*tasks));

	tasks->node = node;
	tasks->options = *options;
	tasks->deps = *deps;
	tasks->cards = map_new();
	for (int kind = 0; kind < GPU_KINDS; kind++)
		tasks->objects[kind] = map_new();
	return tasks;
}

struct gpu_tasks *gpu_tasks_free(struct gpu_tasks *tasks)
{
	size_t cursor = 0;
	void *value;

	if (!tasks)
		return NULL;
	map_free_with(tasks->cards, card_free);
	for (int kind = 0; kind < GPU_KINDS; kind++) {
		cursor = 0;
		while (map_next(tasks->objects[kind], &cursor, NULL, &value))
			object_free(value);
		map_free(tasks->objects[kind]);
	}
	free(tasks);
	return NULL;
}
