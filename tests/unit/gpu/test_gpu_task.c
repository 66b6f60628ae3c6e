/* gpu_task: a script in the place of hostdev-helper and of the vendor's commands. */
#include "agent/gpu/gpu_task.h"

#include <string.h>

#include "base/log.h"
#include "unit/agent/fake_helper.h"
#include "unit/gpu/smi_texts.h"
#include "unit/this_node.h"

#define KEY   "node1-000008000"
#define PF    "0000:08:00.0"
#define OTHER "0000:09:00.0"
#define CALLS "echo \"$*\" >>$here/calls\n"

struct scene {
	struct fake_helper fake;
	struct this_node node;
	struct gpu_tasks *tasks;
	int ended, freed;
	struct gpu_outcome outcome;
	struct mig_look look;
	uv_timer_t pulse;
};

static void on_free(void *arg, const char *card)
{
	struct scene *s = arg;

	assert_string_equal(card, PF);
	assert_false(gpu_tasks_is_busy(s->tasks, card));
	s->freed++;
	uv_stop(&s->fake.loop);
}

static void keep(struct scene *s, const struct gpu_outcome *outcome)
{
	gpu_outcome_done(&s->outcome);
	s->outcome = (struct gpu_outcome){ .failed = outcome->failed,
					   .reason = xstrdup_or_null(outcome->reason),
					   .message = xstrdup_or_null(outcome->message) };
	s->ended++;
	uv_stop(&s->fake.loop);
}

static void on_end(void *arg, const struct gpu_task_end *end)
{
	struct scene *s = arg;

	assert_string_equal(end->key, KEY);
	if (end->look) {
		assert_false(end->outcome->failed);
		s->look = *end->look;
		*end->look = (struct mig_look){ 0 };
	}
	keep(s, end->outcome);
}

static void open_scene(struct scene *s, const char *body)
{
	*s = (struct scene){ 0 };
	fake_helper_init(&s->fake, body);
	s->node = this_node_of(NULL, NULL, NULL);
	s->node.loop = &s->fake.loop;
	s->node.helper.path = s->fake.path;
	s->tasks = gpu_tasks_new(&s->node,
				 &(struct gpu_options){ .sriov_manage = s->fake.path,
							.nvidia_smi = s->fake.path,
							.deadline_ms = AMPLE_MS },
				 on_free, s);
}

static void close_scene(struct scene *s)
{
	assert_null(gpu_tasks_free(s->tasks));
	fake_helper_done(&s->fake);
	gpu_outcome_done(&s->outcome);
	mig_look_done(&s->look);
}

SUITE_CLOSING(scene, struct scene, close_scene);

static void run(struct scene *s, const struct gpu_act *act)
{
	int before = s->ended;

	gpu_tasks_act(s->tasks, KEY, act, on_end, s);
	assert_int_equal(s->ended, before);
	assert_true(gpu_tasks_is_busy(s->tasks, act->card));
	uv_run(&s->fake.loop, UV_RUN_DEFAULT);
	assert_int_equal(s->ended, before + 1);
}

static const struct gpu_act set = {
	.verb = GPU_SET_TYPE, .address = "0000:08:00.4", .card = PF, .type = "5"
};
static const struct gpu_act enable = { .verb = GPU_ENABLE_VFS, .address = PF, .card = PF };

static void acts_are_run(void **state)
{
	auto_free char *calls = NULL;
	struct scene *s = *state;

	open_scene(s, CALLS "[ $1 = vgpu-set ] && echo '{\"kind\":\"end\",\"result\":\"Done\"}'");
	run(s, &set);
	assert_false(s->outcome.failed);
	assert_false(gpu_tasks_is_busy(s->tasks, PF));
	fake_helper_does(&s->fake, CALLS "echo no; exit 3");
	run(s, &enable);
	assert_string_equal(s->outcome.reason, "ToolFailed");
	calls = fake_helper_wrote(&s->fake, "calls");
	assert_string_equal(calls, "vgpu-set address=0000:08:00.4 type=5\n-e " PF "\n");
}

static void a_command_that_is_not_there_is_told_from_the_loop(void **state)
{
	struct scene *s = *state;

	open_scene(s, "");
	assert_int_equal(unlink(s->fake.path), 0);
	run(s, &enable);
	assert_string_equal(s->outcome.reason, "ToolMissing");
	assert_non_null(strstr(s->outcome.message, s->fake.path));
	assert_false(gpu_tasks_is_busy(s->tasks, PF));
}

