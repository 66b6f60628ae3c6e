/* mdev_plan: the condition Configured of a parent. */
#include "agent/mdev/mdev_plan.h"

#include "agent/task/task_line.h"
#include "base/mem.h"
#include "unit/suite.h"

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
#define FAILED                                                                         \
	{                                                                              \
		.result = TASK_FAILED, .reason = reason_text, .message = message_text, \
		.uuid = uuid_text                                                      \
	}

static struct condition_case {
	const char *name;
	struct mdev_parent_plan plan;
	bool tried;
	struct task_outcome outcome;
	const char *holder;
	const char *stuck;
	const char *trouble;
	const char *want;
} cases[] = {
	{ "all instances are there",
	  { .state = MDEV_COMPLETE, .type = type_text, .there = 24 },
	  .want = "yes Configured: all 24 instances of 'mtty-1' exist" },
	{ "some are to be made",
	  { .state = MDEV_INCOMPLETE, .type = type_text, .there = 3, .create = ONE },
	  .want = "no Creating: 3 instances of 'mtty-1' exist, and 1 are still to be created" },
	{ "the last try at it went wrong",
	  { .state = MDEV_INCOMPLETE, .type = type_text, .create = ONE },
	  true,
	  FAILED,
	  .want = "no CreateFailed: u1: no space" },
	{ "a failure of no device in particular",
	  { .state = MDEV_INCOMPLETE, .type = type_text, .create = ONE },
	  true,
	  { .result = TASK_REFUSED, .reason = reason_text, .message = message_text },
	  .want = "no CreateFailed: no space" },
	{ "a record is not removed",
	  { .state = MDEV_UNCONFIGURED, .forget = ONE },
	  true,
	  { .result = TASK_FAILED, .reason = reason_text, .message = message_text },
	  .want = "no CreateFailed: no space" },
	{ "a helper is stuck",
	  { .state = MDEV_INCOMPLETE, .type = type_text, .create = ONE },
	  .stuck = "hostdev-helper (pid 7) is blocked in step Create",
	  .want = "no Stuck: hostdev-helper (pid 7) is blocked in step Create" },
	{ "a stuck helper keeps a complete parent from nothing",
	  { .state = MDEV_COMPLETE, .type = type_text, .there = 24 },
	  .stuck = "hostdev-helper (pid 7) is blocked in step Create",
	  .want = "yes Configured: all 24 instances of 'mtty-1' exist" },
	{ "a try that went wrong is history once there is nothing to do",
	  { .state = MDEV_COMPLETE, .type = type_text, .there = 24 },
	  true,
	  FAILED,
	  .want = "yes Configured: all 24 instances of 'mtty-1' exist" },
	{ "what a process holds is in use",
	  { .state = MDEV_TO_REMOVE, .remove = ONE },
	  true,
	  { .result = TASK_HELD, .reason = held_text, .message = message_text, .uuid = uuid_text },
	  .want = "no InUse: u1: no space" },
	{ "what a pod has is in use",
	  { .state = MDEV_IN_USE, .in_use = ONE },
	  .holder = "pod default/vm-1",
	  .want = "no InUse: 1 instances of a type that the HostDeviceConfig no longer names are in use, and will be removed when they "
		  "are free: u1 by pod default/vm-1" },
	{ "one that a pod could open is not created",
	  { .state = MDEV_INCOMPLETE, .type = type_text, .create = ONE },
	  .trouble = "a pod could open it",
	  .want = "no Held: a pod could open it" },
	{ "a helper that is stuck counts before that",
	  { .state = MDEV_INCOMPLETE, .type = type_text, .create = ONE },
	  .stuck = "hostdev-helper (pid 7) is blocked in step Create",
	  .trouble = "a pod could open it",
	  .want = "no Stuck: hostdev-helper (pid 7) is blocked in step Create" },
	{ "instances are to be removed",
	  { .state = MDEV_TO_REMOVE, .remove = ONE },
	  .want = "no Removing: 1 instances of a type that the HostDeviceConfig no longer names are to be removed" },
	{ "no type is wanted",
	  { .state = MDEV_UNCONFIGURED },
	  .want = "no NotConfigured: the HostDeviceConfig names no type of mediated devices for this node" },
	{ "switched off",
	  { .state = MDEV_DISABLED },
	  .want = "no Disabled: mediatedDevicesConfiguration.enabled is false: hostdev creates and removes nothing" },
	{ "no type fits",
	  { .state = MDEV_NO_TYPE_FITS },
	  .want = "no NoTypeFits: its driver supports none of the types that the HostDeviceConfig names for this node" },
	{ "none can be made",
	  { .state = MDEV_NOT_DEALT },
	  .want = "no NoneAvailable: its driver cannot create an instance of the types in the HostDeviceConfig now" },
	{ "somebody else has it",
	  { .state = MDEV_TAKEN },
	  .want = "no OtherInstances: it has instances of a type that the HostDeviceConfig does not name, and hostdev did not create "
		  "them; remove them, or leave the device to whoever created them" },
};

static void condition_matches_table(void **state)
{
	const struct condition_case *c = *state;
	const struct mdev_obstacle obstacle = { .stuck = c->stuck,
						.failure = c->tried ? &c->outcome : NULL,
						.holder = c->holder,
						.trouble = c->trouble };
	struct mdev_condition condition;
	auto_free char *text = NULL;

	mdev_condition_make(&c->plan, &obstacle, &condition);
	text = xasprintf("%s %s: %s", condition.configured ? "yes" : "no", condition.reason,
			 condition.message);
	assert_string_equal(text, c->want);
	mdev_condition_done(&condition);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, condition_matches_table);
	return suite_run(&suite, "mdev_condition");
}
