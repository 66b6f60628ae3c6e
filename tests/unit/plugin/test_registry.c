/* registry: what the kubelet finds in its plugins_registry folder, and what comes of it. */
#include "agent/plugin/registry.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "agent/plugin/kubelet_watch.h"
#include "base/err.h"
#include "fake/fake_clock.h"
#include "grpc/message.h"
#include "grpc/uv_client.h"
#include "grpc/uv_server.h"
#include "proto/pluginregistration.pb-c.h"
#include "unit/plugin/stage.h"

#define RESOURCE "example.com/a"
#define ENDPOINT "/run/somewhere/a.sock"

struct scene {
	struct stage stage;
	char *dir;
	char *path;
	struct kubelet_watch *watch;
	struct registration *registration;
	struct registration *second;
	struct grpc_uv_client *kubelet;
	bool free_when_called;
};

static void log_state(void *arg, enum registration_state state, const struct err *err)
{
	struct scene *scene = arg;

	assert_int_equal(state == REGISTRATION_DONE, err == NULL);
	if (err)
		str_addf(&scene->stage.log, "waits: %s|", strerror(-err->code));
	else
		stage_log(&scene->stage, "done");
	if (scene->free_when_called)
		scene->registration = registration_free(scene->registration);
}

static const struct registration_ops ops = { .on_state = log_state };

static struct registration *scene_register(struct scene *scene, enum registration_mode mode)
{
	const struct registration_deps deps = { .loop = &scene->stage.loop,
						.clock = scene->stage.clock,
						.watch = scene->watch,
						.kubelet_dir = "/nonexistent",
						.registry_dir = scene->dir,
						.mode = mode };

	return registration_new(&deps, RESOURCE, ENDPOINT, &ops, scene);
}

static struct scene *scene_new(void)
{
	struct scene *scene = xcalloc(1, sizeof(*scene));

	stage_init(&scene->stage);
	scene->dir = folder_path(&scene->stage.folder, "plugins_registry");
	scene->path = xasprintf("%s/hostdev-example.com_a.sock", scene->dir);
	assert_int_equal(mkdir(scene->dir, 0700), 0);
	scene->watch = kubelet_watch_new(&scene->stage.loop, scene->stage.clock, "/nonexistent/no");
	scene->kubelet = grpc_uv_client_new(&scene->stage.loop, scene->path, NULL);
	return scene;
}

/* With a socket that the kubelet can find. */
static struct scene *scene_open(void)
{
	struct scene *scene = scene_new();

	scene->registration = scene_register(scene, REGISTRATION_AUTO);
	stage_settle(&scene->stage, "");
	assert_int_equal(access(scene->path, F_OK), 0);
	return scene;
}

static void scene_free(struct scene *scene)
{
	registration_free(scene->registration);
	registration_free(scene->second);
	kubelet_watch_free(scene->watch);
	grpc_uv_client_free(scene->kubelet);
	stage_done(&scene->stage);
	free(scene->path);
	free(scene->dir);
	free(scene);
}

SUITE_OBJECT(unregistered, scene_new(), scene_free);
SUITE_OBJECT(scene, scene_open(), scene_free);

/* --- what the kubelet does -------------------------------------------------------------------- */

static void on_info(void *arg, const char *data, size_t len)
{
	struct scene *scene = arg;
	ProtobufCMessage *message = NULL;
	const Pluginregistration__PluginInfo *info;

	assert_int_equal(grpc_message_unpack(&pluginregistration__plugin_info__descriptor, data,
					     len, &message, NULL),
			 0);
	info = (const Pluginregistration__PluginInfo *)message;
	assert_int_equal(info->n_supported_versions, 1);
	str_addf(&scene->stage.log, "%s %s %s %s|", info->type, info->name, info->endpoint,
		 info->supported_versions[0]);
	grpc_message_free(message);
}

static void on_nothing(void *arg, const char *data, size_t len)
{
	(void)arg;
	(void)data;
	assert_int_equal(len, 0);
}

static void on_end(void *arg, const struct grpc_result *result)
{
	struct scene *scene = arg;

	if (result->status != GRPC_OK)
		stage_log(&scene->stage, grpc_status_name(result->status));
}

