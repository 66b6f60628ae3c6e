/* task_line: whatever a helper prints, and however it ends, there is one outcome that can be
 * shown. */
#include "agent/task/task_line.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "unit/suite.h"

static void add_text(struct str *out, const char *key, const char *text)
{
	if (text)
		str_addf(out, " %s='%s'", key, text);
}

/* "Held Held step='CheckHolders' ... : message" */
static char *outcome_text(const struct task_outcome *o)
{
	struct str out = STR_INIT;

	str_addf(&out, "%s %s", task_result_text(o->result), o->reason ? o->reason : "-");
	add_text(&out, "step", o->step);
	add_text(&out, "at", o->address);
	add_text(&out, "errno", o->error_name);
	add_text(&out, "holder", o->holder);
	if (o->holder_pid)
		str_addf(&out, " pid=%d", o->holder_pid);
	if (o->kernel_us || o->helper_us)
		str_addf(&out, " us=%d/%d", (int)o->kernel_us, (int)o->helper_us);
	str_add(&out, o->died ? " died" : "");
	str_addf(&out, ": %s", o->message);
	return str_detach(&out);
}

static void take(struct task_lines *lines, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		task_lines_take(lines, text, len);
		text += len + (text[len] == '\n');
	}
}

#define STEP(step)       "{\"kind\":\"step\",\"address\":\"0000:01:00.0\",\"step\":\"" step "\"}\n"
#define HOLDER(at, rest) "{\"kind\":\"holder\",\"address\":\"0000:01:00." at "\"," rest "}\n"
#define QEMU                                                                             \
	"\"pid\":123,\"command\":\"qemu-system-x86\",\"pod\":\"default/vm\",\"detail\":" \
	"\"process 123 (qemu-system-x86) has /dev/vfio/12 open\""
#define END(rest) "{\"kind\":\"end\",\"result\":" rest "}\n"
#define NO_WHY    "hostdev-helper does not say why"

