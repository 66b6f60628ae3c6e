/* registration at kubelet.sock: against a kubelet that is late, refuses, hangs or dies. */
#include "agent/plugin/registration.h"

#include "fake/fake_clock.h"
#include "unit/plugin/registered_scene.h"

static void kubelet_takes_a_plugin(void **state)
{
	struct scene *scene = *state;
	auto_str struct str text = STR_INIT;

	metrics_write(scene->metrics, &text);
	assert_non_null(strstr(str_cstr(&text),
			       "hostdev_kubelet_registrations_total{resource="
			       "\"example.com/a\",way=\"direct\",result=\"done\"} 1\n"));
	assert_non_null(strstr(str_cstr(&text),
			       "hostdev_kubelet_registered{resource=\"example.com/a\"} 1\n"));
	stage_pass(&scene->stage, 100000);
}

static bool live_is_shown(const struct scene *scene, const char *known)
{
	auto_str struct str text = STR_INIT;
	auto_free char *line =
		xasprintf("hostdev_kubelet_registered{resource=\"example.com/a\"} %s\n", known);

	metrics_write(scene->metrics, &text);
	assert_null(strstr(str_cstr(&text), "gone"));
	assert_null(strstr(str_cstr(&text), "other"));
	return strstr(str_cstr(&text), line) &&
	       strstr(str_cstr(&text),
		      "{resource=\"example.com/a\",way=\"direct\",result=\"failed\"}");
}

/* More than there is room for at once. */
static void gone_resources_leave_their_room(void **state)
{
	struct scene *scene = *state;
	const struct registration_deps deps = scene_deps(scene);

	for (int i = 0; i <= METRIC_SERIES_MAX; i++) {
		auto_free char *name = xasprintf("example.com/gone-%d", i);

		registration_free(registration_new(&deps, name, "/nonexistent", &scene_ops, scene));
		registration_forget(&deps, name);
	}
	assert_true(live_is_shown(scene, "1"));
	registration_forget(&deps, "example.com/a");
	assert_false(live_is_shown(scene, "1"));
	registration_show(scene->registration);
	assert_true(live_is_shown(scene, "1"));
	registration_again(scene->registration);
	registration_show(scene->registration);
	assert_true(live_is_shown(scene, "0"));
}

static void kubelet_comes_later(void **state)
{
	struct scene *scene = *state;

	scene_serve(scene);
	stage_await(&scene->stage, "waits: No such file or directory|");
	stage_pass(&scene->stage, 100000); /* told once */
	kubelet_serve(&scene->kubelet);
	stage_await(&scene->stage, "example.com/a at a0.sock|done|");
}

static void socket_is_bound_before_it_listens(void **state)
{
	struct scene *scene = *state;
	auto_free char *path = xasprintf("%s/kubelet.sock", scene->kubelet.dir);

	scene_serve(scene);
	stage_await(&scene->stage, "waits: No such file or directory|");
	/* A socket without a listener. */
	kubelet_serve(&scene->kubelet);
	kubelet_kill(&scene->kubelet);
	stage_await(&scene->stage, "waits: Connection refused|");
	assert_in_range(fake_clock_next(scene->stage.fake), 1, 10);
	assert_int_equal(unlink(path), 0);
}

static void socket_is_seen_when_it_is_called_already(void **state)
{
	struct scene *scene = *state;
	auto_free char *path = xasprintf("%s/kubelet.sock", scene->kubelet.dir);

	kubelet_serve(&scene->kubelet);
	kubelet_kill(&scene->kubelet);
	scene_serve(scene);
	fake_clock_settle(scene->stage.fake);
	kubelet_watch_check(scene->watch);
	stage_await(&scene->stage, "waits: Connection refused|");
	assert_in_range(fake_clock_next(scene->stage.fake), 1, 10);
	assert_int_equal(unlink(path), 0);
}

static void refused_plugin_tries_again(void **state)
{
	static const uint64_t waits[] = { 50, 100, 200, 400, 800, 1600, 3200 };
	struct scene *scene = *state;

	scene->kubelet.mood = KUBELET_REFUSES;
	kubelet_serve(&scene->kubelet);
	kubelet_watch_check(scene->watch);
	scene_serve(scene);
	stage_await(&scene->stage, "example.com/a at a0.sock|waits: Protocol error|");
	for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
		stage_pass(&scene->stage, waits[i] - 1);
		fake_clock_advance(scene->stage.fake, 1);
		stage_settle(&scene->stage, "example.com/a at a0.sock|");
	}
	scene->kubelet.mood = KUBELET_TAKES;
	fake_clock_advance(scene->stage.fake, 6400);
	stage_await(&scene->stage, "example.com/a at a0.sock|done|");
}

static void hanging_kubelet_is_abandoned(void **state)
{
	struct scene *scene = *state;

	scene->kubelet.mood = KUBELET_HANGS;
	kubelet_serve(&scene->kubelet);
	kubelet_watch_check(scene->watch);
	scene_serve(scene);
	stage_await(&scene->stage, "example.com/a at a0.sock|");
	stage_pass(&scene->stage, 9999);
	/* It can call us all the while. */
	kubelet_call_back(&scene->kubelet);
	scene->kubelet.held = NULL;
	fake_clock_advance(scene->stage.fake, 1);
	stage_await(&scene->stage, "waits: Connection timed out|call cancelled|");
	scene->kubelet.mood = KUBELET_TAKES;
	fake_clock_advance(scene->stage.fake, 50);
	stage_await(&scene->stage, "example.com/a at a0.sock|done|");
}