static void ask(struct scene *scene)
{
	const struct grpc_request request = { .path = "/pluginregistration.Registration/GetInfo",
					      .data = "",
					      .on_message = on_info,
					      .on_end = on_end,
					      .arg = scene };

	assert_int_equal(grpc_uv_client_call(scene->kubelet, &request, NULL, NULL), 0);
}

static void notify(struct scene *scene, const char *data, size_t len)
{
	const struct grpc_request request = {
		.path = "/pluginregistration.Registration/NotifyRegistrationStatus",
		.data = data,
		.len = len,
		.on_message = on_nothing,
		.on_end = on_end,
		.arg = scene
	};

	assert_int_equal(grpc_uv_client_call(scene->kubelet, &request, NULL, NULL), 0);
}

#define INFO "DevicePlugin " RESOURCE " " ENDPOINT " v1beta1|"

static void notify_done(struct scene *scene)
{
	notify(scene, "\x08\x01", 2);
}

/* --- tests ------------------------------------------------------------------------------------ */

static void kubelet_finds_the_socket(void **state)
{
	struct scene *scene = *state;

	ask(scene);
	stage_settle(&scene->stage, INFO);
	notify_done(scene);
	stage_settle(&scene->stage, "done|");
	stage_pass(&scene->stage, 100000);
	/* It starts again, and comes by itself. */
	ask(scene);
	stage_settle(&scene->stage, INFO);
	notify_done(scene);
	stage_settle(&scene->stage, "done|");
	scene->registration = registration_free(scene->registration);
	assert_int_equal(access(scene->path, F_OK), -1);
}

static void kubelet_refuses(void **state)
{
	struct scene *scene = *state;

	notify(scene, "\x12\x02no", 4);
	stage_settle(&scene->stage, "waits: Protocol error|");
	notify(scene, "\x12\x02no", 4);
	stage_settle(&scene->stage, "");
	notify(scene, "\x12\x02so", 4);
	stage_settle(&scene->stage, "waits: Protocol error|");
	notify(scene, "\xff", 1);
	stage_settle(&scene->stage, "InvalidArgument|");
	notify_done(scene);
	stage_settle(&scene->stage, "done|");
}

static void kubelet_does_not_come(void **state)
{
	struct scene *scene = *state;

	stage_pass(&scene->stage, 9000);
	fake_clock_advance(scene->stage.fake, 1000);
	stage_settle(&scene->stage, "waits: Connection timed out|");
	stage_pass(&scene->stage, 100000);
	notify_done(scene);
	stage_settle(&scene->stage, "done|");
}

static void dropped_stream_makes_the_socket_again(void **state)
{
	struct scene *scene = *state;
	uint64_t wait = 50;

	notify_done(scene);
	stage_settle(&scene->stage, "done|");
	for (int i = 0; i < 4; i++, wait *= 2) {
		struct socket_id before = socket_id_of(scene->path);
		struct socket_id after;

		registration_again(scene->registration);
		stage_pass(&scene->stage, wait - 1);
		after = socket_id_of(scene->path);
		assert_true(socket_id_same(&before, &after));
		stage_pass(&scene->stage, 1);
		after = socket_id_of(scene->path);
		assert_true(after.there);
		assert_false(socket_id_same(&before, &after));
		notify_done(scene);
		stage_settle(&scene->stage, "done|");
	}
}

/* It restarts, and comes by itself before we make it come: that is enough. */
static void kubelet_is_first(void **state)
{
	struct scene *scene = *state;
	struct socket_id before = socket_id_of(scene->path);
	struct socket_id after;

	registration_again(scene->registration);
	ask(scene);
	stage_settle(&scene->stage, INFO);
	notify_done(scene);
	stage_settle(&scene->stage, "done|");
	stage_pass(&scene->stage, 100000);
	after = socket_id_of(scene->path);
	assert_true(socket_id_same(&before, &after));
}

