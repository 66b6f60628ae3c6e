/*
 * claims and prepare: the agent is killed right before it has a function bound for a ResourceClaim,
 * or right after. The next agent has the checkpoints, and what the helper has done to the node: in
 * the end the function is bound for a claim that is prepared, or back on its driver.
 */
#include <signal.h>
#include <sys/wait.h>

#include "agent/claim/claims.h"
#include "agent/claim/on_demand_binds.h"
#include "fake/fake_client.h"
#include "unit/dra/prepare_scene.h"

#undef NIC

#include "unit/agent/claims_nic.h"

#define AT   "0000:01:00.0"
#define BIND "bind 1: " AT " e1000e->vfio-pci for " NAME "/" UID1
#define BACK "release 1: " AT " e1000e->vfio-pci for " NAME "/" UID1

static const char result[] = RESULT_OF("a", "0000-01-00-0");
static const char *const nic_for_claim[] = { NIC("vfio-pci"), RECORD(UID1), NULL };

struct scene {
	struct prepare_scene agent; /* its ResourceClaims, whose checkpoints are in a folder */
	struct bench bench;         /* its claims */
	char *bound;                /* a file that is there while the node has the function bound */
	char *bound_for;
};

/* --- between the two halves of an agent ------------------------------------------------------- */

/* What claims ask prepare for. */
static void ask_bound_for(struct scene *scene)
{
	free(scene->bound_for);
	scene->bound_for = prepare_bound_for(scene->agent.prepare, AT);
	scene->bench.bound_for = scene->bench.pod = scene->bound_for;
	claims_enqueue(scene->bench.claims, NAME);
}

static void settle(struct scene *scene)
{
	stage_rest(&scene->agent.dra.stage);
	ask_bound_for(scene);
	bench_settle(&scene->bench);
	stage_rest(&scene->agent.dra.stage);
	ask_bound_for(scene);
	bench_serve(&scene->bench);
}

static struct on_demand_bind *bind_on_demand(void *arg, const struct on_demand_devices *devices,
					     on_demand_bound_fn *bound, void *bound_arg)
{
	struct scene *scene = arg;
	const struct on_demand_spec spec = { devices->ids, devices->uid, devices->to };

	ask_bound_for(scene);
	return claims_bind_on_demand(scene->bench.claims, &spec, bound, bound_arg);
}

static bool stop(void *arg, struct on_demand_bind *bind, struct err *err)
{
	struct scene *scene = arg;

	return claims_stop_on_demand(scene->bench.claims, bind, err);
}

/* --- agents and their node -------------------------------------------------------------------- */

static bool is_bound(const struct scene *scene)
{
	return access(scene->bound, F_OK) == 0;
}

static void scan(struct scene *scene)
{
	bench_look(&scene->bench, is_bound(scene) ? nic_for_claim : free_nic);
	settle(scene);
}

/* The helper that runs now does its work. */
static void work(struct scene *scene)
{
	bool binds = fake.binder->jobs.items[0]->verb == BINDER_BIND;

	if (binds)
		folder_put(&scene->agent.dra.stage.folder, "bound", "");
	else
		assert_int_equal(unlink(scene->bound), 0);
	bench_end(&scene->bench, binds ? BOUND : RETURNED);
	scan(scene);
}

static void begin_agent(struct scene *scene)
{
	bench_open(&scene->bench);
	bench_list(&scene->bench, DEVICE);
	scene->agent.on_demand =
		(struct on_demand_binder){ .begin = bind_on_demand, .stop = stop, .arg = scene };
}

static void scene_open(struct scene *scene)
{
	prepare_scene_init(&scene->agent);
	dra_scene_add(&scene->agent.dra, AT, "1")->on_demand = true;
	scene->bound = folder_path(&scene->agent.dra.stage.folder, "bound");
	begin_agent(scene);
}

static void scene_close(struct scene *scene)
{
	bench_close(&scene->bench);
	prepare_scene_done(&scene->agent);
	free(scene->bound);
	free(scene->bound_for);
}

SUITE_FIXTURE(scene, struct scene, scene_open, scene_close);

static void begin_next_agent(struct scene *scene)
{
	bench_close(&scene->bench);
	prepare_scene_restart(&scene->agent, BOOT);
	begin_agent(scene);
}

/* The kubelet prepares the claim. */
static void prepare(struct scene *scene)
{
	prepare_scene_prepare(&scene->agent, "nic", UID1, result);
	settle(scene);
}

/* --- deaths ----------------------------------------------------------------------------------- */

