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
	const char *want; /* d, r, h, b for done, refused, held, busy; reason; message */
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
	{ "another helper is at work",
	  { "{'kind':'end','result':'Busy','reason':'Busy','message':'helper 7 has the lock'}" },
	  0,
	  "b Busy helper 7 has the lock" },
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
	{ "a reason that the API server would not take is none",
	  { "{'kind':'end','result':'Failed','reason':'Odd-one','message':'m'}" },
	  0,
	  " HelperFailed m" },
	{ "nor is one that begins small",
	  { "{'kind':'end','result':'Failed','reason':'noSpace','message':'m'}" },
	  0,
	  " HelperFailed m" },
	{ "a failure without a message says so",
	  { "{'kind':'end','result':'Odd'}" },
	  0,
	  " HelperFailed hostdev-helper does not say why" },
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

/* A helper that changes several devices. */
static struct outcome_case several[] = {
	{ "all done",
	  { "{'kind':'step','uuid':'u1','step':'Create'}", "{'kind':'done','uuid':'u1'}",
	    "{'kind':'done','uuid':'u1'}", "{'kind':'end','result':'Done'}" },
	  0,
	  "d 2 -" },
	{ "one failed",
	  { "{'kind':'step','uuid':'u1','step':'Create'}", "{'kind':'done','uuid':'u1'}",
	    "{'kind':'end','result':'Failed','reason':'CreateFailed','uuid':'u2','message':'no'}" },
	  0,
	  " 1 u2" },
	{ "one is held",
	  { "{'kind':'end','result':'Held','reason':'Held','uuid':'u2','message':'qemu'}" },
	  0,
	  "h 0 u2" },
	{ "lines that are no JSON are passed over",
	  { "garbage", "{'kind':'done','uuid':'u1'}", "{'kind':'end','result':'Done'}" },
	  0,
	  "d 1 -" },
	{ "no end is a failure",
	  { "{'kind':'step','uuid':'u1','step':'Create'}", "{'kind':'done','uuid':'u1'}" },
	  0,
	  " 1 -" },
	{ "a UUID that is no word is none",
	  { "{'kind':'end','result':'Held','reason':'Held','uuid':'a b','message':'qemu'}" },
	  0,
	  "h 0 -" },
	{ "what comes after the end does not count",
	  { "{'kind':'end','result':'Done'}", "{'kind':'done','uuid':'u1'}" },
	  0,
	  "d 0 -" },
};

/* A vendor's command. */
static struct outcome_case tools[] = {
	{ "a command that did it", { "Enabling VFs" }, 0, "d - " },
	{ "one that failed, with what it says",
	  { "line one", "", "line\ttwo" },
	  -EPIPE,
	  " ToolFailed /sm says: line one; line\\x09two" },
	{ "one that failed in silence", { NULL }, -EPIPE, " ToolFailed /sm: it was killed" },
	{ "a helper's lines are text of it",
	  { "{'kind':'end','result':'Done'}" },
	  -EPIPE,
	  " ToolFailed /sm says: {'kind':'end','result':'Done'}" },
};

static struct start_case {
	const char *name;
	const char *tool;
	int code;
	const char *want;
} starts[] = {
	{ "a helper that cannot be run", NULL, -ENOENT, "HelperFailed no such file" },
	{ "a command that is not there", "/sm", -ENOENT,
	  "ToolMissing /sm cannot be run: no such file" },
	{ "one that must not be run", "/sm", -EACCES,
	  "ToolMissing /sm cannot be run: no such file" },
	{ "a node without memory for it", "/sm", -ENOMEM, "ToolFailed /sm: no such file" },
};

static const char *const letters[] = {
	[TASK_NONE] = "-", [TASK_DONE] = "d",  [TASK_HELD] = "h",  [TASK_REFUSED] = "r",
	[TASK_BUSY] = "b", [TASK_FAILED] = "", [TASK_STUCK] = "s",
};

SUITE_CLOSING(task_lines, struct task_lines, task_lines_done);

static void end_lines(struct task_lines *lines, const struct outcome_case *c,
		      struct task_outcome *ret_outcome)
{
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(c->lines) && c->lines[i]; i++) {
		auto_free char *line = xstrdup(c->lines[i]);

		for (char *at = line; *at; at++)
			*at = *at == '\'' ? '"' : *at;
		task_lines_take(lines, line, strlen(line));
	}
	if (c->result < 0)
		(void)err_set(&err, ERR_RETRY, c->result, "it was killed");
	task_lines_end(lines, "vfs", c->result, &err, ret_outcome);
}