static void socket_of_a_crash_is_replaced(void **state)
{
	struct scene *scene = *state;
	auto_free char *aside = xasprintf("%s/aside", scene->dir);
	struct grpc_service service = { 0 };
	struct grpc_uv_server_settings settings = { .path = scene->path, .service = &service };
	struct grpc_uv_server *crashed = NULL;

	assert_int_equal(grpc_uv_server_new(&scene->stage.loop, &settings, &crashed, NULL), 0);
	assert_int_equal(link(scene->path, aside), 0);
	grpc_uv_server_free(crashed);
	assert_int_equal(rename(aside, scene->path), 0);
	scene->registration = scene_register(scene, REGISTRATION_REGISTRY);
	stage_settle(&scene->stage, "");
	notify_done(scene);
	stage_settle(&scene->stage, "done|");
}

static void what_is_no_socket_is_left_alone(void **state)
{
	struct scene *scene = *state;

	folder_put(&scene->stage.folder, "plugins_registry/hostdev-example.com_a.sock", "precious");
	scene->registration = scene_register(scene, REGISTRATION_REGISTRY);
	stage_settle(&scene->stage, "waits: File exists|");
	stage_pass(&scene->stage, 20000);
	assert_int_equal(unlink(scene->path), 0);
	stage_pass(&scene->stage, KUBELET_POLL_MS);
	notify_done(scene);
	stage_settle(&scene->stage, "done|");
}

/* A rolling update: the new one takes over, the old one does not fight, and is there when the new
 * one is gone. */
static void second_agent_takes_over(void **state)
{
	struct scene *scene = *state;
	struct socket_id theirs;
	struct socket_id after;

	notify_done(scene);
	stage_settle(&scene->stage, "done|");
	scene->second = scene_register(scene, REGISTRATION_AUTO);
	stage_settle(&scene->stage, "waits: Address already in use|");
	theirs = socket_id_of(scene->path);
	stage_pass(&scene->stage, 9999);
	after = socket_id_of(scene->path);
	assert_true(socket_id_same(&theirs, &after));
	scene->second = registration_free(scene->second);
	stage_settle(&scene->stage, "");
	grpc_uv_client_free(scene->kubelet);
	scene->kubelet = grpc_uv_client_new(&scene->stage.loop, scene->path, NULL);
	notify_done(scene);
	stage_settle(&scene->stage, "done|");
}

/* The one that ends does not take the other's socket with it. */
static void old_agent_leaves_the_new_socket(void **state)
{
	struct scene *scene = *state;

	scene->second = scene_register(scene, REGISTRATION_AUTO);
	stage_settle(&scene->stage, "waits: Address already in use|");
	scene->registration = registration_free(scene->registration);
	assert_int_equal(access(scene->path, F_OK), 0);
}

