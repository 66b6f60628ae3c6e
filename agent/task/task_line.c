#include "agent/task/task_line.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inventory/limits.h"
#include "api/json_map.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

enum {
	WORD_MAX = 64,      /* a reason, a step                          */
	TEXT_MAX = 256,     /* a process, a pod                          */
	MESSAGE_MAX = 1024, /* a condition takes more, a person does not */
	HOLDERS_MAX = 256,  /* told apart; more are not counted          */
	TOOL_TEXT_MAX = 400,
};

/* Every kind of line has some of these. */
struct helper_line {
	char *kind;
	char *step;
	char *uuid;
	char *address;
	char *command;
	char *pod;
	char *detail;
	char *result;
	char *reason;
	char *error_name;
	char *message;
	int pid;
	int64_t kernel_us;
	int64_t helper_us;
};

static const struct json_row line_map[] = {
	JSON_STR(struct helper_line, kind, "kind", JSON_REQUIRED),
	JSON_STR(struct helper_line, step, "step", JSON_OPTIONAL),
	JSON_STR(struct helper_line, uuid, "uuid", JSON_OPTIONAL),
	JSON_STR(struct helper_line, address, "address", JSON_OPTIONAL),
	JSON_STR(struct helper_line, command, "command", JSON_OPTIONAL),
	JSON_STR(struct helper_line, pod, "pod", JSON_OPTIONAL),
	JSON_STR(struct helper_line, detail, "detail", JSON_OPTIONAL),
	JSON_STR(struct helper_line, result, "result", JSON_OPTIONAL),
	JSON_STR(struct helper_line, reason, "reason", JSON_OPTIONAL),
	JSON_STR(struct helper_line, error_name, "errno", JSON_OPTIONAL),
	JSON_STR(struct helper_line, message, "message", JSON_OPTIONAL),
	JSON_INT(struct helper_line, pid, "pid", JSON_OPTIONAL),
	JSON_INT(struct helper_line, kernel_us, "kernelMicros", JSON_OPTIONAL),
	JSON_INT(struct helper_line, helper_us, "micros", JSON_OPTIONAL),
	JSON_END,
};

const char *task_result_text(enum task_result result)
{
	static const char *const texts[] = {
		[TASK_NONE] = "None",       [TASK_DONE] = "Done",     [TASK_HELD] = "Held",
		[TASK_REFUSED] = "Refused", [TASK_FAILED] = "Failed", [TASK_BUSY] = "Busy",
		[TASK_STUCK] = "Stuck",
	};

	assert((size_t)result < ARRAY_LEN(texts));
	return texts[result];
}

void task_words_add(struct json_strs *words, const char *key, const char *value)
{
	auto_free char *word = xasprintf("%s=%s", key, value);

	json_strs_add(words, word);
}

void task_outcome_done(struct task_outcome *outcome)
{
	free(outcome->reason);
	free(outcome->message);
	free(outcome->uuid);
	free(outcome->address);
	free(outcome->step);
	free(outcome->error_name);
	free(outcome->holder);
	free(outcome->exit);
	*outcome = (struct task_outcome){ 0 };
}

void task_outcome_copy(struct task_outcome *to, const struct task_outcome *from)
{
	*to = *from;
	to->reason = xstrdup_or_null(from->reason);
	to->message = xstrdup_or_null(from->message);
	to->uuid = xstrdup_or_null(from->uuid);
	to->address = xstrdup_or_null(from->address);
	to->step = xstrdup_or_null(from->step);
	to->error_name = xstrdup_or_null(from->error_name);
	to->holder = xstrdup_or_null(from->holder);
	to->exit = xstrdup_or_null(from->exit);
}

char *task_outcome_text(const struct task_outcome *outcome)
{
	return outcome->uuid ? xasprintf("%s: %s", outcome->uuid, outcome->message)
			     : xstrdup(outcome->message);
}

void task_lines_done(struct task_lines *lines)
{
	task_outcome_done(&lines->outcome);
	json_strs_done(&lines->holders);
	free(lines->step);
	free(lines->address);
	free(lines->garbage);
	str_done(&lines->text);
	*lines = (struct task_lines){ 0 };
}

static void set_text(char **text, char *value)
{
	free(*text);
	*text = value;
}

static char *word_or_null(const char *text)
{
	return text && limit_is_word(text, WORD_MAX) ? xstrdup(text) : NULL;
}

static char *address_or_null(const char *text)
{
	return text && limit_is_address(text, WORD_MAX) ? xstrdup(text) : NULL;
}