static void outcomes_match(void **state)
{
	const struct outcome_case *c = suite_row(state);
	struct task_outcome outcome = { 0 };
	auto_free char *said = NULL;

	end_lines(*state, c, &outcome);
	said = xasprintf("%s %s %s", letters[outcome.result], outcome.reason ? outcome.reason : "-",
			 outcome.message);
	assert_string_equal(said, c->want);
	task_outcome_done(&outcome);
}

static void devices_match(void **state)
{
	const struct outcome_case *c = suite_row(state);
	struct task_outcome outcome = { 0 };
	auto_free char *said = NULL;

	end_lines(*state, c, &outcome);
	said = xasprintf("%s %zu %s", letters[outcome.result], outcome.count,
			 outcome.uuid ? outcome.uuid : "-");
	assert_string_equal(said, c->want);
	task_outcome_done(&outcome);
}

static void outcomes_of_tools_match(void **state)
{
	const struct outcome_case *c = suite_row(state);
	struct task_lines *lines = *state;
	struct task_outcome outcome;
	struct err err = { 0 };
	auto_free char *said = NULL;

	for (size_t i = 0; i < ARRAY_LEN(c->lines) && c->lines[i]; i++)
		task_lines_take_text(lines, c->lines[i], strlen(c->lines[i]));
	if (c->result < 0)
		(void)err_set(&err, ERR_RETRY, c->result, "it was killed");
	task_lines_end_tool(lines, "/sm", c->result, &err, &outcome);
	said = xasprintf("%s %s %s", letters[outcome.result], outcome.reason ? outcome.reason : "-",
			 outcome.message);
	assert_string_equal(said, c->want);
	if (c->result < 0)
		assert_string_equal(outcome.exit, "it was killed");
	else
		assert_null(outcome.exit);
	task_outcome_done(&outcome);
}

static void starts_match(void **state)
{
	const struct start_case *c = suite_row(state);
	struct err err = { .kind = ERR_RETRY, .code = c->code, .msg = "no such file" };
	struct task_outcome outcome;
	auto_free char *said = NULL;

	task_outcome_not_started(c->tool, &err, &outcome);
	assert_int_equal(outcome.result, TASK_REFUSED);
	said = xasprintf("%s %s", outcome.reason, outcome.message);
	assert_string_equal(said, c->want);
	task_outcome_done(&outcome);
}

static void a_long_text_is_cut(void **state)
{
	const struct err err = { .kind = ERR_RETRY, .code = -EPIPE, .msg = "exited with 1" };
	struct task_lines *lines = *state;
	struct task_outcome outcome;
	char line[10000];

	memset(line, 'a', sizeof(line));
	for (int i = 0; i < 100; i++)
		task_lines_take_text(lines, line, sizeof(line));
	task_lines_end_tool(lines, "/smi", err.code, &err, &outcome);
	assert_int_equal(strlen(outcome.message), strlen("/smi says: ") + 400);
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

/* Also of one that has printed its result. */
static void how_it_has_exited_is_kept(void **state)
{
	struct task_lines *lines = *state;
	struct task_outcome outcome = { 0 };
	struct err err = { 0 };

	task_lines_take(lines, "{\"kind\":\"end\",\"result\":\"Done\"}", 30);
	(void)err_set(&err, ERR_RETRY, -EPIPE, "status 1");
	task_lines_end(lines, "vfs", -EPIPE, &err, &outcome);
	assert_int_equal(outcome.result, TASK_DONE);
	assert_string_equal(outcome.exit, "status 1");
	task_outcome_done(&outcome);
	task_lines_end(lines, "vfs", 0, &err, &outcome);
	assert_null(outcome.exit);
	task_outcome_done(&outcome);
	(void)err_set(&err, ERR_STUCK, -ETIMEDOUT, "it waits");
	task_lines_end(lines, "vfs", -ETIMEDOUT, &err, &outcome);
	assert_null(outcome.exit);
	task_outcome_done(&outcome);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &task_lines_fixture);
	suite_rows(&suite, cases, outcomes_match);
	suite_rows(&suite, several, devices_match);
	suite_rows(&suite, tools, outcomes_of_tools_match);
	suite_rows(&suite, starts, starts_match);
	suite_add(&suite, "a long text of a command is cut", a_long_text_is_cut, NULL);
	suite_add(&suite, "a long message is cut", a_long_message_is_cut, NULL);
	suite_add(&suite, "how it has exited is kept", how_it_has_exited_is_kept, NULL);
	return suite_run(&suite, "task_line");
}
