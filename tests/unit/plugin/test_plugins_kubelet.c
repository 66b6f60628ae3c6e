/* The plugins with their real registration, and a kubelet that comes and goes. */
#include "agent/plugin/plugins.h"

#include "agent/plugin/kubelet_watch.h"
#include "agent/plugin/plugin.h"
#include "agent/plugin/plugin_socket.h"
#include "base/err.h"
#include "fake/fake_clock.h"
#include "kube/metrics.h"
#include "unit/plugin/fake_kubelet.h"
#include "unit/plugin/toy.h"

enum { ROUNDS = 20, HALF_MINUTE_MS = 30000 };

struct scene {
	struct stage stage;
	struct fake_kubelet kubelet;
	struct kubelet_watch *watch;
	struct metrics *metrics;
	struct plugins *plugins;
	struct toy toy;
	unsigned registered;
	unsigned withdrawn;
	int trouble; /* why it waits, as was told last */
};

static void on_event(void *arg, const struct plugin_event *event)
{
	struct scene *scene = arg;

	scene->registered += event->kind == PLUGIN_REGISTERED;
	scene->withdrawn += event->kind == PLUGIN_WITHDRAWN;
	if (event->kind == PLUGIN_WAITING)
		scene->trouble = event->err->code;
}

static void offer(struct scene *scene, const char *devices)
{
	struct toys toys = toys_parse(devices);
	struct plugin_resource resource = { .name = "t.io/toy",
					    .devices = toys.items,
					    .ndevices = toys.len };

	plugins_set(scene->plugins, &toy_type, &scene->toy, &resource, 1);
	free(toys.text);
}

/* Plugins whose sockets are in @socket_dir; NULL: in the kubelet's folder. */
static struct plugins *plugins_of(struct scene *scene, const char *socket_dir)
{
	struct plugins_deps deps = { .fn = on_event, .arg = scene, .socket_dir = socket_dir };

	deps.registration = (struct registration_deps){ .loop = &scene->stage.loop,
							.clock = scene->stage.clock,
							.watch = scene->watch,
							.kubelet_dir = scene->kubelet.dir,
							.registry_dir = scene->kubelet.dir,
							.mode = REGISTRATION_DIRECT,
							.metrics = scene->metrics };
	if (socket_dir)
		deps.registration.mode = REGISTRATION_REGISTRY;
	return plugins_new(&deps);
}

static void scene_init(struct scene *scene)
{
	memset(scene, 0, sizeof(*scene));
	stage_init(&scene->stage);
	kubelet_init(&scene->kubelet, &scene->stage);
	scene->watch =
		kubelet_watch_new(&scene->stage.loop, scene->stage.clock, scene->kubelet.dir);
	scene->metrics = metrics_new();
	scene->plugins = plugins_of(scene, NULL);
}

static void scene_done(struct scene *scene)
{
	plugins_free(scene->plugins);
	metrics_free(scene->metrics);
	kubelet_watch_free(scene->watch);
	kubelet_done(&scene->kubelet);
	stage_done(&scene->stage);
}

SUITE_FIXTURE(scene, struct scene, scene_init, scene_done);

/* Until the kubelet has a stream; less than half a minute of the clock, which is turned slowly
 * enough for what happens on the sockets to come first. */
static void await_stream(struct scene *scene)
{
	for (int ms = 0; !scene->kubelet.stream; ms += 10) {
		assert_true(ms < HALF_MINUTE_MS);
		for (int i = 0; i < STAGE_QUIET_TURNS; i++)
			uv_run(&scene->stage.loop, UV_RUN_NOWAIT);
		fake_clock_advance(scene->stage.fake, 10);
	}
	str_clear(&scene->stage.log);
}

static char *endpoint_path(const struct scene *scene)
{
	return xasprintf("%s/%s", scene->kubelet.dir, scene->kubelet.endpoint);
}

static void restart(struct scene *scene)
{
	kubelet_kill(&scene->kubelet);
	kubelet_start(&scene->kubelet);
}

static void wipe(struct scene *scene)
{
	auto_free char *path = endpoint_path(scene);

	assert_int_equal(unlink(path), 0);
	kubelet_watch_check(scene->watch);
	scene->kubelet.plugin = grpc_uv_client_free(scene->kubelet.plugin);
	scene->kubelet.stream = NULL;
}

static void drop(struct scene *scene)
{
	scene->kubelet.plugin = grpc_uv_client_free(scene->kubelet.plugin);
	scene->kubelet.stream = NULL;
}

