/* gpu_task: a script in the place of hostdev-helper and of the vendor's commands. */
#include "agent/gpu/gpu_task.h"

#include <string.h>

#include "agent/inventory/inventory.h"
#include "api/meta.h"
#include "base/log.h"
#include "fake/fake_clock.h"
#include "unit/agent/fake_helper.h"
#include "unit/gpu/smi_texts.h"
#include "unit/this_node.h"

#define KEY   "node1-000008000"
#define PF    "0000:08:00.0"
#define OTHER "0000:09:00.0"
#define CALLS "echo \"$*\" >>$here/calls\n"
#define DONE  "echo '{\"kind\":\"end\",\"result\":\"Done\"}'\n"
#define KIND  GPU_KIND_VGPU

enum { LOOK_AGE_MS = 100 };

struct scene {
	struct fake_helper fake;
	struct fake_clock *clock;
	struct inventory inventory; /* but for when its scan began, nothing of it is read */
	struct this_node node;
	struct gpu_tasks *tasks;
	struct api_meta meta;
	int ended, gone;
	bool was_act;
};

static void on_end(void *arg, enum gpu_kind kind, const char *key, const char *card, bool is_act)
{
	struct scene *s = arg;

	assert_int_equal(kind, KIND);
	assert_string_equal(key, KEY);
	assert_non_null(card);
	s->was_act = is_act;
	s->ended++;
	uv_stop(&s->fake.loop);
}

static void on_gone(void *arg, const char *card)
{
	struct scene *s = arg;

	assert_string_equal(card, PF);
	assert_false(gpu_tasks_is_busy(s->tasks, card));
	s->gone++;
	uv_stop(&s->fake.loop);
}

static void open_scene(struct scene *s, const char *body)
{
	*s = (struct scene){ .clock = fake_clock_new(), .meta = { .generation = 1 } };
	fake_helper_init(&s->fake, body);
	s->node = this_node_of(NULL, fake_clock_as_clock(s->clock), NULL);
	s->node.loop = &s->fake.loop;
	s->node.helper.path = s->fake.path;
	s->node.inventory = &s->inventory;
	s->tasks = gpu_tasks_new(
		&s->node,
		&(struct gpu_options){ .sriov_manage = s->fake.path,
				       .nvidia_smi = s->fake.path,
				       .deadline_ms = AMPLE_MS },
		&(struct gpu_tasks_deps){ .on_end = on_end, .on_gone = on_gone, .arg = s });
}

static void close_scene(struct scene *s)
{
	assert_null(gpu_tasks_free(s->tasks));
	fake_helper_done(&s->fake);
	fake_clock_free(s->clock);
}

SUITE_CLOSING(scene, struct scene, close_scene);

static const struct gpu_act set = {
	.verb = GPU_SET_TYPE, .address = "0000:08:00.4", .card = PF, .type = "5"
};
static const struct gpu_act enable = { .verb = GPU_ENABLE_VFS, .address = PF, .card = PF };
static const struct gpu_act create = { .verb = GPU_MIG_CREATE, .address = PF, .card = PF };

static struct gpu_past past(const struct scene *s)
{
	struct gpu_past past;

	gpu_tasks_past(s->tasks, KIND, KEY, &s->meta, PF, &past);
	return past;
}

static struct gpu_said said(const struct scene *s)
{
	struct gpu_said said;

	gpu_tasks_said(s->tasks, PF, LOOK_AGE_MS, &said);
	return said;
}

/* The node is scanned, @ms from now. */
static void scan(struct scene *s, uint64_t ms)
{
	fake_clock_advance(s->clock, ms);
	s->inventory.began_ms = clock_now_ms(fake_clock_as_clock(s->clock));
}

static void start(struct scene *s, const struct gpu_act *act)
{
	assert_true(gpu_tasks_act(s->tasks, KIND, KEY, &s->meta, act));
	assert_true(gpu_tasks_is_busy(s->tasks, act->card));
}

