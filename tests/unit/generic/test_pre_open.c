/* pre_open: a node is opened once by a child, which may fail, hang or be missing. */
#include "agent/generic/pre_open.h"

#include "fake/fake_clock.h"
#include "unit/agent/fake_helper.h"
#include "unit/suite.h"
#include "unit/this_node.h"

#define TUN  "/dev/net/tun"
#define SAYS "echo '{\"kind\":\"end\",\"path\":\"/dev/net/tun\",\"result\":"

struct scene {
	struct fake_helper helper;
	struct fake_clock *clock;
	struct this_node node;
	struct pre_open *opens;
	size_t changes;
};

static void on_changed(void *arg)
{
	struct scene *scene = arg;

	scene->changes++;
	uv_stop(&scene->helper.loop);
}

static void scene_open(struct scene *scene, const char *script, const char *helper)
{
	*scene = (struct scene){ .clock = fake_clock_new() };
	fake_helper_init(&scene->helper, script);
	scene->node = this_node_of(NULL, fake_clock_as_clock(scene->clock), NULL);
	scene->node.loop = &scene->helper.loop;
	scene->node.helper.path = helper ? helper : scene->helper.path;
	scene->node.helper.dev_root = "/some/dev";
	scene->opens = pre_open_new(&scene->node, on_changed, scene);
}

static void scene_close(struct scene *scene)
{
	pre_open_free(scene->opens);
	fake_helper_done(&scene->helper);
	fake_clock_free(scene->clock);
}

SUITE_CLOSING(scene, struct scene, scene_close);

static struct open_case {
	const char *name;
	const char *script;
	const char *trouble; /* when it has ended; NULL: none */
} rows[] = {
	{ "a node that opens",
	  "[ \"$*\" = 'open --dev-root /some/dev /dev/net/tun' ] && " SAYS "\"Done\"}'", NULL },
	{ "a node that does not says why", SAYS "\"Failed\",\"message\":\"No such device\"}'",
	  TUN " cannot be opened: No such device" },
	{ "why is shown without control characters",
	  SAYS "\"Failed\",\"message\":\"\\u001b[31m\"}'", TUN " cannot be opened: \\x1b[31m" },
	{ "a helper that fails", "exit 1",
	  TUN " cannot be opened: hostdev-helper open: helper exited with status 1" },
	{ "a helper that says nothing", "exit 0",
	  TUN " cannot be opened: hostdev-helper open: it ended without a result" },
	{ "a helper that says something else", "echo x", NULL },
};

static void node_is_opened(void **state)
{
	const struct open_case *row = suite_row(state);
	struct scene *scene = *state;
	const char *trouble;

	scene_open(scene, row->script, NULL);
	assert_true(pre_open_untried(scene->opens, TUN));
	assert_string_equal(pre_open_trouble(scene->opens, TUN), TUN " is being opened");
	assert_true(pre_open_untried(scene->opens, TUN));
	uv_run(&scene->helper.loop, UV_RUN_DEFAULT);
	assert_false(pre_open_untried(scene->opens, TUN));
	assert_int_equal(scene->changes, 1);
	trouble = pre_open_trouble(scene->opens, TUN);
	if (strcmp(row->script, "echo x") == 0)
		assert_non_null(strstr(trouble, TUN " cannot be opened: "));
	else if (row->trouble)
		assert_string_equal(trouble, row->trouble);
	else
		assert_null(trouble);
}

/* A module may come later: it is tried again, and once it is open, no more. */
static void a_failure_is_tried_again(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, SAYS "\"Failed\",\"message\":\"x\"}'", NULL);
	(void)pre_open_trouble(scene->opens, TUN);
	uv_run(&scene->helper.loop, UV_RUN_DEFAULT);
	fake_helper_does(&scene->helper, SAYS "\"Done\"}'");
	fake_clock_advance(scene->clock, PRE_OPEN_RETRY_MS - 1);
	assert_non_null(pre_open_trouble(scene->opens, TUN));
	fake_clock_advance(scene->clock, 1);
	uv_run(&scene->helper.loop, UV_RUN_DEFAULT);
	assert_int_equal(scene->changes, 2);
	assert_null(pre_open_trouble(scene->opens, TUN));
	assert_int_equal(fake_clock_next(scene->clock), UINT64_MAX);
}

static void without_a_helper_it_says_so(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, "", "/nonexistent/helper");
	assert_non_null(strstr(pre_open_trouble(scene->opens, TUN), TUN " cannot be opened: "));
}

/* The end does not wait for a module that hangs. */
static void a_helper_that_hangs_is_left(void **state)
{
	struct scene scene;

	scene_open(&scene, "read x < $gate", NULL);
	assert_string_equal(pre_open_trouble(scene.opens, TUN), TUN " is being opened");
	scene_close(&scene);
	assert_int_equal(scene.changes, 0);
}

/* How it went is for the next attempt. */
static void one_that_is_stuck_is_tried_again_when_it_has_ended(void **state)
{
	struct scene *scene = *state;

	scene_open(scene, "read x < $gate", NULL);
	(void)pre_open_trouble(scene->opens, TUN);
	while (!scene->changes) {
		fake_helper_expire(&scene->helper, NULL);
		uv_run(&scene->helper.loop, UV_RUN_NOWAIT);
		(void)usleep(1000);
	}
	assert_false(pre_open_untried(scene->opens, TUN));
	assert_non_null(
		strstr(pre_open_trouble(scene->opens, TUN), " is still waiting for the kernel"));
	assert_int_equal(fake_clock_next(scene->clock), UINT64_MAX);
	fake_helper_does(&scene->helper, SAYS "\"Done\"}'");
	fake_helper_open_gate(&scene->helper);
	while (fake_clock_next(scene->clock) == UINT64_MAX)
		uv_run(&scene->helper.loop, UV_RUN_ONCE);
	fake_clock_advance(scene->clock, 0);
	while (scene->changes < 2)
		uv_run(&scene->helper.loop, UV_RUN_ONCE);
	assert_null(pre_open_trouble(scene->opens, TUN));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "a helper that hangs is left", a_helper_that_hangs_is_left, NULL);
	suite_fixture(&suite, &scene_fixture);
	suite_rows(&suite, rows, node_is_opened);
	suite_add(&suite, "a failure is tried again", a_failure_is_tried_again, NULL);
	suite_add(&suite, "without a helper it says so", without_a_helper_it_says_so, NULL);
	suite_add(&suite, "one that is stuck is tried again when it has ended",
		  one_that_is_stuck_is_tried_again_when_it_has_ended, NULL);
	return suite_run(&suite, "pre_open");
}