static void on_pulse(uv_timer_t *timer)
{
	struct scene *s = timer->data;
	auto_free char *calls = fake_helper_wrote(&s->fake, "calls");

	if (!*calls)
		return;
	uv_timer_stop(timer);
	fake_helper_expire(&s->fake, timer);
}

static void start_pulse(struct scene *s)
{
	uv_timer_init(&s->fake.loop, &s->pulse);
	s->pulse.data = s;
	uv_timer_start(&s->pulse, on_pulse, 1, 1);
}

static void a_child_that_does_not_end_keeps_its_card_alone(void **state)
{
	static const struct gpu_act other = { .verb = GPU_DISABLE_VFS,
					      .address = OTHER,
					      .card = OTHER };
	struct scene *s = *state;

	open_scene(s, CALLS "[ $2 = " PF " ] && read x <$gate; exit 0");
	start_pulse(s);
	run(s, &enable);
	uv_close((uv_handle_t *)&s->pulse, NULL);
	assert_string_equal(s->outcome.reason, "Stuck");
	assert_true(gpu_tasks_is_busy(s->tasks, PF));
	assert_non_null(strstr(gpu_tasks_stuck(s->tasks, PF), "does not end"));
	/* Another card goes on. */
	assert_null(gpu_tasks_stuck(s->tasks, OTHER));
	run(s, &other);
	assert_false(s->outcome.failed);
	/* Once it ends its card is free again. */
	fake_helper_open_gate(&s->fake);
	uv_run(&s->fake.loop, UV_RUN_DEFAULT);
	assert_int_equal(s->freed, 1);
	run(s, &enable);
	assert_false(s->outcome.failed);
}

static void who_leaves_hears_nothing(void **state)
{
	struct scene s;

	open_scene(&s, "read x <$gate");
	gpu_tasks_act(s.tasks, KEY, &set, on_end, &s);
	uv_run(&s.fake.loop, UV_RUN_NOWAIT);
	close_scene(&s);
	assert_int_equal(s.ended, 0);
}

static void ask(struct scene *s)
{
	int before = s->ended;

	mig_look_done(&s->look);
	gpu_tasks_look(s->tasks, KEY, PF, on_end, s);
	uv_run(&s->fake.loop, UV_RUN_DEFAULT);
	assert_int_equal(s->ended, before + 1);
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
	assert_false(s->outcome.failed);
	assert_int_equal(s->look.mode, SMI_MODE_ENABLED);
	assert_int_equal(s->look.profiles.len, 6);
	assert_int_equal(s->look.instances.len, 2);
	assert_int_equal(s->look.computes.len, 0);
	/* A card without MIG is asked nothing more. */
	folder_put(&s->fake.folder, "mode", "[N/A]\n");
	folder_put(&s->fake.folder, "calls", "");
	ask(s);
	assert_int_equal(s->look.mode, SMI_MODE_NONE);
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
	assert_true(s->outcome.failed);
	assert_string_equal(s->outcome.reason, c->reason);
	assert_non_null(strstr(s->outcome.message, c->says));
}

static void an_endless_answer_is_cut(void **state)
{
	struct scene *s = *state;

	open_scene(s, "i=0; while [ $i -lt 20000 ]; do echo "
		      "'|   0  MIG 1g.5gb  19  7/7  4.75  No  14  0  0  padding padding |'; "
		      "i=$((i + 1)); done");
	ask(s);
	assert_true(s->outcome.failed);
}

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	suite_add(&suite, "who leaves hears nothing", who_leaves_hears_nothing, NULL);
	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "acts are run by the helper, and by the vendor's command", acts_are_run,
		  NULL);
	suite_add(&suite, "a command that is not there is told from the loop",
		  a_command_that_is_not_there_is_told_from_the_loop, NULL);
	suite_add(&suite, "a child that does not end keeps its card, and no other",
		  a_child_that_does_not_end_keeps_its_card_alone, NULL);
	suite_add(&suite, "nvidia-smi is asked one thing after the other",
		  nvidia_smi_is_asked_one_thing_after_the_other, NULL);
	suite_rows(&suite, failures, a_look_fails);
	suite_add(&suite, "an endless answer is cut", an_endless_answer_is_cut, NULL);
	return suite_run(&suite, "gpu_task");
}