static void run(struct scene *s, const struct gpu_act *act)
{
	int before = s->ended;

	start(s, act);
	assert_int_equal(s->ended, before);
	uv_run(&s->fake.loop, UV_RUN_DEFAULT);
	assert_int_equal(s->ended, before + 1);
	assert_true(s->was_act);
}

static void acts_are_run(void **state)
{
	auto_free char *calls = NULL;
	struct scene *s = *state;

	open_scene(s, CALLS "[ $1 = vgpu-set ] && " DONE);
	run(s, &set);
	assert_false(past(s).failed);
	assert_false(gpu_tasks_is_busy(s->tasks, PF));
	fake_helper_does(&s->fake, CALLS "echo no; exit 3");
	run(s, &enable);
	assert_true(past(s).failed);
	assert_string_equal(past(s).reason, "ToolFailed");
	calls = fake_helper_wrote(&s->fake, "calls");
	assert_string_equal(calls, "vgpu-set address=0000:08:00.4 type=5\n-e " PF "\n");
}

static struct reason_case {
	const char *name;
	enum gpu_verb verb;
	const char *result; /* and reason of the helper */
	const char *reason; /* of the condition */
} reasons[] = {
	{ "held", GPU_SET_TYPE, "Held\",\"reason\":\"Held", "InUse" },
	{ "busy", GPU_SET_TYPE, "Busy\",\"reason\":\"Busy", "Applying" },
	{ "a type that was refused", GPU_SET_TYPE, "Refused\",\"reason\":\"NotVirtualFunction",
	  "WriteFailed" },
	{ "a mediated device that was not made", GPU_MAKE_MDEV,
	  "Failed\",\"reason\":\"CreateFailed", "WriteFailed" },
	{ "virtual functions that were not made", GPU_ENABLE_VFS,
	  "Failed\",\"reason\":\"NumVFsFailed", "NoEffect" },
	{ "a failure without a reason", GPU_SET_TYPE, "Failed", "HelperFailed" },
};

/* Conditions have the reasons that the kinds' schemas explain. */
static void reason_is_the_schemas(void **state)
{
	const struct reason_case *c = suite_row(state);
	const struct gpu_act act = { .verb = c->verb, .address = PF, .card = PF };
	auto_free char *body = xasprintf(
		"echo '{\"kind\":\"end\",\"message\":\"no\",\"result\":\"%s\"}'", c->result);
	struct scene *s = *state;

	open_scene(s, body);
	gpu_tasks_free(s->tasks);
	s->tasks = gpu_tasks_new(
		&s->node, &(struct gpu_options){ .deadline_ms = AMPLE_MS },
		&(struct gpu_tasks_deps){ .on_end = on_end, .on_gone = on_gone, .arg = s });
	run(s, &act);
	assert_true(past(s).failed);
	assert_string_equal(past(s).reason, c->reason);
	assert_string_equal(past(s).message, "no");
}

static void an_act_counts_until_a_newer_scan(void **state)
{
	struct scene *s = *state;

	open_scene(s, DONE);
	assert_null(past(s).act);
	start(s, &set);
	scan(s, 1);
	assert_true(past(s).newer);
	uv_run(&s->fake.loop, UV_RUN_DEFAULT);
	assert_true(past(s).newer);
	assert_true(gpu_act_same(past(s).act, &set));
	scan(s, 1);
	assert_false(past(s).newer);
}

/* What nvidia-smi does no scan shows. */
static void an_act_of_nvidia_smi_ends_with_itself(void **state)
{
	struct scene *s = *state;

	open_scene(s, "exit 0");
	start(s, &create);
	assert_true(past(s).newer);
	uv_run(&s->fake.loop, UV_RUN_DEFAULT);
	assert_false(past(s).newer);
}

/* And not only of the object that it was for. */
static void what_was_scanned_before_an_act_ended_is_outdated(void **state)
{
	struct scene *s = *state;
	struct gpu_past seen;

	open_scene(s, DONE);
	run(s, &set);
	gpu_tasks_past(s->tasks, GPU_KIND_CARD, KEY, NULL, PF, &seen);
	assert_null(seen.act);
	assert_true(seen.newer);
	gpu_tasks_past(s->tasks, GPU_KIND_CARD, KEY, NULL, OTHER, &seen);
	assert_false(seen.newer);
	scan(s, 1);
	gpu_tasks_past(s->tasks, GPU_KIND_CARD, KEY, NULL, PF, &seen);
	assert_false(seen.newer);
}