/* Of resources that are offered no more; a living agent's and what is not ours stay. */
static void left_over_sockets_are_swept(void **state)
{
	static const char *const dead[] = { "hostdev-a.io_b.sock", "hostdev-0123456789abcdef.sock",
					    "nvidia-a.sock", "hostdev-a.io_b.sock.bak" };
	struct scene *scene = *state;

	for (size_t i = 0; i < ARRAY_LEN(dead); i++) {
		auto_free char *path = xasprintf("%s/%s", scene->dir, dead[i]);
		auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		struct sockaddr_un address = { .sun_family = AF_UNIX };

		(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
		assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	}
	assert_int_equal(registry_sweep(scene->dir, NULL), 2);
	for (size_t i = 0; i < ARRAY_LEN(dead); i++) {
		auto_free char *path = xasprintf("%s/%s", scene->dir, dead[i]);

		assert_int_equal(access(path, F_OK), i < 2 ? -1 : 0);
	}
	assert_int_equal(access(scene->path, F_OK), 0);
}

static void folder_is_wiped_or_gone(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(unlink(scene->path), 0);
	stage_settle(&scene->stage, "");
	assert_int_equal(access(scene->path, F_OK), 0);
	assert_int_equal(unlink(scene->path), 0);
	assert_int_equal(rmdir(scene->dir), 0);
	fake_clock_advance(scene->stage.fake, KUBELET_POLL_MS);
	stage_settle(&scene->stage, "waits: No such file or directory|");
	stage_pass(&scene->stage, 60000);
	assert_int_equal(mkdir(scene->dir, 0700), 0);
	stage_pass(&scene->stage, KUBELET_POLL_MS);
	assert_int_equal(access(scene->path, F_OK), 0);
}

/* One way or the other, never both. */
static void folder_decides_the_way(void **state)
{
	struct scene *scene = *state;

	scene->registration = scene_register(scene, REGISTRATION_DIRECT);
	stage_settle(&scene->stage, "waits: No such file or directory|");
	assert_int_equal(access(scene->path, F_OK), -1);
	scene->registration = registration_free(scene->registration);
	assert_int_equal(rmdir(scene->dir), 0);
	scene->registration = scene_register(scene, REGISTRATION_AUTO);
	stage_settle(&scene->stage, "waits: No such file or directory|");
	assert_int_equal(mkdir(scene->dir, 0700), 0);
	stage_pass(&scene->stage, 60000);
	assert_int_equal(access(scene->path, F_OK), -1);
}

static void may_be_freed_when_called(void **state)
{
	struct scene *scene = *state;

	scene->free_when_called = true;
	notify_done(scene);
	stage_settle(&scene->stage, "done|Unavailable|");
	assert_null(scene->registration);
	folder_put(&scene->stage.folder, "plugins_registry/hostdev-example.com_a.sock", "");
	scene->registration = scene_register(scene, REGISTRATION_REGISTRY);
	stage_settle(&scene->stage, "waits: File exists|");
	assert_null(scene->registration);
}

static struct path_case {
	const char *name;
	const char *resource;
	const char *path;
} paths[] = {
	{ "a resource's name is read in its socket's", "example.com/GPU_1.a-b",
	  "/r/hostdev-example.com_GPU_1.a-b.sock" },
	{ "what is no plain letter is not taken over", "a/../../etc\n%",
	  "/r/hostdev-a_.._.._etc__.sock" },
};

static void path_matches_table(void **state)
{
	const struct path_case *c = *state;
	auto_free char *path = registry_socket_path("/r", c->resource);

	assert_string_equal(path, c->path);
}

static void long_path_becomes_a_hash(void **state)
{
	enum { FIXED = sizeof("/r/hostdev-.sock") - 1 };
	char resource[110] = "";

	for (size_t len = 1; len < sizeof(resource); len++) {
		auto_free char *path = NULL;

		resource[len - 1] = 'a';
		path = registry_socket_path("/r", resource);
		assert_int_equal(strlen(path), FIXED + (FIXED + len <= 107 ? len : 16));
	}
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_rows(&suite, paths, path_matches_table);
	suite_add(&suite, "a long path becomes a hash", long_path_becomes_a_hash, NULL);
	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "the kubelet finds the socket", kubelet_finds_the_socket, NULL);
	suite_add(&suite, "the kubelet refuses, and says why", kubelet_refuses, NULL);
	suite_add(&suite, "the kubelet does not come", kubelet_does_not_come, NULL);
	suite_add(&suite, "a dropped stream makes the socket again",
		  dropped_stream_makes_the_socket_again, NULL);
	suite_add(&suite, "a kubelet that comes by itself is not called", kubelet_is_first, NULL);
	suite_add(&suite, "a second agent takes over", second_agent_takes_over, NULL);
	suite_add(&suite, "the old agent leaves the new one's socket alone",
		  old_agent_leaves_the_new_socket, NULL);
	suite_add(&suite, "left-over sockets are swept", left_over_sockets_are_swept, NULL);
	suite_add(&suite, "the folder is wiped, or gone", folder_is_wiped_or_gone, NULL);
	suite_add(&suite, "may be freed when called", may_be_freed_when_called, NULL);
	suite_fixture(&suite, &unregistered_fixture);
	suite_add(&suite, "the socket of a crash is replaced", socket_of_a_crash_is_replaced, NULL);
	suite_add(&suite, "what is no socket is left alone", what_is_no_socket_is_left_alone, NULL);
	suite_add(&suite, "the folder decides the way", folder_decides_the_way, NULL);
	return suite_run(&suite, "registry");
}
