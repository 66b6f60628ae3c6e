/* One resource served on a socket: its streams and its end, as a kubelet sees them. */
#include "fake/fake_clock.h"
#include "unit/plugin/plugin_scene.h"

static void every_stream_gets_every_change(void **state)
{
	struct scene *scene = scene_new("a b!");
	struct caller other;

	caller_watch(&scene->caller);
	stage_await(&scene->stage, "list: a b!|");
	scene_update(scene, "a b@1");
	stage_await(&scene->stage, "list: a b@1|");
	caller_init(&other, &scene->stage, scene->path);
	caller_watch(&other);
	stage_await(&scene->stage, "list: a b@1|");
	scene_update(scene, "");
	stage_await(&scene->stage, "list:|list:|");
	assert_int_equal(plugin_streams(scene->plugin), 2);
	caller_done(&other);
	stage_await(&scene->stage, "stream closed, 1 left|");
	scene_update(scene, "c");
	stage_await(&scene->stage, "list: c|");
	scene_free(scene);
}

static void same_list_is_not_sent(void **state)
{
	struct scene *scene = scene_new("a x");

	caller_watch(&scene->caller);
	stage_await(&scene->stage, "list: a x|");
	scene_update(scene, "a x");
	stage_settle(&scene->stage, "");
	scene_update(scene, "a x!");
	stage_await(&scene->stage, "list: a x!|");
	caller_allocate(&scene->caller, "x");
	stage_await(&scene->stage, "refused x|FailedPrecondition: device 'x' of 't.io/toy' is not "
				   "ready: it is on fire|");
	scene_free(scene);
}

SUITE_OBJECT(scene, scene_new("a"), scene_free);

/* 60,000 devices are some 3.9 MB: the first list is on its way when the others come. */
static void slow_stream_gets_the_newest(void **state)
{
	enum { MANY = 60000 };
	struct scene *scene = scene_new("a");
	struct herd *herd = *state;
	struct device_list *list = NULL;

	herd_init(herd, MANY, 47);
	assert_int_equal(device_list_new(herd->devices, MANY, toys_refused, NULL, &list, NULL), 0);
	plugin_update(scene->plugin, list);
	device_list_unref(list);
	caller_watch(&scene->caller);
	while (plugin_streams(scene->plugin) == 0)
		stage_turn(&scene->stage);
	for (int i = 0; i < 100; i++)
		scene_update(scene, i % 2 ? "b" : "c");
	scene_update(scene, "newest");
	stage_await(&scene->stage, "list of 60000|list: newest|");
	scene_free(scene);
}

static void closed_stream_is_reported(void **state)
{
	struct scene *scene = *state;

	caller_watch(&scene->caller);
	stage_await(&scene->stage, "list: a|");
	grpc_rpc_cancel(scene->caller.watch);
	stage_await(&scene->stage, "stream closed, 0 left|");
	/* And when the owner ends it all because of that. */
	scene->free_when_alone = true;
	caller_watch(&scene->caller);
	stage_await(&scene->stage, "list: a|");
	caller_done(&scene->caller);
	stage_await(&scene->stage, "stream closed, 0 left|");
	assert_null(scene->plugin);
}

static void streams_are_limited(void **state)
{
	struct scene *scene = *state;

	for (int i = 0; i < PLUGIN_STREAMS_MAX; i++) {
		caller_watch(&scene->caller);
		stage_await(&scene->stage, "list: a|");
	}
	caller_watch(&scene->caller);
	stage_await(&scene->stage, "watch ended: ResourceExhausted|");
	assert_int_equal(plugin_streams(scene->plugin), PLUGIN_STREAMS_MAX);
}

