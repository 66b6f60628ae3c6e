#include "agent/mdev/mdev_line.h"

#include <stdlib.h>
#include <string.h>

#include "api/json_map.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

enum { TEXT_MAX = 512 };

struct line {
	char *kind;
	char *step;
	char *uuid;
	char *result;
	char *reason;
	char *message;
};

static const struct json_row line_map[] = {
	JSON_STR(struct line, kind, "kind", JSON_OPTIONAL),
	JSON_STR(struct line, step, "step", JSON_OPTIONAL),
	JSON_STR(struct line, uuid, "uuid", JSON_OPTIONAL),
	JSON_STR(struct line, result, "result", JSON_OPTIONAL),
	JSON_STR(struct line, reason, "reason", JSON_OPTIONAL),
	JSON_STR(struct line, message, "message", JSON_OPTIONAL),
	JSON_END,
};

static bool is(const char *text, const char *word)
{
	return text && strcmp(text, word) == 0;
}

static char *clean(const char *text)
{
	struct str out = STR_INIT;

	str_add_clean(&out, text, strlen(text));
	str_cut(&out, TEXT_MAX);
	return str_detach(&out);
}

static bool is_camel(const char *text)
{
	size_t len = strlen(text);

	return len > 0 && len < 64 && text[0] >= 'A' && text[0] <= 'Z' &&
	       strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == len;
}

static void take_end(struct mdev_lines *lines, const struct line *line)
{
	struct mdev_outcome *outcome = &lines->outcome;

	lines->ended = true;
	outcome->done = is(line->result, "Done");
	outcome->held = is(line->result, "Held");
	if (line->reason && is_camel(line->reason))
		outcome->reason = xstrdup(line->reason);
	if (line->message)
		outcome->message = clean(line->message);
	if (line->uuid)
		outcome->uuid = clean(line->uuid);
}

void mdev_lines_take(struct mdev_lines *lines, const char *line, size_t len)
{
	struct line said;

	if (json_map_parse(line_map, line, len, &said, NULL) < 0)
		return;
	if (is(said.kind, "step") && said.step) {
		free(lines->step);
		lines->step = clean(said.step);
	} else if (is(said.kind, "done")) {
		lines->outcome.count++;
	} else if (is(said.kind, "end") && !lines->ended) {
		take_end(lines, &said);
	}
	json_map_done(line_map, &said);
}

/* The helper got stuck, or died, or could not be started. */
static void fail(struct mdev_lines *lines, int pid, int result, const struct err *err)
{
	struct mdev_outcome *outcome = &lines->outcome;
	const char *step = lines->step ? lines->step : "no step";
	bool stuck = result < 0 && err->kind == ERR_STUCK;

	outcome->reason = xstrdup(stuck ? "Stuck" : "HelperFailed");
	if (stuck)
		outcome->message = xasprintf("hostdev-helper %d waits for the kernel in step %s; "
					     "nothing else is done here until it ends",
					     pid, step);
	else
		outcome->message = xasprintf("hostdev-helper did not finish (%s): %s", step,
					     result < 0 ? err->msg : "it ended without a result");
}

void mdev_lines_end(struct mdev_lines *lines, int pid, int result, const struct err *err)
{
	struct mdev_outcome *outcome = &lines->outcome;

	if (!lines->ended)
		fail(lines, pid, result, err);
	if (outcome->done)
		return;
	if (!outcome->reason)
		outcome->reason = xstrdup("HelperFailed");
	if (!outcome->message)
		outcome->message = xstrdup("hostdev-helper does not say why");
}

void mdev_lines_done(struct mdev_lines *lines)
{
	free(lines->outcome.reason);
	free(lines->outcome.message);
	free(lines->outcome.uuid);
	free(lines->step);
	*lines = (struct mdev_lines){ 0 };
}
