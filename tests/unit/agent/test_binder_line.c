/* binder_line: whatever a helper prints, and however it ends, there is one outcome that can be shown. */
#include "agent/binder/binder_line.h"

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
static char *outcome_text(const struct binder_outcome *o)
{
	struct str out = STR_INIT;

	str_addf(&out, "%s %s", binder_result_text(o->result), o->reason ? o->reason : "-");
	add_text(&out, "step", o->step);
	add_text(&out, "at", o->address);
	add_text(&out, "errno", o->error_name);
	add_text(&out, "holder", o->holder);
	if (o->holder_pid)
		str_addf(&out, " pid=%d", o->holder_pid);
	if (o->kernel_us || o->helper_us)
		str_addf(&out, " us=%d/%d", (int)o->kernel_us, (int)o->helper_us);
	for (size_t i = 0; i < o->seen.len; i++)
		str_addf(&out, " %s=%s/%s", o->seen.items[i].address,
			 o->seen.items[i].driver ? o->seen.items[i].driver : "-",
			 o->seen.items[i].override ? o->seen.items[i].override : "-");
	str_addf(&out, ": %s", o->message);
	return str_detach(&out);
}

static void take(struct binder_lines *lines, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		binder_lines_take(lines, text, len);
		text += len + (text[len] == '\n');
	}
}

#define STEP(step)       "{\"kind\":\"step\",\"address\":\"0000:01:00.0\",\"step\":\"" step "\"}\n"
#define HOLDER(at, rest) "{\"kind\":\"holder\",\"address\":\"0000:01:00." at "\"," rest "}\n"
#define QEMU                                                                             \
	"\"pid\":123,\"command\":\"qemu-system-x86\",\"pod\":\"default/vm\",\"detail\":" \
	"\"process 123 (qemu-system-x86) has /dev/vfio/12 open\""
#define END(rest) "{\"kind\":\"end\",\"result\":" rest "}\n"
#define GENERAL   "; what it said on standard error is in the log of the agent"