/* A copy of @text if it is a word like "UnbindFailed", else NULL: the API server takes no condition
 * whose reason is anything else. */
static char *camel_word(const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (len == 0 || len > WORD_MAX || !isupper((unsigned char)text[0]))
		return NULL;
	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)text[i]))
			return NULL;
	}
	return xstrdup(text);
}

static void take_step(struct task_lines *lines, const struct helper_line *line)
{
	set_text(&lines->step, camel_word(line->step));
	set_text(&lines->address, address_or_null(line->address));
}

/* "process 123 (qemu-system-x86) of pod default/vm-1" */
static char *holder_text(const struct helper_line *line)
{
	auto_free char *command = str_clean(line->command, TEXT_MAX);
	auto_free char *pod = str_clean(line->pod, TEXT_MAX);
	struct str out = STR_INIT;

	if (line->pid <= 0)
		return line->detail ? str_clean(line->detail, MESSAGE_MAX)
				    : xstrdup("a process that cannot be seen");
	str_addf(&out, "process %d", line->pid);
	if (command)
		str_addf(&out, " (%s)", command);
	if (pod)
		str_addf(&out, " of pod %s", pod);
	return str_detach(&out);
}

/* The helper reports a process once for each device that it holds; the process counts once. */
static void take_holder(struct task_lines *lines, const struct helper_line *line)
{
	auto_free char *text = holder_text(line);

	if (lines->holders.len >= HOLDERS_MAX || !json_strs_add_new(&lines->holders, text))
		return;
	if (lines->holders.len > 1)
		return;
	lines->outcome.holder_pid = line->pid > 0 ? line->pid : 0;
	lines->outcome.address = address_or_null(line->address);
}

static void take_done(struct task_lines *lines, const struct helper_line *line)
{
	(void)line;
	lines->outcome.count++;
}

/* Whatever a helper says that is no other result is a failure. */
static enum task_result result_of(const char *text)
{
	for (enum task_result result = TASK_DONE; text && result <= TASK_BUSY; result++) {
		if (strcmp(task_result_text(result), text) == 0)
			return result;
	}
	return TASK_FAILED;
}

/* What did not go well has a place: the end line's own. If that has neither reason nor step, the
 * step that was under way. */
static void set_place(struct task_lines *lines, const struct helper_line *line)
{
	struct task_outcome *outcome = &lines->outcome;
	char *address = address_or_null(line->address);

	outcome->step = camel_word(line->step);
	if (!line->reason && !line->step) {
		outcome->step = xstrdup_or_null(lines->step);
		if (!address && !outcome->address)
			address = xstrdup_or_null(lines->address);
	}
	if (address)
		set_text(&outcome->address, address);
}

/* "process 123 (qemu) of pod default/vm and 2 more"; NULL: none. */
static char *holders_text(const struct json_strs *holders)
{
	if (holders->len == 0)
		return NULL;
	if (holders->len == 1)
		return xstrdup(holders->items[0]);
	return xasprintf("%s and %zu more", holders->items[0], holders->len - 1);
}

static char *failure_message(const struct task_outcome *outcome, const char *message)
{
	if (message)
		return str_clean(message, MESSAGE_MAX);
	if (outcome->holder)
		return xasprintf("%s is held by %s",
				 outcome->address ? outcome->address : "a device", outcome->holder);
	return xstrdup("hostdev-helper does not say why");
}

static void take_failure(struct task_lines *lines, const struct helper_line *line)
{
	struct task_outcome *outcome = &lines->outcome;

	set_place(lines, line);
	outcome->uuid = word_or_null(line->uuid);
	outcome->reason = camel_word(line->reason);
	if (!outcome->reason)
		outcome->reason =
			xstrdup(outcome->result == TASK_FAILED ? "HelperFailed"
							       : task_result_text(outcome->result));
	outcome->error_name = word_or_null(line->error_name);
	if (outcome->result == TASK_BUSY)
		outcome->holder_pid = line->pid > 0 ? line->pid : 0;
	else
		outcome->holder = holders_text(&lines->holders);
	outcome->message = failure_message(outcome, line->message);
}

static void take_end(struct task_lines *lines, const struct helper_line *line)
{
	struct task_outcome *outcome = &lines->outcome;

	lines->ended = true;
	outcome->result = result_of(line->result);
	outcome->kernel_us = line->kernel_us > 0 ? (uint64_t)line->kernel_us : 0;
	outcome->helper_us = line->helper_us > 0 ? (uint64_t)line->helper_us : 0;
	if (outcome->result != TASK_DONE) {
		take_failure(lines, line);
		return;
	}
	set_text(&outcome->address, NULL);
	outcome->holder_pid = 0;
	outcome->message = str_clean(str_or_empty(line->message), MESSAGE_MAX);
}