static void the_first_stream_from_then_on_is_the_kubelets(void **state)
{
	struct scene *scene = *state;
	struct caller before, kubelet, after;

	caller_init(&before, &scene->stage, scene->path);
	caller_init(&kubelet, &scene->stage, scene->path);
	caller_init(&after, &scene->stage, scene->path);
	caller_watch(&before);
	stage_await(&scene->stage, "list: a|");
	assert_false(plugin_has_kubelet(scene->plugin));
	assert_false(plugin_hang_up(scene->plugin));
	assert_false(plugin_lists(scene->plugin, "a"));
	plugin_await_kubelet(scene->plugin);
	caller_watch(&kubelet);
	stage_await(&scene->stage, "list: a|");
	assert_true(plugin_has_kubelet(scene->plugin));
	assert_true(plugin_lists(scene->plugin, "a"));
	assert_false(plugin_lists(scene->plugin, "b"));
	assert_int_equal(scene->kubelets, 1);
	caller_watch(&after);
	stage_await(&scene->stage, "list: a|");
	caller_done(&after);
	stage_await(&scene->stage, "stream closed, 2 left|");
	caller_done(&kubelet);
	stage_await(&scene->stage, "kubelet's stream closed, 1 left|");
	assert_false(plugin_has_kubelet(scene->plugin));
	assert_false(plugin_lists(scene->plugin, "a"));
	assert_int_equal(scene->kubelets, 1);
	caller_done(&before);
	stage_await(&scene->stage, "stream closed, 0 left|");
}

/* Somebody who looks at the socket while Register is under way is not the kubelet. */
static void the_kubelets_stream_is_that_of_who_asked_for_the_options(void **state)
{
	struct scene *scene = *state;
	struct caller before;
	struct caller kubelet;
	struct caller after;

	caller_init(&before, &scene->stage, scene->path);
	caller_init(&kubelet, &scene->stage, scene->path);
	caller_init(&after, &scene->stage, scene->path);
	plugin_await_kubelet(scene->plugin);
	caller_watch(&before);
	stage_await(&scene->stage, "list: a|");
	assert_true(plugin_has_kubelet(scene->plugin)); /* as far as is known */
	caller_options(&kubelet);
	stage_await(&scene->stage, "pre-start 1, preferred 1|OK|");
	caller_watch(&after);
	stage_await(&scene->stage, "list: a|");
	caller_done(&after);
	stage_await(&scene->stage, "stream closed, 1 left|");
	caller_watch(&kubelet);
	stage_await(&scene->stage, "list: a|");
	caller_done(&before);
	stage_await(&scene->stage, "stream closed, 1 left|");
	assert_true(plugin_has_kubelet(scene->plugin));

	/* The kubelet's connection is known: this one is not the kubelet's. */
	caller_options(&scene->caller);
	stage_await(&scene->stage, "pre-start 1, preferred 1|OK|");
	caller_watch(&scene->caller);
	stage_await(&scene->stage, "list: a|");
	caller_done(&kubelet);
	stage_await(&scene->stage, "kubelet's stream closed, 1 left|");
}

/* The one that it has is closed before it is called again, and the next is taken. */
static void the_kubelets_connection_is_closed(void **state)
{
	struct scene *scene = *state;
	struct caller kubelet;

	for (int i = 0; i < 2 * PLUGIN_STREAMS_MAX; i++) {
		caller_init(&kubelet, &scene->stage, scene->path);
		plugin_await_kubelet(scene->plugin);
		caller_watch(&kubelet);
		stage_await(&scene->stage, "list: a|");
		assert_true(plugin_hang_up(scene->plugin));
		assert_int_equal(plugin_streams(scene->plugin), 0);
		stage_await(&scene->stage, "watch ended: Unavailable|");
		assert_false(plugin_hang_up(scene->plugin));
		caller_done(&kubelet);
	}
}

/* --- the end ---------------------------------------------------------------------------------- */

static void on_stopped(void *arg)
{
	struct scene *scene = arg;

	stage_log(&scene->stage, "stopped");
	scene->plugin = plugin_free(scene->plugin);
}

