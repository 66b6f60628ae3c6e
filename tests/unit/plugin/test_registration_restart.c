/* registration at kubelet.sock: again at a kubelet that drops its stream, restarts, or moves. */
#include "agent/plugin/registration.h"

#include <errno.h>
#include <sys/inotify.h>
#include <sys/syscall.h>

#include "fake/fake_clock.h"
#include "unit/plugin/registered_scene.h"

/* libuv's: of the user's instances there may be none left. */
static bool inotify_fails;

int inotify_init1(int flags)
{
	if (!inotify_fails)
		return (int)syscall(SYS_inotify_init1, flags);
	errno = EMFILE;
	return -1;
}

/* The stream ends, the kubelet stays. */
static void dropped_stream_registers_again(void **state)
{
	struct scene *scene = *state;
	uint64_t wait = 50;

	for (int i = 0; i < 6; i++, wait *= 2) {
		grpc_rpc_cancel(scene->kubelet.stream);
		scene->kubelet.stream = NULL;
		while (scene->stream)
			stage_turn(&scene->stage);
		stage_pass(&scene->stage, wait - 1);
		fake_clock_advance(scene->stage.fake, 1);
		stage_await(&scene->stage, "example.com/a at a0.sock|done|");
		while (!scene->stream)
			stage_turn(&scene->stage);
		stage_settle(&scene->stage, "");
	}
}

static void kubelet_restarts_twenty_times(void **state)
{
	struct scene *scene = *state;
	size_t fds = stage_count_fds();

	for (unsigned i = 1; i <= 20; i++) {
		auto_str struct str expected = STR_INIT;

		kubelet_kill(&scene->kubelet);
		while (scene->stream)
			stage_turn(&scene->stage);
		stage_settle(&scene->stage, "");
		kubelet_start(&scene->kubelet);
		str_addf(&expected, "example.com/a at a%u.sock|done|", i);
		stage_await(&scene->stage, str_cstr(&expected)); /* and no time went by */
		while (!scene->stream)
			stage_turn(&scene->stage);
		stage_settle(&scene->stage, "");
	}
	assert_int_equal(stage_count_fds(), fds);
}

/* The loop was busy: the end of the stream, the wipe and the new socket are seen together. */
static void restart_is_seen_at_once(void **state)
{
	struct scene *scene = *state;

	kubelet_kill(&scene->kubelet);
	kubelet_start(&scene->kubelet);
	stage_await(&scene->stage, "example.com/a at a1.sock|done|");
	while (!scene->stream)
		stage_turn(&scene->stage);
	stage_settle(&scene->stage, "");
	stage_pass(&scene->stage, 100000);
}

static void kubelet_slow_to_make_its_socket(void **state)
{
	struct scene *scene = *state;

	kubelet_kill(&scene->kubelet);
	kubelet_wipe(&scene->kubelet);
	stage_await(&scene->stage, "waits: No such file or directory|");
	stage_pass(&scene->stage, 60000);
	kubelet_serve(&scene->kubelet);
	stage_await(&scene->stage, "example.com/a at a1.sock|done|");
}

/* Another socket in one step, with no moment without one; the plugin's own stays. */
static void kubelet_socket_is_replaced(void **state)
{
	struct scene *scene = *state;
	auto_free char *path = xasprintf("%s/kubelet.sock", scene->kubelet.dir);
	auto_free char *aside = xasprintf("%s/other", scene->kubelet.dir);
	struct grpc_uv_server_settings settings = { .path = aside,
						    .service = &scene->kubelet.service };
	struct grpc_uv_server *before = scene->kubelet.server;

	assert_int_equal(
		grpc_uv_server_new(&scene->stage.loop, &settings, &scene->kubelet.server, NULL), 0);
	/* The old one has gone with its streams. */
	scene->kubelet.plugin = grpc_uv_client_free(scene->kubelet.plugin);
	while (scene->stream)
		stage_turn(&scene->stage);
	assert_int_equal(rename(aside, path), 0);
	stage_await(&scene->stage, "example.com/a at a0.sock|done|");
	grpc_uv_server_free(before);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(unlink(path), 0);
}

/* Registered by the timer, long before the watch says that the socket is there. */
static void late_event_changes_nothing(void **state)
{
	struct scene *scene;
	auto_free char *path = NULL;

	inotify_fails = true;
	scene = scene_new();
	path = xasprintf("%s/kubelet.sock", scene->kubelet.dir);
	scene_serve(scene);
	stage_await(&scene->stage, "waits: No such file or directory|");
	kubelet_serve(&scene->kubelet);
	fake_clock_advance(scene->stage.fake, 50);
	stage_await(&scene->stage, "example.com/a at a0.sock|done|");
	while (!scene->stream)
		stage_turn(&scene->stage);
	inotify_fails = false;
	assert_false(kubelet_watch_present(scene->watch));
	kubelet_watch_check(scene->watch);
	assert_true(kubelet_watch_present(scene->watch));
	stage_settle(&scene->stage, "");
	/* Nor does what is done to the same socket. */
	assert_int_equal(chmod(path, 0666), 0);
	kubelet_watch_check(scene->watch);
	stage_settle(&scene->stage, "");
	stage_pass(&scene->stage, 100000);
	scene_free(scene);
}