static struct trouble_case {
	const char *name;
	void (*make)(struct scene *scene);
} troubles[] = {
	{ "kubevirt-contract 1.6 (1): the kubelet restarts twenty times", restart },
	{ "our socket is removed twenty times", wipe },
	{ "the kubelet drops its stream twenty times", drop },
};

static void resource_is_back_each_time(void **state)
{
	const struct trouble_case *c = suite_row(state);
	struct scene *scene = *state;
	size_t fds = 0;

	kubelet_start(&scene->kubelet);
	offer(scene, "a b");
	await_stream(scene);
	for (int i = 0; i < ROUNDS; i++) {
		auto_free char *path = NULL;

		c->make(scene);
		await_stream(scene);
		path = endpoint_path(scene);
		assert_int_equal(access(path, F_OK), 0);
		if (i == 0)
			fds = stage_count_fds();
	}
	assert_int_equal(scene->registered, ROUNDS + 1);
	assert_int_equal(stage_count_fds(), fds);
}

static void on_stopped(void *arg)
{
	struct scene *scene = arg;

	scene->plugins = plugins_free(scene->plugins);
}

static void nothing_is_left_after_a_stop(void **state)
{
	struct scene *scene = *state;
	auto_free char *path = NULL;

	kubelet_start(&scene->kubelet);
	offer(scene, "a");
	await_stream(scene);
	path = endpoint_path(scene);
	plugins_stop(scene->plugins, on_stopped, scene);
	for (int ms = 0; scene->plugins; ms += 10) {
		assert_true(ms <= PLUGIN_STOP_MS + 20);
		for (int i = 0; i < STAGE_QUIET_TURNS; i++)
			uv_run(&scene->stage.loop, UV_RUN_NOWAIT);
		fake_clock_advance(scene->stage.fake, 10);
	}
	assert_int_equal(scene->withdrawn, 1);
	assert_null(scene->kubelet.stream);
	assert_int_equal(access(path, F_OK), -1);
}

/* --- no socket -------------------------------------------------------------------------------- */

/* What the alert HostdevResourceNotRegistered compares. */
static bool shows(const struct scene *scene, int registered)
{
	auto_str struct str text = STR_INIT;
	auto_free char *line =
		xasprintf("hostdev_kubelet_registered{resource=\"t.io/toy\"} %d\n", registered);

	metrics_write(scene->metrics, &text);
	return strstr(str_cstr(&text), line) &&
	       strstr(str_cstr(&text),
		      "hostdev_plugin_devices{resource=\"t.io/toy\",health=\"healthy\"} 2\n");
}

static void turn_half_a_minute(struct scene *scene)
{
	for (int ms = 0; ms < HALF_MINUTE_MS; ms += 100) {
		uv_run(&scene->stage.loop, UV_RUN_NOWAIT);
		fake_clock_advance(scene->stage.fake, 100);
	}
}

static void no_folder_is_not_registered(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(rmdir(scene->kubelet.dir), 0);
	offer(scene, "a b");
	assert_true(shows(scene, 0));
	turn_half_a_minute(scene);
	assert_int_equal(scene->trouble, -ENOENT);
	assert_true(shows(scene, 0));
	assert_int_equal(mkdir(scene->kubelet.dir, 0700), 0);
	kubelet_start(&scene->kubelet);
	await_stream(scene);
	assert_true(shows(scene, 1));
}

static void no_room_for_a_name_is_not_registered(void **state)
{
	auto_free char *dir = NULL;
	char name[PLUGIN_SOCKET_PATH_MAX + 1] = { 0 };
	struct scene *scene = *state;

	memset(name, 'x', sizeof(name) - 1);
	dir = folder_path(&scene->stage.folder, name);
	plugins_free(scene->plugins);
	scene->plugins = plugins_of(scene, dir);
	offer(scene, "a b");
	assert_true(shows(scene, 0));
	turn_half_a_minute(scene);
	assert_int_equal(scene->trouble, -ENAMETOOLONG);
	assert_true(shows(scene, 0));
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_fixture(&suite, &scene_fixture);
	suite_rows(&suite, troubles, resource_is_back_each_time);
	suite_add(&suite, "nothing is left after a stop", nothing_is_left_after_a_stop, NULL);
	suite_add(&suite, "a resource without a folder is not registered",
		  no_folder_is_not_registered, NULL);
	suite_add(&suite, "a resource without room for a name is not registered",
		  no_room_for_a_name_is_not_registered, NULL);
	return suite_run(&suite, "plugins and a kubelet");
}
