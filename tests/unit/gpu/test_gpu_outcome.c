#include "agent/gpu/gpu_outcome.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "unit/suite.h"

static const struct err none = { 0 };
static const struct err exited = { .kind = ERR_RETRY, .code = -EPIPE, .msg = "exited with 1" };
static const struct err missing = { .kind = ERR_RETRY, .code = -ENOENT, .msg = "no such file" };
static const struct err stuck = { .kind = ERR_STUCK, .code = -ETIMEDOUT, .msg = "still waiting" };

static struct outcome_case {
	const char *name;
	const char *lines[4];
	const char *tool;
	const struct err *err;
	const char *reason; /* NULL: done */
	const char *message;
	bool busy;
} cases[] = {
	{ "done",
	  { "{\"kind\":\"vgpu\",\"address\":\"a\"}", "{\"kind\":\"end\",\"result\":\"Done\"}" },
	  .err = &none },
	{ "held, with the holder",
	  { "{\"kind\":\"end\",\"result\":\"Held\",\"reason\":\"Held\",\"message\":\"qemu\"}" },
	  .err = &none,
	  .reason = "InUse",
	  .message = "qemu",
	  .busy = true },
	{ "a holder's own line stands in for a message",
	  { "{\"kind\":\"holder\",\"detail\":\"process 7 (qemu)\"}",
	    "{\"kind\":\"end\",\"result\":\"Held\"}" },
	  .err = &none,
	  .reason = "InUse",
	  .message = "process 7 (qemu)",
	  .busy = true },
	{ "busy",
	  { "{\"kind\":\"end\",\"result\":\"Busy\",\"message\":\"another helper\"}" },
	  .err = &none,
	  .reason = "Applying",
	  .message = "another helper",
	  .busy = true },
	{ "a reason of the helper's is one of the schema's",
	  { "{\"kind\":\"end\",\"result\":\"Refused\",\"reason\":\"NotVirtualFunction\","
	    "\"message\":\"no\"}" },
	  .err = &none,
	  .reason = "WriteFailed",
	  .message = "no" },
	{ "a message is cleaned",
	  { "{\"kind\":\"end\",\"result\":\"Failed\",\"message\":\"a\\u0007b\"}" },
	  .err = &none,
	  .reason = "WriteFailed",
	  .message = "a\\x07b" },
	{ "lines that cannot be read are passed over",
	  { "garbage", "[]", "{\"kind\":7}", "{\"kind\":\"end\",\"result\":\"Done\"}" },
	  .err = &none },
	{ "without an end it failed",
	  { "{\"kind\":\"step\"}" },
	  .err = &none,
	  .reason = "HelperFailed",
	  .message = "hostdev-helper ended without a result" },
	{ "a helper that cannot be run",
	  { NULL },
	  .err = &missing,
	  .reason = "HelperFailed",
	  .message = "no such file" },
	{ "stuck",
	  { "{\"kind\":\"step\"}" },
	  .err = &stuck,
	  .reason = "Stuck",
	  .message = "still waiting" },
	{ "a command that did it", { "Enabling VFs" }, "/sm", .err = &none },
	{ "one that failed, with what it says",
	  { "line one", "", "line\ttwo" },
	  "/sm",
	  .err = &exited,
	  .reason = "ToolFailed",
	  .message = "/sm says: line one; line\\x09two" },
	{ "one that failed in silence",
	  { NULL },
	  "/sm",
	  .err = &exited,
	  .reason = "ToolFailed",
	  .message = "/sm: exited with 1" },
	{ "one that is not there",
	  { NULL },
	  "/sm",
	  .err = &missing,
	  .reason = "ToolMissing",
	  .message = "/sm cannot be run: no such file" },
};

SUITE_CLOSING(gpu_lines, struct gpu_lines, gpu_lines_done);

static void outcome_is(void **state)
{
	const struct outcome_case *c = suite_row(state);
	struct gpu_lines *lines = *state;
	struct gpu_outcome outcome;

	for (size_t i = 0; i < ARRAY_LEN(c->lines) && c->lines[i]; i++) {
		if (c->tool)
			gpu_lines_take_tool(lines, c->lines[i], strlen(c->lines[i]));
		else
			gpu_lines_take_helper(lines, c->lines[i], strlen(c->lines[i]));
	}
	gpu_lines_end(lines, GPU_SET_TYPE, c->tool, c->err->code, c->err, &outcome);
	assert_int_equal(outcome.failed, c->reason != NULL);
	assert_int_equal(outcome.busy, c->busy);
	if (c->reason) {
		assert_string_equal(outcome.reason, c->reason);
		assert_string_equal(outcome.message, c->message);
	}
	gpu_outcome_done(&outcome);
}

static void long_messages_are_cut(void **state)
{
	char line[10000];
	struct gpu_lines *lines = *state;
	struct gpu_outcome outcome;

	memset(line, 'a', sizeof(line));
	for (int i = 0; i < 100; i++)
		gpu_lines_take_tool(lines, line, sizeof(line));
	gpu_lines_end(lines, GPU_MIG_CREATE, "/smi", exited.code, &exited, &outcome);
	assert_true(strlen(outcome.message) < GPU_MESSAGE_MAX + 32);
	gpu_outcome_done(&outcome);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &gpu_lines_fixture);
	suite_rows(&suite, cases, outcome_is);
	suite_add(&suite, "what a command says without end is cut", long_messages_are_cut, NULL);
	return suite_run(&suite, "gpu_outcome");
}
