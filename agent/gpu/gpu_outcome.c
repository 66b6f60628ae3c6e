#include "agent/gpu/gpu_outcome.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

void gpu_outcome_done(struct gpu_outcome *outcome)
{
	free(outcome->reason);
	free(outcome->message);
	*outcome = (struct gpu_outcome){ 0 };
}

void gpu_lines_done(struct gpu_lines *lines)
{
	gpu_outcome_done(&lines->outcome);
	free(take_ptr(lines->holder));
	str_done(&lines->text);
}

static const char *text_of(const json_t *line, const char *key)
{
	const char *text = json_string_value(json_object_get(line, key));

	return text ? text : "";
}

static void take_end(struct gpu_lines *lines, const json_t *line)
{
	const char *result = text_of(line, "result");
	struct gpu_outcome *outcome = &lines->outcome;

	lines->ended = true;
	gpu_outcome_done(outcome);
	if (strcmp(result, "Done") == 0)
		return;
	outcome->failed = true;
	outcome->busy = strcmp(result, "Held") == 0 || strcmp(result, "Busy") == 0;
	outcome->reason = xstrdup(strcmp(result, "Held") == 0   ? "InUse"
				  : strcmp(result, "Busy") == 0 ? "Applying"
								: "");
	outcome->message = str_clean(text_of(line, "message"), GPU_MESSAGE_MAX);
}

void gpu_lines_take_helper(struct gpu_lines *lines, const char *line, size_t len)
{
	auto_json json_t *json = NULL;
	const char *kind;

	if (json_map_load(line, len, &json, NULL) < 0)
		return;
	kind = text_of(json, "kind");
	if (strcmp(kind, "end") == 0) {
		take_end(lines, json);
	} else if (strcmp(kind, "holder") == 0 && !lines->holder) {
		lines->holder = str_clean(text_of(json, "detail"), GPU_MESSAGE_MAX);
	}
}

void gpu_lines_take_tool(struct gpu_lines *lines, const char *line, size_t len)
{
	if (len == 0 || lines->text.len >= GPU_MESSAGE_MAX)
		return;
	if (lines->text.len > 0)
		str_add(&lines->text, "; ");
	str_add_clean(&lines->text, line, len);
	str_cut(&lines->text, GPU_MESSAGE_MAX);
}

/* Whatever the helper calls it, the schemas have one word for it. */
static const char *failure_word(enum gpu_verb verb)
{
	switch (verb) {
	case GPU_ENABLE_VFS:
	case GPU_DISABLE_VFS:
		return "NoEffect";
	case GPU_SET_TYPE:
	case GPU_MAKE_MDEV:
	case GPU_REMOVE_MDEV:
		return "WriteFailed";
	case GPU_MIG_MODE_ON:
	case GPU_MIG_CREATE:
	case GPU_MIG_REMOVE_COMPUTE:
	case GPU_MIG_REMOVE:
		return "ToolFailed";
	}
	return "HelperFailed";
}

static void fail(struct gpu_outcome *outcome, const char *reason, char *message)
{
	gpu_outcome_done(outcome);
	outcome->failed = true;
	outcome->reason = xstrdup(reason);
	outcome->message = message;
}

static void end_tool(struct gpu_lines *lines, const char *tool, const struct err *err)
{
	const char *said = str_cstr(&lines->text);

	if (err->code == -ENOENT || err->code == -EACCES)
		fail(&lines->outcome, "ToolMissing",
		     xasprintf("%s cannot be run: %s", tool, err->msg));
	else if (*said)
		fail(&lines->outcome, "ToolFailed", xasprintf("%s says: %s", tool, said));
	else
		fail(&lines->outcome, "ToolFailed", xasprintf("%s: %s", tool, err->msg));
}

void gpu_lines_end(struct gpu_lines *lines, enum gpu_verb verb, const char *tool, int result,
		   const struct err *err, struct gpu_outcome *ret_outcome)
{
	struct gpu_outcome *outcome = &lines->outcome;

	if (result < 0 && err->kind == ERR_STUCK)
		fail(outcome, "Stuck", xstrdup(err->msg));
	else if (result < 0 && tool)
		end_tool(lines, tool, err);
	else if (result < 0)
		fail(outcome, "HelperFailed", xstrdup(err->msg));
	else if (!tool && !lines->ended)
		fail(outcome, "HelperFailed", xstrdup("hostdev-helper ended without a result"));
	if (outcome->failed && !*outcome->reason) {
		free(outcome->reason);
		outcome->reason = xstrdup(failure_word(verb));
	}
	if (outcome->failed && !*outcome->message && lines->holder) {
		free(outcome->message);
		outcome->message = xstrdup(lines->holder);
	}
	*ret_outcome = *outcome;
	*outcome = (struct gpu_outcome){ 0 };
}