static void failures_are_spaced(void **state)
{
	static const uint64_t pauses[] = { 5000,   10000,  20000,  40000, 80000,
					   160000, 320000, 640000, 640000 };
	struct scene *s = *state;
	struct gpu_past seen;

	open_scene(s, "exit 1");
	for (size_t i = 0; i < ARRAY_LEN(pauses); i++) {
		run(s, &set);
		seen = past(s);
		assert_int_equal(seen.wait_ms, pauses[i]);
		assert_true(gpu_past_holds(&seen, &set));
		/* Another act is not what failed, nor is the same of another spec. */
		assert_false(gpu_past_holds(&seen, &create));
		s->meta.generation = 2;
		assert_int_equal(past(s).wait_ms, 0);
		assert_true(past(s).failed);
		s->meta.generation = 1;
		fake_clock_advance(s->clock, pauses[i]);
		assert_int_equal(past(s).wait_ms, 0);
	}
	run(s, &enable);
	assert_int_equal(past(s).wait_ms, 5000);
}

static void who_is_in_the_way_is_asked_soon_again(void **state)
{
	struct scene *s = *state;

	open_scene(s, "echo '{\"kind\":\"end\",\"result\":\"Held\",\"message\":\"qemu\"}'");
	for (int i = 0; i < 4; i++) {
		run(s, &set);
		assert_int_equal(past(s).wait_ms, 5000);
	}
	fake_helper_does(&s->fake,
			 "echo '{\"kind\":\"end\",\"result\":\"Busy\",\"message\":\"it\"}'");
	for (int i = 0; i < 4; i++) {
		run(s, &set);
		assert_int_equal(past(s).wait_ms, 5000);
	}
}

static void what_is_under_way_is_not_forgotten(void **state)
{
	struct scene *s = *state;

	open_scene(s, DONE);
	start(s, &set);
	gpu_tasks_forget(s->tasks, KIND, KEY);
	assert_non_null(past(s).act);
	uv_run(&s->fake.loop, UV_RUN_DEFAULT);
	gpu_tasks_forget(s->tasks, KIND, KEY);
	assert_null(past(s).act);
}

static void a_command_that_is_not_there_is_told(void **state)
{
	struct scene *s = *state;

	open_scene(s, "");
	assert_int_equal(unlink(s->fake.path), 0);
	assert_false(gpu_tasks_act(s->tasks, KIND, KEY, &s->meta, &enable));
	assert_string_equal(past(s).reason, "ToolMissing");
	assert_non_null(strstr(past(s).message, s->fake.path));
	assert_int_equal(past(s).wait_ms, 5000);
	assert_false(gpu_tasks_is_busy(s->tasks, PF));
	assert_false(gpu_tasks_look(s->tasks, KIND, KEY, PF));
	assert_string_equal(said(s).reason, "ToolMissing");
	assert_false(gpu_tasks_is_busy(s->tasks, PF));
	assert_int_equal(s->ended, 0);
}

/* Until the script has begun, and then until its deadlines have passed. */
static void run_until_stuck(struct scene *s)
{
	for (;;) {
		auto_free char *calls = fake_helper_wrote(&s->fake, "calls");

		if (*calls)
			break;
		uv_run(&s->fake.loop, UV_RUN_NOWAIT);
		(void)usleep(1000);
	}
	while (!s->ended)
		fake_helper_pass_look(&s->fake, &s->ended);
	assert_int_equal(s->ended, 1);
	assert_true(gpu_tasks_is_busy(s->tasks, PF));
	assert_non_null(strstr(past(s).stuck, "does not end: it waits for the driver of " PF));
}

