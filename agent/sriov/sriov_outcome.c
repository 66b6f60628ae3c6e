#include "agent/sriov/sriov_outcome.h"

#include <stdlib.h>
#include <string.h>

#include "agent/inventory/limits.h"
#include "api/json_map.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

enum { WORD_MAX = 64, MESSAGE_MAX = 1024 };

struct helper_line {
	char *kind;
	char *step;
	char *result;
	char *reason;
	char *message;
};

static const struct json_row line_map[] = {
	JSON_STR(struct helper_line, kind, "kind", JSON_REQUIRED),
	JSON_STR(struct helper_line, step, "step", JSON_OPTIONAL),
	JSON_STR(struct helper_line, result, "result", JSON_OPTIONAL),
	JSON_STR(struct helper_line, reason, "reason", JSON_OPTIONAL),
	JSON_STR(struct helper_line, message, "message", JSON_OPTIONAL),
	JSON_END,
};

void sriov_outcome_done(struct sriov_outcome *outcome)
{
	free(outcome->reason);
	free(outcome->message);
	*outcome = (struct sriov_outcome){ 0 };
}

void sriov_lines_done(struct sriov_lines *lines)
{
	sriov_outcome_done(&lines->outcome);
	free(lines->step);
	*lines = (struct sriov_lines){ 0 };
}

static char *clean(const char *text)
{
	struct str out = STR_INIT;

	if (text)
		str_add_clean(&out, text, strlen(text));
	str_cut(&out, MESSAGE_MAX);
	return str_detach(&out);
}

static char *word_or_null(const char *text)
{
	return text && limit_is_word(text, WORD_MAX) ? xstrdup(text) : NULL;
}

static bool is(const char *text, const char *word)
{
	return text && strcmp(text, word) == 0;
}

static void take_end(struct sriov_lines *lines, const struct helper_line *line)
{
	struct sriov_outcome *outcome = &lines->outcome;

	lines->ended = true;
	outcome->done = is(line->result, "Done");
	outcome->refused = is(line->result, "Refused");
	outcome->held = is(line->result, "Held");
	outcome->message = clean(line->message);
	if (!outcome->done)
		outcome->reason = word_or_null(line->reason);
	if (!outcome->done && !outcome->reason)
		outcome->reason = xstrdup("HelperFailed");
}

void sriov_lines_take(struct sriov_lines *lines, const char *line, size_t len)
{
	struct helper_line fields;

	if (lines->ended || len == 0 || json_map_parse(line_map, line, len, &fields, NULL) < 0)
		return;
	if (is(fields.kind, "step")) {
		free(lines->step);
		lines->step = word_or_null(fields.step);
	}
	if (is(fields.kind, "end"))
		take_end(lines, &fields);
	json_map_done(line_map, &fields);
}

void sriov_lines_end(struct sriov_lines *lines, int result, const struct err *err,
		     struct sriov_outcome *ret_outcome)
{
	struct sriov_outcome *outcome = &lines->outcome;

	if (!lines->ended) {
		auto_free char *message =
			xasprintf("hostdev-helper vfs%s%s: %s", lines->step ? " in step " : "",
				  lines->step ? lines->step : "",
				  result < 0 ? err->msg : "it ended without a result");

		outcome->reason = xstrdup("HelperFailed");
		outcome->message = clean(message);
	}
	*ret_outcome = *outcome;
	*outcome = (struct sriov_outcome){ 0 };
}