static struct line_case {
	const char *name;
	const char *lines;
	int result; /* of helper_run */
	enum err_kind kind;
	const char *says;
	const char *outcome;
} cases[] = {
	{ "what is done has no reason, and neither step nor place",
	  STEP("Unbind") STEP(
		  "Probe") "{\"kind\":\"function\",\"address\":\"0000:01:00.0\",\"driver\":\"vfio-pci\","
			   "\"override\":\"vfio-pci\"}\n"
			   "{\"kind\":\"function\",\"address\":\"0000:01:00.1\"}\n" END(
				   "\"Done\",\"kernelMicros\":5312,\"micros\":7020"),
	  0, ERR_NONE, "",
	  "Done - us=5312/7020 0000:01:00.0=vfio-pci/vfio-pci 0000:01:00.1=-/-: " },
	{ "a failure says what the kernel said, and where",
	  STEP("Unbind") END(
		  "\"Failed\",\"reason\":\"UnbindFailed\",\"address\":\"0000:01:00.1\",\"step\":"
		  "\"Unbind\",\"errno\":\"EBUSY\",\"message\":\"it is busy\",\"kernelMicros\":1,"
		  "\"micros\":2"),
	  -EPIPE, ERR_RETRY, "helper exited with status 1",
	  "Failed UnbindFailed step='Unbind' at='0000:01:00.1' errno='EBUSY' us=1/2: it is busy" },
	{ "a failure without a place is where the last step was", STEP("Probe") END("\"Failed\""),
	  0, ERR_NONE, "", "Failed HelperFailed step='Probe' at='0000:01:00.0': " },
	{ "a failure of a step that is of no function is of none",
	  STEP("Unbind") END("\"Failed\",\"reason\":\"DriverMissing\",\"step\":\"LoadModule\""), 0,
	  ERR_NONE, "", "Failed DriverMissing step='LoadModule': " },
	{ "a refusal that names no step is of none",
	  STEP("WaitLock") END("\"Refused\",\"reason\":\"DeviceGone\""), 0, ERR_NONE, "",
	  "Refused DeviceGone: " },
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
	  "Held Held holder='a process that cannot be seen': a function of the group is held by a "
	  "process that cannot be seen" },
	{ "what is done names nobody, whoever was seen", HOLDER("0", QEMU) END("\"Done\""), 0,
	  ERR_NONE, "", "Done -: " },
	{ "a group that another helper moves names that helper",
	  STEP("WaitLock") END("\"Busy\",\"pid\":77,\"message\":\"busy\""), 0, ERR_NONE, "",
	  "Busy Busy step='WaitLock' at='0000:01:00.0' pid=77: another hostdev-helper (pid 77) moves "
	  "the IOMMU group" },
	{ "a helper that was killed has failed where it was", STEP("SetOverride") STEP("Unbind"),
	  -EPIPE, ERR_RETRY, "helper was ended by signal 9 (Killed)",
	  "Failed HelperFailed step='Unbind' at='0000:01:00.0': hostdev-helper bind in step Unbind "
	  "of 0000:01:00.0: helper was ended by signal 9 (Killed)" GENERAL },
	{ "who was seen before a helper was killed is not to blame", HOLDER("0", QEMU), -EPIPE,
	  ERR_RETRY, "helper was ended by signal 9 (Killed)",
	  "Failed HelperFailed: hostdev-helper bind: helper was ended by signal 9 (Killed)" GENERAL },
	{ "a helper that says nothing has failed, whatever its status", "", 0, ERR_NONE, "",
	  "Failed HelperFailed: hostdev-helper bind: helper ended without a result" GENERAL },
	{ "a result is believed, whatever the status", END("\"Done\""), -EPIPE, ERR_RETRY,
	  "helper was ended by signal 11", "Done -: " },
	{ "lines that cannot be read are passed over",
	  "garbage\n[1]\n{}\n{\"kind\":7}\n" END("\"Done\""), 0, ERR_NONE, "", "Done -: " },
	{ "without a result, the first of them is told", "nonsense\n{\"kind\":7}\n", 0, ERR_NONE,
	  "", NULL },
	{ "a result that is not known is none", END("\"Perhaps\""), 0, ERR_NONE, "",
	  "Failed HelperFailed: hostdev-helper bind: helper ended without a result; it printed the "
	  "result 'Perhaps', which is not known" GENERAL },
	{ "no helper can say that it is stuck", END("\"Stuck\""), 0, ERR_NONE, "",
	  "Failed HelperFailed: hostdev-helper bind: helper ended without a result; it printed the "
	  "result 'Stuck', which is not known" GENERAL },
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
	{ "a stuck helper waits where it said last", STEP("SetOverride") STEP("Unbind"), -ETIMEDOUT,
	  ERR_STUCK, "",
	  "Stuck Stuck step='Unbind' at='0000:01:00.0' pid=42: hostdev-helper (pid 42) waits in step "
	  "Unbind of 0000:01:00.0 for 7 s; nothing else is started for its IOMMU group until it ends: "
	  "free the device from what uses it, or see the kernel's log for its driver" },
	{ "a stuck helper may have said nothing yet", "", -ETIMEDOUT, ERR_STUCK, "",
	  "Stuck Stuck pid=42: hostdev-helper (pid 42) waits for 7 s; nothing else is started for its "
	  "IOMMU group until it ends: free the device from what uses it, or see the kernel's log for "
	  "its driver" },
};

SUITE_CLOSING(binder_lines, struct binder_lines, binder_lines_done);
SUITE_CLOSING(binder_outcome, struct binder_outcome, binder_outcome_done);

static void lines_come_to_an_outcome(void **state)
{
	const struct line_case *c = suite_row(state);
	struct binder_lines *lines = *state;
	struct binder_outcome outcome;
	struct err err = { 0 };

	binder_lines_init(lines, BINDER_BIND);
	take(lines, c->lines);
	if (c->result < 0)
		err_set(&err, c->kind, c->result, "%s", c->says);
	binder_lines_end(lines, 42, 7099, c->result, &err, &outcome);
	assert_int_equal(outcome.took_ms, 7099);
	assert_int_equal(outcome.lines.len, 0);
	if (c->outcome) {
		auto_free char *text = outcome_text(&outcome);

		assert_string_equal(text, c->outcome);
	} else {
		assert_int_equal(outcome.result, BINDER_FAILED);
		assert_non_null(strstr(outcome.message, "it printed a line that cannot be read ("));
		assert_null(strstr(outcome.message, "kind"));
	}
	binder_outcome_done(&outcome);
}

