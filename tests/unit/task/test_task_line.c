/* task_line: what the helper's lines come to. */
#include "agent/task/task_line.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "unit/suite.h"

static struct outcome_case {
	const char *name;
	const char *lines[4];
	int result;       /* of the helper's process */
	const char *want; /* d, r, h for done, refused, held; reason; message */
} cases[] = {
	{ "done",
	  { "{'kind':'step','step':'WaitLock'}", "{'kind':'end','result':'Done','micros':7}" },
	  0,
	  "d - " },
	{ "refused",
	  { "{'kind':'end','result':'Refused','reason':'TooManyVFs','message':'7, not 8'}" },
	  0,
	  "r TooManyVFs 7, not 8" },
	{ "held",
	  { "{'kind':'holder','pid':7}",
	    "{'kind':'end','result':'Held','reason':'Held','message':'process 7 has it'}" },
	  0,
	  "h Held process 7 has it" },
	{ "failed",
	  { "{'kind':'end','result':'Failed','reason':'NumVFsFailed','errno':'EBUSY','message':'m'}" },
	  0,
	  " NumVFsFailed m" },
	{ "a result that nobody knows is a failure",
	  { "{'kind':'end','result':'Perhaps','message':'m'}" },
	  0,
	  " HelperFailed m" },
	{ "a reason that is no word is none",
	  { "{'kind':'end','result':'Failed','reason':'a b','message':'m'}" },
	  0,
	  " HelperFailed m" },
	{ "what comes after the end does not count",
	  { "{'kind':'end','result':'Done'}", "{'kind':'end','result':'Failed','reason':'X'}" },
	  0,
	  "d - " },
	{ "lines that cannot be read are passed over",
	  { "{", "[]", "7", "{'kind':'end','result':'Done'}" },
	  0,
	  "d - " },
	{ "no lines at all",
	  { NULL },
	  0,
	  " HelperFailed hostdev-helper vfs: it ended without a result" },
	{ "a helper that died in a step",
	  { "{'kind':'step','step':'MakeFunctions'}" },
	  -EIO,
	  " HelperFailed hostdev-helper vfs in step MakeFunctions: it was killed" },
	{ "control characters are shown as such",
	  { "{'kind':'end','result':'Failed','reason':'X','message':'a\\u001bb'}" },
	  0,
	  " X a\\x1bb" },
};

static const char *const letters[] = {
	[TASK_NONE] = "-",    [TASK_DONE] = "d",  [TASK_HELD] = "h",
	[TASK_REFUSED] = "r", [TASK_FAILED] = "",
};

SUITE_CLOSING(task_lines, struct task_lines, task_lines_done);

static void outcomes_match(void **state)
{
	const struct outcome_case *c = suite_row(state);
	struct task_lines *lines = *state;
	struct task_outcome outcome = { 0 };
	struct err err = { 0 };
	auto_free char *said = NULL;

	for (size_t i = 0; i < ARRAY_LEN(c->lines) && c->lines[i]; i++) {
		auto_free char *line = xstrdup(c->lines[i]);

		for (char *at = line; *at; at++)
			*at = *at == '\'' ? '"' : *at;
		task_lines_take(lines, line, strlen(line));
	}
	if (c->result < 0)
		(void)err_set(&err, ERR_RETRY, c->result, "it was killed");
	task_lines_end(lines, "vfs", c->result, &err, &outcome);
	said = xasprintf("%s %s %s", letters[outcome.result], outcome.reason ? outcome.reason : "-",
			 outcome.message);
	assert_string_equal(said, c->want);
	task_outcome_done(&outcome);
}

static void a_long_message_is_cut(void **state)
{
	auto_str struct str line = STR_INIT;
	struct task_lines *lines = *state;

	str_add(&line, "{\"kind\":\"end\",\"result\":\"Failed\",\"message\":\"");
	for (int i = 0; i < 3000; i++)
		str_add_char(&line, 'x');
	str_add(&line, "\"}");
	task_lines_take(lines, line.buf, line.len);
	assert_int_equal(strlen(lines->outcome.message), 1024);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &task_lines_fixture);
	suite_rows(&suite, cases, outcomes_match);
	suite_add(&suite, "a long message is cut", a_long_message_is_cut, NULL);
	return suite_run(&suite, "task_line");
}