static struct line_case {
	const char *name;
	const char *lines;
	int result; /* of helper_run */
	enum err_kind kind;
	const char *says;
	const char *outcome;
} cases[] = {
	{ "what is done has no reason, and neither step nor place",
	  STEP("Unbind") STEP("Probe") END("\"Done\",\"kernelMicros\":5312,\"micros\":7020"), 0,
	  ERR_NONE, "", "Done - us=5312/7020: " },
	{ "a failure says what the kernel said, and where",
	  STEP("Unbind") END(
		  "\"Failed\",\"reason\":\"UnbindFailed\",\"address\":\"0000:01:00.1\",\"step\":"
		  "\"Unbind\",\"errno\":\"EBUSY\",\"message\":\"it is busy\",\"kernelMicros\":1,"
		  "\"micros\":2"),
	  -EPIPE, ERR_RETRY, "helper exited with status 1",
	  "Failed UnbindFailed step='Unbind' at='0000:01:00.1' errno='EBUSY' us=1/2: it is busy" },
	{ "a failure without a place is where the last step was", STEP("Probe") END("\"Failed\""),
	  0, ERR_NONE, "", "Failed HelperFailed step='Probe' at='0000:01:00.0': " NO_WHY },
	{ "a failure of a step that is of no function is of none",
	  STEP("Unbind") END("\"Failed\",\"reason\":\"DriverMissing\",\"step\":\"LoadModule\""), 0,
	  ERR_NONE, "", "Failed DriverMissing step='LoadModule': " NO_WHY },
	{ "a refusal that names no step is of none",
	  STEP("WaitLock") END("\"Refused\",\"reason\":\"DeviceGone\""), 0, ERR_NONE, "",
	  "Refused DeviceGone: " NO_WHY },
	{ "a refusal keeps its reason",
	  END("\"Refused\",\"reason\":\"InUse\",\"address\":\"0000:01:00.0\",\"message\":\"mounted "
	      "at /data\""),
	  0, ERR_NONE, "", "Refused InUse at='0000:01:00.0': mounted at /data" },
	{ "a holder is named with its pod", STEP("CheckHolders") HOLDER("0", QEMU) END("\"Held\""),
	  0, ERR_NONE, "",
	  "Held Held step='CheckHolders' at='0000:01:00.0' holder='process 123 (qemu-system-x86) of "
	  "pod default/vm' pid=123: 0000:01:00.0 is held by process 123 (qemu-system-x86) of pod "
	  "default/vm" },
	{ "of many holders the first is named, and each process counts once",
	  HOLDER("0", QEMU) HOLDER("1", QEMU) HOLDER("0", "\"pid\":7,\"command\":\"dpdk\"")
		  HOLDER("1", "\"pid\":8") END("\"Held\",\"message\":\"in use\""),
	  0, ERR_NONE, "",
	  "Held Held at='0000:01:00.0' holder='process 123 (qemu-system-x86) of pod default/vm and 2 "
	  "more' pid=123: in use" },
	{ "a holder that is no process is told as the helper tells it",
	  HOLDER("0", "\"pid\":0,\"command\":\"\",\"detail\":\"a process that cannot be seen has "
		      "/dev/vfio/12 open\"") END("\"Held\",\"message\":\"x\""),
	  0, ERR_NONE, "",
	  "Held Held at='0000:01:00.0' holder='a process that cannot be seen has /dev/vfio/12 open': "
	  "x" },
	{ "a holder of whom nothing is told is one all the same",
	  "{\"kind\":\"holder\",\"pid\":-4}\n" END("\"Held\""), 0, ERR_NONE, "",
	  "Held Held holder='a process that cannot be seen': a device is held by a "
	  "process that cannot be seen" },
	{ "what is done names nobody, whoever was seen", HOLDER("0", QEMU) END("\"Done\""), 0,
	  ERR_NONE, "", "Done -: " },
	{ "one that another helper hinders names that helper",
	  STEP("WaitLock") END("\"Busy\",\"pid\":77,\"message\":\"busy\""), 0, ERR_NONE, "",
	  "Busy Busy step='WaitLock' at='0000:01:00.0' pid=77: busy" },
	{ "a helper that was killed has failed where it was", STEP("SetOverride") STEP("Unbind"),
	  -EPIPE, ERR_RETRY, "helper was ended by signal 9 (Killed)",
	  "Failed HelperFailed step='Unbind' at='0000:01:00.0' died: hostdev-helper bind in step Unbind "
	  "of 0000:01:00.0: helper was ended by signal 9 (Killed)" },
	{ "who was seen before a helper was killed is not to blame", HOLDER("0", QEMU), -EPIPE,
	  ERR_RETRY, "helper was ended by signal 9 (Killed)",
	  "Failed HelperFailed died: hostdev-helper bind: helper was ended by signal 9 (Killed)" },
	{ "a helper that says nothing has failed, whatever its status", "", 0, ERR_NONE, "",
	  "Failed HelperFailed died: hostdev-helper bind: it ended without a result" },
	{ "a result is believed, whatever the status", END("\"Done\""), -EPIPE, ERR_RETRY,
	  "helper was ended by signal 11", "Done -: " },
	{ "lines that cannot be read are passed over",
	  "garbage\n[1]\n{}\n{\"kind\":7}\n" END("\"Done\""), 0, ERR_NONE, "", "Done -: " },
	{ "without a result, the first of them is told", "nonsense\n{\"kind\":7}\n", 0, ERR_NONE,
	  "", NULL },
	{ "a result that is not known is a failure", END("\"Perhaps\""), 0, ERR_NONE, "",
	  "Failed HelperFailed: " NO_WHY },
	{ "no helper can say that it is stuck", END("\"Stuck\",\"message\":\"x\""), 0, ERR_NONE, "",
	  "Failed HelperFailed: x" },
	{ "lines of a kind that is not known may come",
	  "{\"kind\":\"news\",\"result\":\"Failed\"}\n" END("\"Done\""), 0, ERR_NONE, "",
	  "Done -: " },
	{ "nothing counts after the end", END("\"Done\"") END("\"Failed\"") STEP("Unbind"), 0,
	  ERR_NONE, "", "Done -: " },
	{ "text from outside is made fit to show",
	  "{\"kind\":\"holder\",\"address\":\"../etc\",\"pid\":5,\"command\":\"a\\nb\\u001b[2J\"}\n" END(
		  "\"Held\",\"reason\":\"not a reason\",\"step\":\"x y\",\"errno\":\"E BUSY\",\"message\":"
		  "\"one\\ntwo\""),
	  0, ERR_NONE, "", "Held Held holder='process 5 (a\\x0ab\\x1b[2J)' pid=5: one\\x0atwo" },
	{ "numbers below nothing are nothing", END("\"Done\",\"kernelMicros\":-1,\"micros\":-9"), 0,
	  ERR_NONE, "", "Done -: " },
};