static void the_step_is_known_at_once(void **state)
{
	struct binder_lines *lines = *state;

	binder_lines_init(lines, BINDER_RELEASE);
	assert_null(lines->step);
	take(lines, STEP("CheckHolders"));
	assert_string_equal(lines->step, "CheckHolders");
	take(lines, "{\"kind\":\"step\",\"step\":\"LoadModule\"}");
	assert_string_equal(lines->step, "LoadModule");
	assert_null(lines->address);
}

static void a_plan_keeps_its_lines(void **state)
{
	struct binder_lines lines;
	struct binder_outcome outcome;
	struct binder_outcome *copy = *state;

	binder_lines_init(&lines, BINDER_PLAN_RELEASE);
	take(&lines, STEP("Unbind") "no line\n" HOLDER("0", QEMU) END("\"Held\""));
	binder_lines_end(&lines, 1, 2, 0, NULL, &outcome);
	binder_lines_done(&lines);
	assert_int_equal(outcome.lines.len, 3);
	assert_string_equal(outcome.lines.items[2], "{\"kind\":\"end\",\"result\":\"Held\"}");
	binder_outcome_copy(copy, &outcome);
	{
		auto_free char *one = outcome_text(&outcome);
		auto_free char *two = outcome_text(copy);

		assert_string_equal(one, two);
	}
	binder_outcome_done(&outcome);
	assert_int_equal(copy->lines.len, 3);
}

static void a_copy_is_whole_and_its_own(void **state)
{
	struct binder_lines lines;
	struct binder_outcome outcome;
	struct binder_outcome *copy = *state;
	auto_free char *one = NULL;

	binder_lines_init(&lines, BINDER_RELEASE);
	take(&lines,
	     HOLDER("0", QEMU) "{\"kind\":\"function\",\"address\":\"0000:01:00.0\",\"driver\":"
			       "\"e1000e\"}\n");
	take(&lines, END("\"Failed\",\"reason\":\"NativeBindFailed\",\"errno\":\"EIO\",\"step\":"
			 "\"Bind\",\"kernelMicros\":3,\"micros\":4"));
	binder_lines_end(&lines, 1, 2, 0, NULL, &outcome);
	binder_lines_done(&lines);
	one = outcome_text(&outcome);
	binder_outcome_copy(copy, &outcome);
	binder_outcome_done(&outcome);
	assert_int_equal(outcome.seen.len, 0);
	{
		auto_free char *two = outcome_text(copy);

		assert_string_equal(one, two);
		assert_non_null(strstr(two, "0000:01:00.0=e1000e/-"));
	}
	assert_int_equal(copy->took_ms, 2);
}

/* The sizes of what a helper prints have no end; those of an outcome have. */
static void an_outcome_is_bounded(void **state)
{
	struct binder_lines *lines = *state;
	struct binder_outcome outcome;
	auto_free char *long_text = xcalloc(1, 50001);
	auto_free char *end = NULL;

	memset(long_text, 'x', 50000);
	binder_lines_init(lines, BINDER_PLAN_BIND);
	for (unsigned i = 0; i < 20000; i++) {
		auto_free char *text =
			xasprintf(HOLDER("0", "\"pid\":%u") "{\"kind\":\"function\",\"address\":"
							    "\"%04x:01:00.0\"}\n",
				  i + 1, i);

		take(lines, text);
	}
	end = xasprintf("{\"kind\":\"end\",\"result\":\"Held\",\"message\":\"%s\"}", long_text);
	take(lines, end);
	binder_lines_end(lines, 1, 2, 0, NULL, &outcome);
	assert_int_equal(outcome.seen.len, BINDER_FUNCTIONS_MAX);
	assert_int_equal(outcome.lines.len, 8192);
	assert_string_equal(outcome.holder, "process 1 and 255 more");
	assert_int_equal(strlen(outcome.message), 1024);
	binder_outcome_done(&outcome);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &binder_lines_fixture);
	suite_rows(&suite, cases, lines_come_to_an_outcome);
	suite_add(&suite, "the step under way is known at once", the_step_is_known_at_once, NULL);
	suite_add(&suite, "an outcome is bounded, whatever is printed", an_outcome_is_bounded,
		  NULL);
	suite_fixture(&suite, &binder_outcome_fixture);
	suite_add(&suite, "a plan keeps the lines that can be read", a_plan_keeps_its_lines, NULL);
	suite_add(&suite, "a copy of an outcome is whole, and its own", a_copy_is_whole_and_its_own,
		  NULL);
	return suite_run(&suite, "binder_line");
}