struct mover {
	char *path;
	char *aside;
};

static void move_aside(void *arg, enum kubelet_event event)
{
	const struct mover *mover = arg;

	if (event == KUBELET_CAME)
		assert_int_equal(rename(mover->path, mover->aside), 0);
}

/* The look finds the socket. It is gone when the registration gets the event, and then it is back
 * unchanged. */
static void socket_that_is_gone_again_changes_nothing(void **state)
{
	struct scene *scene = *state;
	auto_free char *path = xasprintf("%s/kubelet.sock", scene->kubelet.dir);
	auto_free char *aside = xasprintf("%s/aside", scene->kubelet.dir);
	struct mover mover = { path, aside };
	struct kubelet_listener *first = NULL;

	assert_int_equal(rename(path, aside), 0);
	kubelet_watch_check(scene->watch);
	first = kubelet_watch_listen(scene->watch, NULL, move_aside, &mover);
	assert_int_equal(rename(aside, path), 0);
	kubelet_watch_check(scene->watch);
	assert_int_equal(access(path, F_OK), -1);
	kubelet_listener_free(first);
	stage_settle(&scene->stage, "");
	assert_int_equal(rename(aside, path), 0);
	kubelet_watch_check(scene->watch);
	stage_settle(&scene->stage, "");
	stage_pass(&scene->stage, 100000);
}

static void folder_is_created_again(void **state)
{
	struct scene *scene = *state;

	kubelet_kill(&scene->kubelet);
	kubelet_wipe(&scene->kubelet);
	assert_int_equal(rmdir(scene->kubelet.dir), 0);
	stage_settle(&scene->stage, "");
	assert_null(scene->registration); /* there is no place for its socket */
	kubelet_start(&scene->kubelet);
	scene_serve(scene);
	stage_await(&scene->stage, "example.com/a at a2.sock|done|");
	while (!scene->stream)
		stage_turn(&scene->stage);
	/* And the new folder is watched. */
	kubelet_kill(&scene->kubelet);
	kubelet_start(&scene->kubelet);
	stage_await(&scene->stage, "example.com/a at a3.sock|done|");
}

static void without_inotify_it_takes_seconds(void **state)
{
	struct scene *scene;

	inotify_fails = true;
	scene = scene_new();
	scene_serve(scene);
	stage_await(&scene->stage, "waits: No such file or directory|");
	/* The long waits are over ten seconds away, the next look is not. */
	for (int i = 0; i < 10; i++)
		stage_pass(&scene->stage, 2600);
	kubelet_serve(&scene->kubelet);
	stage_settle(&scene->stage, "");
	fake_clock_advance(scene->stage.fake, KUBELET_POLL_MS);
	stage_await(&scene->stage, "example.com/a at a0.sock|done|");
	/* From when it works again, it is used. */
	inotify_fails = false;
	while (!scene->stream)
		stage_turn(&scene->stage);
	stage_pass(&scene->stage, KUBELET_POLL_MS);
	kubelet_kill(&scene->kubelet);
	kubelet_start(&scene->kubelet);
	stage_await(&scene->stage, "example.com/a at a1.sock|done|");
	scene_free(scene);
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_add(&suite, "a late event does not restart a registration",
		  late_event_changes_nothing, NULL);
	suite_add(&suite, "without inotify it takes seconds", without_inotify_it_takes_seconds,
		  NULL);
	suite_fixture(&suite, &registered_fixture);
	suite_add(&suite, "a dropped stream registers again", dropped_stream_registers_again, NULL);
	suite_add(&suite, "a kubelet restarts twenty times", kubelet_restarts_twenty_times, NULL);
	suite_add(&suite, "a restart that is seen only when it is over", restart_is_seen_at_once,
		  NULL);
	suite_add(&suite, "a kubelet is slow to make its socket", kubelet_slow_to_make_its_socket,
		  NULL);
	suite_add(&suite, "the kubelet's socket is replaced", kubelet_socket_is_replaced, NULL);
	suite_add(&suite, "a socket that is gone again does not restart a registration",
		  socket_that_is_gone_again_changes_nothing, NULL);
	suite_add(&suite, "the folder is created again", folder_is_created_again, NULL);
	return suite_run(&suite, "registration at kubelets that restart");
}
