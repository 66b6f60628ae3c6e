#include "agent/task/task_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inventory/limits.h"
#include "api/json_map.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

enum { WORD_MAX = 64, MESSAGE_MAX = 1024, TOOL_TEXT_MAX = 400 };

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

struct helper_line {
	char *kind;
	char *step;
	char *uuid;
	char *result;
	char *reason;
	char *message;
};

static const struct json_row line_map[] = {
	JSON_STR(struct helper_line, kind, "kind", JSON_REQUIRED),
	JSON_STR(struct helper_line, step, "step", JSON_OPTIONAL),
	JSON_STR(struct helper_line, uuid, "uuid", JSON_OPTIONAL),
	JSON_STR(struct helper_line, result, "result", JSON_OPTIONAL),
	JSON_STR(struct helper_line, reason, "reason", JSON_OPTIONAL),
	JSON_STR(struct helper_line, message, "message", JSON_OPTIONAL),
	JSON_END,
};

/* As agent/helper prints them; every other is a failure. */
static const struct {
	const char *text;
	enum task_result result;
} results[] = {
	{ "Done", TASK_DONE },
	{ "Held", TASK_HELD },
	{ "Refused", TASK_REFUSED },
	{ "Busy", TASK_BUSY },
};

void task_outcome_done(struct task_outcome *outcome)
{
	free(outcome->reason);
	free(outcome->message);
	free(outcome->uuid);
	free(outcome->exit);
	*outcome = (struct task_outcome){ 0 };
}

char *task_outcome_text(const struct task_outcome *outcome)
{
	return outcome->uuid ? xasprintf("%s: %s", outcome->uuid, outcome->message)
			     : xstrdup(outcome->message);
}

void task_lines_done(struct task_lines *lines)
{
	task_outcome_done(&lines->outcome);
	free(lines->step);
	str_done(&lines->text);
	*lines = (struct task_lines){ 0 };
}

static char *word_or_null(const char *text)
{
	return text && limit_is_word(text, WORD_MAX) ? xstrdup(text) : NULL;
}

/* The API server takes no condition whose reason is anything else. */
static char *reason_or_null(const char *text)
{
	size_t len = text ? strlen(text) : 0;

	if (len == 0 || len > WORD_MAX || strspn(text, LETTERS) < len || text[0] > 'Z')
		return NULL;
	return xstrdup(text);
}

static enum task_result result_of(const char *text)
{
	for (size_t i = 0; text && i < ARRAY_LEN(results); i++) {
		if (strcmp(results[i].text, text) == 0)
			return results[i].result;
	}
	return TASK_FAILED;
}

static void take_end(struct task_lines *lines, const struct helper_line *line)
{
	struct task_outcome *outcome = &lines->outcome;

	lines->ended = true;
	outcome->result = result_of(line->result);
	if (outcome->result == TASK_DONE) {
		outcome->message = str_clean(str_or_empty(line->message), MESSAGE_MAX);
		return;
	}
	outcome->message = str_clean(
		line->message ? line->message : "hostdev-helper does not say why", MESSAGE_MAX);
	outcome->uuid = word_or_null(line->uuid);
	outcome->reason = reason_or_null(line->reason);
	if (!outcome->reason)
		outcome->reason = xstrdup("HelperFailed");
}

bool task_lines_looks(const struct task_lines *lines)
{
	return !lines->step || strcmp(lines->step, "WaitLock") == 0 ||
	       strcmp(lines->step, "CheckHolders") == 0;
}

void task_lines_take(struct task_lines *lines, const char *line, size_t len)
{
	struct helper_line fields;

	if (lines->ended || len == 0 || json_map_parse(line_map, line, len, &fields, NULL) < 0)
		return;
	if (strcmp(fields.kind, "step") == 0) {
		free(lines->step);
		lines->step = word_or_null(fields.step);
	}
	if (strcmp(fields.kind, "done") == 0)
		lines->outcome.count++;
	if (strcmp(fields.kind, "end") == 0)
		take_end(lines, &fields);
	json_map_done(line_map, &fields);
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
	struct task_outcome *outcome = &lines->outcome;

	if (!lines->ended) {
		auto_free char *message =
			xasprintf("hostdev-helper %s%s%s: %s", verb, lines->step ? " in step " : "",
				  lines->step ? lines->step : "",
				  result < 0 ? err->msg : "it ended without a result");

		outcome->result = TASK_FAILED;
		outcome->reason = xstrdup("HelperFailed");
		outcome->message = str_clean(message, MESSAGE_MAX);
	}
	if (result < 0 && err->kind != ERR_STUCK)
		outcome->exit = str_clean(err->msg, MESSAGE_MAX);
	*ret_outcome = *outcome;
	*outcome = (struct task_outcome){ 0 };
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