static void a_child_that_does_not_end_keeps_its_card_alone(void **state)
{
	static const struct gpu_act other = { .verb = GPU_DISABLE_VFS,
					      .address = OTHER,
					      .card = OTHER };
	struct scene *s = *state;
	struct gpu_past seen;

	open_scene(s, CALLS "[ $2 = " PF " ] && read x <$gate; exit 0");
	start(s, &enable);
	run_until_stuck(s);
	/* Another card goes on. */
	gpu_tasks_past(s->tasks, KIND, KEY, &s->meta, OTHER, &seen);
	assert_null(seen.stuck);
	run(s, &other);
	assert_false(past(s).failed);
	/* Once it ends its card is free again, and what it has done is not known before a scan. */
	scan(s, 1);
	assert_false(past(s).newer);
	fake_helper_open_gate(&s->fake);
	uv_run(&s->fake.loop, UV_RUN_DEFAULT);
	assert_int_equal(s->gone, 1);
	assert_null(past(s).stuck);
	assert_true(past(s).newer);
	run(s, &enable);
	assert_false(past(s).failed);
}

/* It is not known whether it was done: it is tried again, at once. */
static void what_was_stuck_has_failed(void **state)
{
	struct scene *s = *state;

	open_scene(s, CALLS "read x <$gate; exit 0");
	start(s, &create);
	run_until_stuck(s);
	fake_helper_open_gate(&s->fake);
	uv_run(&s->fake.loop, UV_RUN_DEFAULT);
	assert_int_equal(s->gone, 1);
	assert_true(past(s).failed);
	assert_int_equal(past(s).wait_ms, 0);
}

static void a_look_that_does_not_end_is_told(void **state)
{
	struct scene *s = *state;

	open_scene(s, CALLS "read x <$gate; exit 0");
	assert_true(gpu_tasks_look(s->tasks, KIND, KEY, PF));
	run_until_stuck(s);
	assert_false(s->was_act);
	assert_string_equal(said(s).reason, "Stuck");
	assert_non_null(strstr(said(s).trouble, "does not end"));
	fake_helper_open_gate(&s->fake);
	uv_run(&s->fake.loop, UV_RUN_DEFAULT);
	assert_int_equal(s->gone, 1);
	assert_null(said(s).reason);
}

static void who_leaves_hears_nothing(void **state)
{
	struct scene s;

	(void)state;
	open_scene(&s, "read x <$gate");
	start(&s, &set);
	uv_run(&s.fake.loop, UV_RUN_NOWAIT);
	close_scene(&s);
	assert_int_equal(s.ended, 0);
}

static void ask(struct scene *s)
{
	int before = s->ended;

	assert_true(gpu_tasks_look(s->tasks, KIND, KEY, PF));
	assert_null(said(s).look);
	uv_run(&s->fake.loop, UV_RUN_DEFAULT);
	assert_int_equal(s->ended, before + 1);
	assert_false(s->was_act);
	assert_false(gpu_tasks_is_busy(s->tasks, PF));
}

#define ANSWER(word, file) "case \"$*\" in *" word "*) cat $here/" file "; exit 0;; esac\n"

static void nvidia_smi_is_asked_one_thing_after_the_other(void **state)
{
	auto_free char *calls = NULL;
	struct scene *s = *state;

	open_scene(s,
		   CALLS ANSWER("query", "mode") ANSWER("lgip", "lgip")
			   ANSWER("lgi", "lgi") "echo '"
						"No compute instances found: Not Found'; exit 6");
	folder_put(&s->fake.folder, "mode", "Enabled\n");
	folder_put(&s->fake.folder, "lgip", SMI_A100_PROFILES);
	folder_put(&s->fake.folder, "lgi", SMI_A100_INSTANCES);
	ask(s);
	assert_null(said(s).reason);
	assert_int_equal(said(s).look->mode, SMI_MODE_ENABLED);
	assert_int_equal(said(s).look->profiles.len, 6);
	assert_int_equal(said(s).look->instances.len, 2);
	assert_int_equal(said(s).look->computes.len, 0);
	/* A card without MIG is asked nothing more. */
	folder_put(&s->fake.folder, "mode", "[N/A]\n");
	folder_put(&s->fake.folder, "calls", "");
	ask(s);
	assert_int_equal(said(s).look->mode, SMI_MODE_NONE);
	calls = fake_helper_wrote(&s->fake, "calls");
	assert_string_equal(calls,
			    "-i " PF " --query-gpu=mig.mode.current --format=csv,noheader\n");
}