static void run_killed(struct scene *scene, const char *failpoint)
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		setenv("HOSTDEV_FAILPOINT", failpoint, 1);
		scan(scene);
		prepare(scene);
		work(scene);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

enum next {
	NOBODY_ASKS,         /* the pod was deleted                                  */
	ASKED_AT_ONCE,       /* the kubelet, before the agent has scanned the node   */
	ASKED_AFTER_A_SCAN,  /* when what nobody has is on its way back              */
	UNPREPARED_AND_GONE, /* the kubelet unprepares what it thinks may be prepared */
};

static struct death_case {
	const char *name;
	const char *failpoint;
	bool bound; /* what the dead agent leaves */
	enum next next;
	bool prepared; /* what comes of it */
	const char *jobs[3];
} deaths[] = {
	{ "before the bind: nobody asks again",
	  "agent-lend-before",
	  false,
	  NOBODY_ASKS,
	  false,
	  { NULL } },
	{ "before the bind: asked again at once",
	  "agent-lend-before",
	  false,
	  ASKED_AT_ONCE,
	  true,
	  { BIND } },
	{ "before the bind: asked again later",
	  "agent-lend-before",
	  false,
	  ASKED_AFTER_A_SCAN,
	  true,
	  { BIND } },
	{ "before the bind: unprepared",
	  "agent-lend-before",
	  false,
	  UNPREPARED_AND_GONE,
	  false,
	  { NULL } },
	{ "after the bind: nobody asks again",
	  "agent-lend-after",
	  true,
	  NOBODY_ASKS,
	  false,
	  { BACK } },
	{ "after the bind: asked again at once",
	  "agent-lend-after",
	  true,
	  ASKED_AT_ONCE,
	  true,
	  { NULL } },
	{ "after the bind: asked again later",
	  "agent-lend-after",
	  true,
	  ASKED_AFTER_A_SCAN,
	  true,
	  { BACK, BIND } },
	{ "after the bind: unprepared",
	  "agent-lend-after",
	  true,
	  UNPREPARED_AND_GONE,
	  false,
	  { BACK } },
};

static void begin_next(struct scene *scene, enum next next)
{
	switch (next) {
	case NOBODY_ASKS:
		scan(scene);
		return;
	case ASKED_AT_ONCE:
		prepare(scene);
		scan(scene);
		return;
	case ASKED_AFTER_A_SCAN:
		scan(scene);
		prepare(scene);
		return;
	case UNPREPARED_AND_GONE:
		assert_int_equal(prepare_undo(scene->agent.prepare, UID1, NULL), 0);
		scan(scene);
		return;
	}
}

/* Bound and the claim's, or neither. */
static void assert_end(struct scene *scene, bool prepared)
{
	assert_int_equal(is_bound(scene), prepared);
	assert_int_equal(scene->bound_for != NULL, prepared);
	if (prepared) {
		assert_string_equal(scene->bound_for, "ResourceClaim default/nic");
		prepare_scene_assert_files(&scene->agent, 1);
	} else {
		prepare_scene_assert_nothing(&scene->agent);
	}
}

static void next_agent_makes_it_good(void **state)
{
	struct scene *scene = *state;
	const struct death_case *c = suite_row(state);
	size_t jobs = 0;

	run_killed(scene, c->failpoint);
	assert_int_equal(is_bound(scene), c->bound);
	assert_int_equal(dra_scene_files(scene->agent.dra.claims_dir), 1);
	begin_next_agent(scene);
	begin_next(scene, c->next);
	for (int i = 0; i < 100; i++) {
		if (fake.binder->jobs.len > 0) {
			assert_true(jobs < ARRAY_LEN(c->jobs) && c->jobs[jobs]);
			assert_string_equal(fake.binder->jobs.items[0]->text, c->jobs[jobs++]);
			work(scene);
		}
		bench_advance(&scene->bench, 100);
		settle(scene);
	}
	assert_null(jobs < ARRAY_LEN(c->jobs) ? c->jobs[jobs] : NULL);
	assert_end(scene, c->prepared);
	/* And nothing of it is left after the pod's end. */
	assert_int_equal(prepare_undo(scene->agent.prepare, UID1, NULL), 0);
	settle(scene);
	if (c->prepared)
		work(scene);
	assert_end(scene, false);
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_fixture(&suite, &scene_fixture);
	suite_rows(&suite, deaths, next_agent_makes_it_good);
	return suite_run(&suite, "on_demand_crash");
}