static void late_answer_counts(void **state)
{
	struct scene *scene = *state;

	scene->kubelet.mood = KUBELET_HANGS;
	kubelet_serve(&scene->kubelet);
	kubelet_watch_check(scene->watch);
	scene_serve(scene);
	stage_await(&scene->stage, "example.com/a at a0.sock|");
	stage_pass(&scene->stage, 9999);
	kubelet_call_back(&scene->kubelet);
	stage_await(&scene->stage, "done|");
	stage_pass(&scene->stage, 100000);
}

static void kubelet_dies_under_the_call(void **state)
{
	struct scene *scene = *state;

	scene->kubelet.mood = KUBELET_DROPS;
	kubelet_serve(&scene->kubelet);
	kubelet_watch_check(scene->watch);
	scene_serve(scene);
	stage_await(&scene->stage, "example.com/a at a0.sock|waits: Connection refused|");
	scene->kubelet.mood = KUBELET_TAKES;
	kubelet_serve(&scene->kubelet);
	stage_await(&scene->stage, "example.com/a at a0.sock|done|");
}

static void new_kubelet_ends_a_call_that_hangs(void **state)
{
	struct scene *scene = *state;
	struct fake_kubelet old;

	scene->kubelet.mood = KUBELET_HANGS;
	kubelet_serve(&scene->kubelet);
	kubelet_watch_check(scene->watch);
	scene_serve(scene);
	stage_await(&scene->stage, "example.com/a at a0.sock|");
	/* Its connection stays. */
	old = scene->kubelet;
	old.service.arg = NULL;
	scene->kubelet.mood = KUBELET_TAKES;
	scene->kubelet.server = NULL;
	kubelet_wipe(&scene->kubelet);
	kubelet_serve(&scene->kubelet);
	stage_await(&scene->stage, "call cancelled|example.com/a at a1.sock|done|");
	grpc_uv_server_free(old.server);
}

static void missing_own_socket_is_not_registered(void **state)
{
	struct scene *scene = *state;
	auto_free char *path = xasprintf("%s/a.sock", scene->kubelet.dir);

	kubelet_serve(&scene->kubelet);
	scene->registration = scene_register(scene, path);
	stage_await(&scene->stage, "waits: No such file or directory|");
	stage_pass(&scene->stage, 30000);
}

/* A process that took the socket's place: our plugin's owner makes another. */
static void own_socket_is_removed(void **state)
{
	struct scene *scene = *state;
	auto_free char *path = xasprintf("%s/a0.sock", scene->kubelet.dir);

	assert_int_equal(unlink(path), 0);
	stage_await(&scene->stage, "kubelet lost its stream|example.com/a at a1.sock|done|");
}

static void may_be_freed_when_called(void **state)
{
	struct scene *scene = *state;
	auto_free char *path = xasprintf("%s/a.sock", scene->kubelet.dir);

	scene->free_when_called = true;
	folder_put(&scene->stage.folder, "device-plugins/a.sock", "");
	scene->registration = scene_register(scene, path);
	stage_await(&scene->stage, "waits: No such file or directory|");
	assert_null(scene->registration);
	scene->kubelet.mood = KUBELET_HANGS;
	kubelet_serve(&scene->kubelet);
	scene->registration = scene_register(scene, path);
	stage_await(&scene->stage, "example.com/a at a.sock|");
	fake_clock_advance(scene->stage.fake, 10000);
	stage_await(&scene->stage, "waits: Connection timed out|call cancelled|");
	assert_null(scene->registration);
	scene->registration = scene_register(scene, path);
	stage_await(&scene->stage, "example.com/a at a.sock|");
	grpc_call_answer(scene->kubelet.held, "", 0);
	scene->kubelet.held = NULL;
	stage_await(&scene->stage, "done|");
	assert_null(scene->registration);
	/* And while it calls. */
	scene->registration = scene_register(scene, path);
	stage_await(&scene->stage, "example.com/a at a.sock|");
	scene->registration = registration_free(scene->registration);
	stage_await(&scene->stage, "call cancelled|");
}

static void nothing_can_be_freed(void **state)
{
	assert_null(registration_free(NULL));
	assert_null(kubelet_watch_free(NULL));
	assert_null(kubelet_listener_free(NULL));
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_add(&suite, "freeing nothing is nothing", nothing_can_be_freed, NULL);
	suite_fixture(&suite, &registered_fixture);
	suite_add(&suite, "a kubelet takes a plugin", kubelet_takes_a_plugin, NULL);
	suite_add(&suite, "gone resources leave their room", gone_resources_leave_their_room, NULL);
	suite_add(&suite, "our socket is removed", own_socket_is_removed, NULL);
	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "a kubelet that comes later is found at once", kubelet_comes_later, NULL);
	suite_add(&suite, "a socket is bound before anybody listens",
		  socket_is_bound_before_it_listens, NULL);
	suite_add(&suite, "that socket is seen when it is called already",
		  socket_is_seen_when_it_is_called_already, NULL);
	suite_add(&suite, "a refused plugin tries again, less and less", refused_plugin_tries_again,
		  NULL);
	suite_add(&suite, "a kubelet that hangs is given up, and can call us meanwhile",
		  hanging_kubelet_is_abandoned, NULL);
	suite_add(&suite, "a late answer counts", late_answer_counts, NULL);
	suite_add(&suite, "a kubelet dies under the call", kubelet_dies_under_the_call, NULL);
	suite_add(&suite, "a new kubelet ends a call that hangs",
		  new_kubelet_ends_a_call_that_hangs, NULL);
	suite_add(&suite, "no socket of ours, no registration",
		  missing_own_socket_is_not_registered, NULL);
	suite_add(&suite, "may be freed when called", may_be_freed_when_called, NULL);
	return suite_run(&suite, "registration");
}