/* Turn the clock until the plugin has stopped; @ms of it at most. */
static uint64_t await_stop(struct scene *scene)
{
	uint64_t before = clock_now_ms(scene->stage.clock);

	while (scene->plugin) {
		for (int i = 0; i < STAGE_QUIET_TURNS; i++)
			uv_run(&scene->stage.loop, UV_RUN_NOWAIT);
		fake_clock_advance(scene->stage.fake, 1);
	}
	return clock_now_ms(scene->stage.clock) - before;
}

static void stop_says_so_first(void **state)
{
	struct scene *scene = *state;

	caller_watch(&scene->caller);
	stage_await(&scene->stage, "list: a|");
	plugin_stop(scene->plugin, on_stopped, scene);
	assert_int_equal(scene->stage.log.len, 0);
	assert_int_equal(access(scene->path, F_OK), -1);
	/* The connection ends before the time is up, since our client closes it then. */
	assert_true(await_stop(scene) < PLUGIN_STOP_MS);
	stage_settle(&scene->stage, "list:|watch ended: OK|stopped|");
}

static void stop_without_anybody(void **state)
{
	struct scene *scene = *state;

	plugin_stop(scene->plugin, on_stopped, scene);
	assert_int_equal(scene->stage.log.len, 0);
	stage_await(&scene->stage, "stopped|");
}

/* A kubelet that does not read does not hold us up for ever. */
static void stop_is_bounded(void **state)
{
	struct scene *scene = *state;

	caller_watch(&scene->caller);
	stage_await(&scene->stage, "list: a|");
	plugin_stop(scene->plugin, on_stopped, scene);
	fake_clock_advance(scene->stage.fake, PLUGIN_STOP_MS - 1);
	assert_non_null(scene->plugin);
	fake_clock_advance(scene->stage.fake, 1);
	assert_null(scene->plugin);
}

static void calls_after_a_stop(void **state)
{
	struct scene *scene = *state;

	caller_watch(&scene->caller);
	stage_await(&scene->stage, "list: a|");
	/* They are on their way when the stop begins. */
	caller_allocate(&scene->caller, "a");
	caller_watch(&scene->caller);
	plugin_stop(scene->plugin, on_stopped, scene);
	assert_true(await_stop(scene) <= PLUGIN_STOP_MS);
	assert_int_equal(scene->toy.allocations, 0);
}

static void path_is_taken(void **state)
{
	struct scene *scene = *state;
	struct plugin *first = scene->plugin;
	struct err err = { 0 };

	assert_int_equal(serve(scene, "b", &err), -EADDRINUSE);
	assert_int_equal(err.kind, ERR_RETRY);
	assert_ptr_equal(scene->plugin, first);
	caller_watch(&scene->caller);
	stage_await(&scene->stage, "list: a|");
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_add(&suite, "every stream gets every change", every_stream_gets_every_change, NULL);
	suite_add(&suite, "the same list is not sent again", same_list_is_not_sent, NULL);
	suite_fixture(&suite, &herd_fixture);
	suite_add(&suite, "a slow stream gets the newest", slow_stream_gets_the_newest, NULL);
	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "a closed stream is reported", closed_stream_is_reported, NULL);
	suite_add(&suite, "streams are limited", streams_are_limited, NULL);
	suite_add(&suite, "the first stream from then on is the kubelet's",
		  the_first_stream_from_then_on_is_the_kubelets, NULL);
	suite_add(&suite, "the kubelet's stream is that of who asked for the options",
		  the_kubelets_stream_is_that_of_who_asked_for_the_options, NULL);
	suite_add(&suite, "the kubelet's connection is closed", the_kubelets_connection_is_closed,
		  NULL);
	suite_add(&suite, "a stop says so first", stop_says_so_first, NULL);
	suite_add(&suite, "a stop without anybody", stop_without_anybody, NULL);
	suite_add(&suite, "a stop is bounded", stop_is_bounded, NULL);
	suite_add(&suite, "calls after a stop", calls_after_a_stop, NULL);
	suite_add(&suite, "the path is taken", path_is_taken, NULL);
	return suite_run(&suite, "plugin");
}
