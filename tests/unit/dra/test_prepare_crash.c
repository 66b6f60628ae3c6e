/*
 * prepare: killed before or after each of its steps. The next agent knows what the checkpoint says,
 * has the files to it, and the kubelet's next call, whichever it is, comes to its end.
 */
#include <signal.h>
#include <sys/wait.h>

#include "fake/fake_client.h"
#include "unit/dra/prepare_scene.h"

SUITE_FIXTURE(scene, struct prepare_scene, prepare_scene_init, prepare_scene_done);

static const char nic[] = RESULT_OF("a", NIC_NAME);

static struct crash_case {
	const char *name;
	const char *failpoint;
	bool undoes;     /* else it prepares */
	size_t prepared; /* claims that the next agent knows */
	bool on_demand;  /* its devices are bound for it */
} cases[] = {
	{ "bound on demand: before the first checkpoint", "dra-bind-checkpoint-before", false, 0,
	  true },
	{ "bound on demand: after the first checkpoint", "dra-bind-checkpoint-after", false, 0,
	  true },
	{ "bound on demand: after the bind", "dra-bind-after", false, 0, true },
	{ "bound on demand: before the last checkpoint", "dra-checkpoint-before", false, 0, true },
	{ "bound on demand: after the last checkpoint", "dra-checkpoint-after", false, 1, true },
	{ "bound on demand: after the files", "dra-files-after", false, 1, true },
	{ "bound on demand, undone: after the checkpoint has gone", "dra-checkpoint-remove-after",
	  true, 0, true },
	{ "prepared: before the checkpoint", "dra-checkpoint-before", false, 0, false },
	{ "prepared: after the checkpoint", "dra-checkpoint-after", false, 1, false },
	{ "prepared: after the files", "dra-files-after", false, 1, false },
	{ "undone: before the files go", "dra-files-remove-before", true, 1, false },
	{ "undone: after the files have gone", "dra-files-remove-after", true, 1, false },
	{ "undone: after the checkpoint has gone", "dra-checkpoint-remove-after", true, 0, false },
};

static void run(struct prepare_scene *scene, bool undoes)
{
	if (undoes) {
		(void)prepare_undo(scene->prepare, UID1, NULL);
		return;
	}
	prepare_scene_prepare(scene, "nic", UID1, nic);
	if (scene->nbinds > 0)
		prepare_scene_bound(scene, NULL);
}

static void run_killed(struct prepare_scene *scene, const struct crash_case *c)
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		setenv("HOSTDEV_FAILPOINT", c->failpoint, 1);
		run(scene, c->undoes);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* What the kubelet does next: the same again, or the opposite; the agent's node may have been
 * started anew before. */
static void crash(struct prepare_scene *scene, const struct crash_case *c, bool undoes_next,
		  bool reboots)
{
	const struct prepared_claim *claim = NULL;

	if (c->undoes)
		run(scene, false);
	run_killed(scene, c);
	prepare_scene_restart(scene, reboots ? "b00t-2" : BOOT);
	prepare_scene_assert_files(scene, reboots ? 0 : c->prepared);
	if (undoes_next) {
		assert_int_equal(prepare_undo(scene->prepare, UID1, NULL), 0);
		prepare_scene_assert_nothing(scene);
	} else {
		if (prepare_again(scene->prepare, UID1, &claim, NULL) == PREPARE_UNKNOWN)
			run(scene, false);
		prepare_scene_assert_files(scene, 1);
		assert_int_equal(prepare_undo(scene->prepare, UID1, NULL), 0);
	}
	prepare_scene_assert_nothing(scene);
}

static void next_agent_goes_on(void **state)
{
	struct prepare_scene *scene = *state;
	const struct crash_case *c = suite_row(state);

	if (c->on_demand)
		prepare_scene_on_demand(scene, NIC);
	for (int i = 0; i < 4; i++) {
		crash(scene, c, i % 2, i / 2);
		stage_rest(&scene->dra.stage);
		str_clear(&scene->dra.stage.log);
		prepare_scene_restart(scene, BOOT);
	}
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_fixture(&suite, &scene_fixture);
	suite_rows(&suite, cases, next_agent_goes_on);
	return suite_run(&suite, "prepare_crash");
}
