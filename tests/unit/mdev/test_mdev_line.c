/* What the helper says, put together, and how a parent fares by it. */
#include "agent/mdev/mdev_line.h"

#include <errno.h>
#include <string.h>

#include "agent/mdev/mdev_fare.h"
#include "agent/mdev/mdev_plan.h"
#include "base/err.h"
#include "base/str.h"
#include "unit/suite.h"

#define STEP      "{\"kind\":\"step\",\"uuid\":\"u1\",\"step\":\"Create\"}"
#define MADE      "{\"kind\":\"done\",\"uuid\":\"u1\"}"
#define END(rest) "{\"kind\":\"end\"," rest "}"

/* clang-format off */
static struct line_case {
	const char *name;
	const char *lines[6];
	enum err_kind fails; /* of the helper; ERR_NONE: it exits with 0 */
	const char *outcome;
} cases[] = {
	{ "all done", { STEP, MADE, MADE, END("\"result\":\"Done\"") }, ERR_NONE, "done 2" },
	{ "one failed", { STEP, MADE, END("\"result\":\"Failed\",\"reason\":\"CreateFailed\",\"uuid\":\"u2\",\"message\":\"no\"") },
	  ERR_NONE, "CreateFailed 1 u2: no" },
	{ "one is held", { END("\"result\":\"Held\",\"reason\":\"Held\",\"uuid\":\"u2\",\"message\":\"qemu\"") }, ERR_NONE,
	  "held Held 0 u2: qemu" },
	{ "the first end counts", { END("\"result\":\"Done\""), END("\"result\":\"Failed\"") }, ERR_NONE, "done 0" },
	{ "an end that says nothing is a failure", { END("\"result\":\"Odd\"") }, ERR_NONE,
	  "HelperFailed 0 : hostdev-helper does not say why" },
	{ "a reason that is no word is dropped", { END("\"result\":\"Failed\",\"reason\":\"no such\\n\",\"message\":\"m\"") }, ERR_NONE,
	  "HelperFailed 0 : m" },
	{ "control characters of a message are shown", { END("\"result\":\"Failed\",\"reason\":\"Odd\",\"message\":\"a\\u001bb\"") },
	  ERR_NONE, "Odd 0 : a\\x1bb" },
	{ "lines that are no JSON are passed over", { "garbage", STEP, MADE, END("\"result\":\"Done\"") }, ERR_NONE, "done 1" },
	{ "no end is a failure", { STEP, MADE }, ERR_NONE,
	  "HelperFailed 1 : hostdev-helper did not finish (Create): it ended without a result" },
	{ "a helper that dies is one", { STEP }, ERR_RETRY, "HelperFailed 0 : hostdev-helper did not finish (Create): died" },
	{ "a helper that could not be started is one", { NULL }, ERR_RETRY,
	  "HelperFailed 0 : hostdev-helper did not finish (no step): died" },
	{ "a helper past its deadline is stuck", { STEP }, ERR_STUCK,
	  "Stuck 0 : hostdev-helper 7 waits for the kernel in step Create; nothing else is done here until it ends" },
	{ "one that told its end and does not exit is not", { END("\"result\":\"Done\"") }, ERR_STUCK, "done 0" },
};
/* clang-format on */

SUITE_CLOSING(mdev_lines, struct mdev_lines, mdev_lines_done);

static void outcome_matches_table(void **state)
{
	const struct line_case *c = suite_row(state);
	struct mdev_lines *lines = *state;
	const struct mdev_outcome *outcome = &lines->outcome;
	struct err err = { .kind = c->fails, .code = -EIO, .msg = "died" };
	auto_free char *text = NULL;

	for (size_t i = 0; i < ARRAY_LEN(c->lines) && c->lines[i]; i++)
		mdev_lines_take(lines, c->lines[i], strlen(c->lines[i]));
	mdev_lines_end(lines, 7, c->fails == ERR_NONE ? 0 : -EIO, &err);
	if (outcome->done)
		text = xasprintf("done %zu", outcome->count);
	else
		text = xasprintf("%s%s %zu %s: %s", outcome->held ? "held " : "", outcome->reason,
				 outcome->count, outcome->uuid ? outcome->uuid : "",
				 outcome->message);
	assert_string_equal(text, c->outcome);
}