SUITE_CLOSING(task_lines, struct task_lines, task_lines_done);

static void lines_come_to_an_outcome(void **state)
{
	const struct line_case *c = suite_row(state);
	struct task_lines *lines = *state;
	struct task_outcome outcome;
	struct err err = { 0 };

	take(lines, c->lines);
	if (c->result < 0)
		err_set(&err, c->kind, c->result, "%s", c->says);
	task_lines_end(lines, "bind", c->result, &err, &outcome);
	if (c->outcome) {
		auto_free char *text = outcome_text(&outcome);

		assert_string_equal(text, c->outcome);
	} else {
		assert_int_equal(outcome.result, TASK_FAILED);
		assert_non_null(strstr(outcome.message, "it printed a line that cannot be read ("));
		assert_null(strstr(outcome.message, "kind"));
	}
	task_outcome_done(&outcome);
}

static void the_step_is_known_at_once(void **state)
{
	struct task_lines *lines = *state;

	assert_null(lines->step);
	take(lines, STEP("CheckHolders"));
	assert_string_equal(lines->step, "CheckHolders");
	take(lines, "{\"kind\":\"step\",\"step\":\"LoadModule\"}");
	assert_string_equal(lines->step, "LoadModule");
	assert_null(lines->address);
}

static void a_copy_is_whole_and_its_own(void **state)
{
	struct task_lines *lines = *state;
	struct task_outcome outcome;
	struct task_outcome copy;
	auto_free char *one = NULL;
	auto_free char *two = NULL;

	take(lines, HOLDER("0", QEMU));
	take(lines, END("\"Failed\",\"reason\":\"NativeBindFailed\",\"errno\":\"EIO\",\"step\":"
			"\"Bind\",\"uuid\":\"u1\",\"kernelMicros\":3,\"micros\":4"));
	task_lines_end(lines, "bind", 0, NULL, &outcome);
	one = outcome_text(&outcome);
	task_outcome_copy(&copy, &outcome);
	task_outcome_done(&outcome);
	two = outcome_text(&copy);
	assert_string_equal(one, two);
	assert_string_equal(copy.uuid, "u1");
	task_outcome_done(&copy);
}

/* The sizes of what a helper prints have no end; those of an outcome have. */
static void an_outcome_is_bounded(void **state)
{
	struct task_lines *lines = *state;
	struct task_outcome outcome;
	auto_free char *long_text = xcalloc(1, 50001);
	auto_free char *end = NULL;

	memset(long_text, 'x', 50000);
	for (unsigned i = 0; i < 20000; i++) {
		auto_free char *text = xasprintf(HOLDER("0", "\"pid\":%u"), i + 1);

		take(lines, text);
	}
	end = xasprintf("{\"kind\":\"end\",\"result\":\"Held\",\"message\":\"%s\"}", long_text);
	take(lines, end);
	task_lines_end(lines, "bind", 0, NULL, &outcome);
	assert_string_equal(outcome.holder, "process 1 and 255 more");
	assert_int_equal(strlen(outcome.message), 1024);
	task_outcome_done(&outcome);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &task_lines_fixture);
	suite_rows(&suite, cases, lines_come_to_an_outcome);
	suite_add(&suite, "the step under way is known at once", the_step_is_known_at_once, NULL);
	suite_add(&suite, "an outcome is bounded, whatever is printed", an_outcome_is_bounded,
		  NULL);
	suite_add(&suite, "a copy of an outcome is whole, and its own", a_copy_is_whole_and_its_own,
		  NULL);
	return suite_run(&suite, "task_outcome");
}