/* clang-format off */
static const struct {
	const char *kind;
	void (*take)(struct task_lines *lines, const struct helper_line *line);
} kinds[] = {
	{ "step",   take_step   },
	{ "holder", take_holder },
	{ "done",   take_done   },
	{ "end",    take_end    },
};
/* clang-format on */

bool task_lines_looks(const struct task_lines *lines)
{
	return !lines->step || strcmp(lines->step, "WaitLock") == 0 ||
	       strcmp(lines->step, "CheckHolders") == 0;
}

void task_lines_take(struct task_lines *lines, const char *line, size_t len)
{
	struct helper_line fields;
	struct err err = { 0 };

	if (lines->ended || len == 0)
		return;
	if (json_map_parse(line_map, line, len, &fields, &err) < 0) {
		if (!lines->garbage)
			lines->garbage = xasprintf("a line that cannot be read (%s)", err.msg);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (strcmp(kinds[i].kind, fields.kind) == 0)
			kinds[i].take(lines, &fields);
	}
	json_map_done(line_map, &fields);
}

/* The helper said no end: it has failed where it was, and whom it saw is not to blame. */
static void fail(struct task_lines *lines, const char *verb, const char *why)
{
	struct task_outcome *outcome = &lines->outcome;
	auto_str struct str message = STR_INIT;

	str_addf(&message, "hostdev-helper %s", verb);
	if (lines->step)
		str_addf(&message, " in step %s", lines->step);
	if (lines->step && lines->address)
		str_addf(&message, " of %s", lines->address);
	str_addf(&message, ": %s", why);
	if (lines->garbage)
		str_addf(&message, "; it printed %s", lines->garbage);
	outcome->result = TASK_FAILED;
	outcome->died = true;
	outcome->reason = xstrdup("HelperFailed");
	outcome->message = str_clean(str_cstr(&message), MESSAGE_MAX);
	outcome->step = xstrdup_or_null(lines->step);
	set_text(&outcome->address, xstrdup_or_null(lines->address));
	outcome->holder_pid = 0;
}

void task_lines_take_text(struct task_lines *lines, const char *line, size_t len)
{
	if (len == 0 || lines->text.len >= TOOL_TEXT_MAX)
		return;
	if (lines->text.len > 0)
		str_add(&lines->text, "; ");
	str_add_clean(&lines->text, line, len);
	str_cut(&lines->text, TOOL_TEXT_MAX);
}

void task_lines_end(struct task_lines *lines, const char *verb, int result, const struct err *err,
		    struct task_outcome *ret_outcome)
{
	if (!lines->ended)
		fail(lines, verb, result < 0 ? err->msg : "it ended without a result");
	if (result < 0 && err->kind != ERR_STUCK)
		lines->outcome.exit = str_clean(err->msg, MESSAGE_MAX);
	*ret_outcome = lines->outcome;
	lines->outcome = (struct task_outcome){ 0 };
}

void task_lines_end_tool(struct task_lines *lines, const char *tool, int result,
			 const struct err *err, struct task_outcome *ret_outcome)
{
	bool has_text = lines->text.len > 0;

	*ret_outcome = (struct task_outcome){ .result = TASK_DONE };
	if (result == 0) {
		ret_outcome->message = xstrdup("");
		return;
	}
	ret_outcome->result = TASK_FAILED;
	ret_outcome->reason = xstrdup("ToolFailed");
	ret_outcome->message = xasprintf("%s%s: %s", tool, has_text ? " says" : "",
					 has_text ? str_cstr(&lines->text) : err->msg);
	ret_outcome->exit = str_clean(err->msg, MESSAGE_MAX);
}

void task_outcome_not_started(const char *tool, const struct err *err,
			      struct task_outcome *ret_outcome)
{
	bool is_missing = tool && (err->code == -ENOENT || err->code == -EACCES);

	*ret_outcome = (struct task_outcome){
		.result = TASK_REFUSED,
		.reason = xstrdup(is_missing ? "ToolMissing"
				  : tool     ? "ToolFailed"
					     : "HelperFailed"),
		.message = tool ? xasprintf("%s%s: %s", tool, is_missing ? " cannot be run" : "",
					    err->msg)
				: xstrdup(err->msg),
	};
}