static char reason_text[] = "CreateFailed";
static char held_text[] = "Held";
static char message_text[] = "no space";
static char uuid_text[] = "u1";
static char type_text[] = "mtty-1";
static char *uuids[] = { uuid_text };

#define ONE                              \
	{                                \
		.items = uuids, .len = 1 \
	}
#define FAILED                                                                    \
	{                                                                         \
		.reason = reason_text, .message = message_text, .uuid = uuid_text \
	}

static struct fare_case {
	const char *name;
	struct mdev_parent_plan plan;
	bool tried;
	struct mdev_outcome outcome;
	const char *holder;
	const char *fare;
} fares[] = {
	{ "all instances are there",
	  { .state = MDEV_COMPLETE, .type = type_text, .there = 24 },
	  .fare = "yes Configured: all 24 instances of 'mtty-1' exist" },
	{ "some are to be made",
	  { .state = MDEV_INCOMPLETE, .type = type_text, .there = 3, .create = ONE },
	  .fare = "no Creating: 3 instances of 'mtty-1' exist, and 1 are still to be created" },
	{ "the last try at it went wrong",
	  { .state = MDEV_INCOMPLETE, .type = type_text, .create = ONE },
	  true,
	  FAILED,
	  .fare = "no CreateFailed: u1: no space" },
	{ "a try that went wrong is history once there is nothing to do",
	  { .state = MDEV_COMPLETE, .type = type_text, .there = 24 },
	  true,
	  FAILED,
	  .fare = "yes Configured: all 24 instances of 'mtty-1' exist" },
	{ "what a process holds is in use",
	  { .state = MDEV_TO_REMOVE, .remove = ONE },
	  true,
	  { .held = true, .reason = held_text, .message = message_text, .uuid = uuid_text },
	  .fare = "no InUse: u1: no space" },
	{ "what a pod has is in use",
	  { .state = MDEV_IN_USE, .in_use = ONE },
	  .holder = "pod default/vm-1",
	  .fare = "no InUse: 1 instances of a type that the HostDeviceConfig no longer names are in use, and will be removed when they "
		  "are free: u1 by pod default/vm-1" },
	{ "instances are to be removed",
	  { .state = MDEV_TO_REMOVE, .remove = ONE },
	  .fare = "no Removing: 1 instances of a type that the HostDeviceConfig no longer names are to be removed" },
	{ "no type is wanted",
	  { .state = MDEV_UNCONFIGURED },
	  .fare = "no NotConfigured: the HostDeviceConfig names no type of mediated devices for this node" },
	{ "switched off",
	  { .state = MDEV_DISABLED },
	  .fare = "no Disabled: mediatedDevicesConfiguration.enabled is false: hostdev creates and removes nothing" },
	{ "no type fits",
	  { .state = MDEV_NO_TYPE_FITS },
	  .fare = "no NoTypeFits: its driver supports none of the types that the HostDeviceConfig names for this node" },
	{ "none can be made",
	  { .state = MDEV_NOT_DEALT },
	  .fare = "no NoneAvailable: its driver cannot create an instance of the types in the HostDeviceConfig now" },
	{ "somebody else has it",
	  { .state = MDEV_TAKEN },
	  .fare = "no OtherInstances: it has instances of a type that the HostDeviceConfig does not name, and hostdev did not create "
		  "them; remove them, or leave the device to whoever created them" },
};

static void fare_matches_table(void **state)
{
	const struct fare_case *c = *state;
	struct mdev_fare fare = mdev_fare(&c->plan, c->tried ? &c->outcome : NULL, c->holder);
	struct api_condition_value value = mdev_fare_value(&fare);
	auto_free char *text = xasprintf("%s %s: %s", value.status == API_TRUE ? "yes" : "no",
					 value.reason, value.message);

	assert_string_equal(text, c->fare);
	assert_string_equal(value.type, "Configured");
	mdev_fare_done(&fare);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, fares, fare_matches_table);
	suite_fixture(&suite, &mdev_lines_fixture);
	suite_rows(&suite, cases, outcome_matches_table);
	return suite_run(&suite, "mdev_line");
}