static struct failure_case {
	const char *name;
	const char *body;
	const char *reason;
	const char *says;
} failures[] = {
	{ "an answer that says nothing", "echo Enabled Disabled", "ToolFailed",
	  "'Enabled Disabled'" },
	{ "an error without a word", "exit 9", "ToolFailed", "status 9" },
	{ "an error with words", "echo 'No devices were found'; exit 6", "ToolFailed",
	  "No devices were found" },
	{ "a program that is none", "kill -9 $$", "ToolFailed", "signal 9" },
};

static void a_look_fails(void **state)
{
	const struct failure_case *c = suite_row(state);
	struct scene *s = *state;

	open_scene(s, c->body);
	ask(s);
	assert_null(said(s).look);
	assert_string_equal(said(s).reason, c->reason);
	assert_non_null(strstr(said(s).trouble, c->says));
}

static void an_endless_answer_is_cut(void **state)
{
	struct scene *s = *state;

	open_scene(s, "i=0; while [ $i -lt 20000 ]; do echo "
		      "'|   0  MIG 1g.5gb  19  7/7  4.75  No  14  0  0  padding padding |'; "
		      "i=$((i + 1)); done");
	ask(s);
	assert_null(said(s).look);
	assert_string_equal(said(s).reason, "ToolFailed");
}

static void answers_grow_old(void **state)
{
	struct scene *s = *state;

	open_scene(s, "echo '[N/A]'");
	assert_null(said(s).look);
	assert_null(said(s).reason);
	ask(s);
	fake_clock_advance(s->clock, LOOK_AGE_MS - 1);
	assert_non_null(said(s).look);
	fake_clock_advance(s->clock, 1);
	assert_null(said(s).look);
	ask(s);
	assert_non_null(said(s).look);
	/* What changes the card makes it old at once. */
	run(s, &create);
	assert_null(said(s).look);
	assert_null(said(s).reason);
}

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	suite_add(&suite, "who leaves hears nothing", who_leaves_hears_nothing, NULL);
	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "acts are run by the helper, and by the vendor's command", acts_are_run,
		  NULL);
	suite_rows(&suite, reasons, reason_is_the_schemas);
	suite_add(&suite, "an act counts until a newer scan", an_act_counts_until_a_newer_scan,
		  NULL);
	suite_add(&suite, "an act of nvidia-smi ends with itself",
		  an_act_of_nvidia_smi_ends_with_itself, NULL);
	suite_add(&suite, "what was scanned before an act ended is outdated",
		  what_was_scanned_before_an_act_ended_is_outdated, NULL);
	suite_add(&suite, "failures are spaced", failures_are_spaced, NULL);
	suite_add(&suite, "who is in the way is asked soon again",
		  who_is_in_the_way_is_asked_soon_again, NULL);
	suite_add(&suite, "what is under way is not forgotten", what_is_under_way_is_not_forgotten,
		  NULL);
	suite_add(&suite, "a command that is not there is told",
		  a_command_that_is_not_there_is_told, NULL);
	suite_add(&suite, "a child that does not end keeps its card, and no other",
		  a_child_that_does_not_end_keeps_its_card_alone, NULL);
	suite_add(&suite, "what was stuck has failed", what_was_stuck_has_failed, NULL);
	suite_add(&suite, "a look that does not end is told", a_look_that_does_not_end_is_told,
		  NULL);
	suite_add(&suite, "answers grow old", answers_grow_old, NULL);
	suite_add(&suite, "nvidia-smi is asked one thing after the other",
		  nvidia_smi_is_asked_one_thing_after_the_other, NULL);
	suite_rows(&suite, failures, a_look_fails);
	suite_add(&suite, "an endless answer is cut", an_endless_answer_is_cut, NULL);
	return suite_run(&suite, "gpu_task");
}
