/* Server and client on a unix socket and one loop. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/err.h"
#include "base/str.h"
#include "grpc/uv_client.h"
#include "grpc/uv_server.h"
#include "unit/folder.h"
#include "unit/suite.h"

enum { TOO_LONG_MS = 10000 };

struct scene {
	uv_loop_t loop;
	uv_timer_t guard;
	struct folder folder;
	char *path;
	struct grpc_service service;
	struct grpc_uv_server *server;
	struct grpc_uv_client *client;
	struct grpc_call *held;
	struct str log;
	bool free_client;
	bool free_server;
};

static void log_add(struct scene *scene, const char *text)
{
	str_add(&scene->log, text);
	str_add_char(&scene->log, '|');
}

/* --- the service ------------------------------------------------------------------------------ */

static void on_echo(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	(void)arg;
	grpc_call_answer(call, request, len);
}

static void on_cancelled(void *arg)
{
	struct scene *scene = arg;

	log_add(scene, "cancelled");
	scene->held = NULL;
	if (scene->free_server)
		scene->server = grpc_uv_server_free(scene->server);
}

static void on_hold(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	struct scene *scene = arg;

	(void)request;
	(void)len;
	log_add(scene, "held");
	scene->held = call;
	grpc_call_on_cancel(call, on_cancelled, scene);
}

static void on_end_server(void *arg, struct grpc_call *call, const char *request, size_t len)
{
	struct scene *scene = arg;

	grpc_call_answer(call, request, len);
	log_add(scene, "ending");
	scene->server = grpc_uv_server_free(scene->server);
}

static const struct grpc_method methods[] = { { "/t.T/Echo", on_echo },
					      { "/t.T/Hold", on_hold },
					      { "/t.T/End", on_end_server } };

/* --- the client ------------------------------------------------------------------------------- */

static void on_message(void *arg, const char *data, size_t len)
{
	struct scene *scene = arg;

	if (len < 64)
		str_addf(&scene->log, "%.*s|", (int)len, data);
	else
		str_addf(&scene->log, "%zu bytes|", len);
	if (scene->free_client)
		scene->client = grpc_uv_client_free(scene->client);
}

static void on_end(void *arg, const struct grpc_result *result)
{
	struct scene *scene = arg;
	const char *tail = strrchr(result->message, ':');

	str_addf(&scene->log, "%s%s|", grpc_status_name(result->status), tail ? tail : "");
}

static struct grpc_rpc *call(struct scene *scene, const char *path, const char *data, size_t len)
{
	struct grpc_request request = { .path = path,
					.data = data,
					.len = len,
					.stream = strcmp(path, "/t.T/Hold") == 0,
					.on_message = on_message,
					.on_end = on_end,
					.arg = scene };
	struct grpc_rpc *rpc = NULL;

	assert_int_equal(grpc_uv_client_call(scene->client, &request, &rpc, NULL), 0);
	return rpc;
}

/* --- the stage -------------------------------------------------------------------------------- */

static void on_guard(uv_timer_t *timer)
{
	const struct scene *scene = timer->data;

	fail_msg("nothing more after '%s'", scene->log.buf ? scene->log.buf : "");
}

static int serve(struct scene *scene, struct err *err)
{
	struct grpc_uv_server_settings settings = { .path = scene->path,
						    .service = &scene->service,
						    .connections_max = 2 };

	return grpc_uv_server_new(&scene->loop, &settings, &scene->server, err);
}

static struct scene *scene_new(void)
{
	struct scene *scene = xcalloc(1, sizeof(*scene));

	(void)signal(SIGPIPE, SIG_IGN);
	folder_init(&scene->folder);
	scene->path = folder_path(&scene->folder, "t.sock");
	scene->service = (struct grpc_service){ methods, ARRAY_LEN(methods), scene };
	uv_loop_init(&scene->loop);
	uv_timer_init(&scene->loop, &scene->guard);
	scene->guard.data = scene;
	uv_unref((uv_handle_t *)&scene->guard);
	uv_timer_start(&scene->guard, on_guard, TOO_LONG_MS, 0);
	scene->client = grpc_uv_client_new(&scene->loop, scene->path, NULL);
	return scene;
}

/* Until the log is @text. */
static void scene_await(struct scene *scene, const char *text)
{
	while (strcmp(str_cstr(&scene->log), text) != 0) {
		assert_true(strncmp(str_cstr(&scene->log), text, scene->log.len) == 0);
		uv_run(&scene->loop, UV_RUN_ONCE);
	}
	str_clear(&scene->log);
}

/* Nothing is left on the loop. */
static void scene_free(struct scene *scene)
{
	grpc_uv_client_free(scene->client);
	grpc_uv_server_free(scene->server);
	uv_close((uv_handle_t *)&scene->guard, NULL);
	uv_run(&scene->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&scene->loop), 0);
	folder_done(&scene->folder);
	free(scene->path);
	str_done(&scene->log);
	free(scene);
}

SUITE_OBJECT(scene, scene_new(), scene_free);

/* --- tests ------------------------------------------------------------------------------------ */

static void calls_go_through_a_socket(void **state)
{
	enum { LEN = 3 << 20 };
	struct scene *scene = *state;
	auto_free char *data = xcalloc(1, LEN);

	assert_int_equal(serve(scene, NULL), 0);
	call(scene, "/t.T/Echo", "a", 1);
	scene_await(scene, "a|OK|");
	call(scene, "/t.T/Echo", data, LEN);
	scene_await(scene, "3145728 bytes|OK|");
	assert_int_equal(grpc_uv_server_connections(scene->server), 1);
}

static void nobody_listens(void **state)
{
	struct scene *scene = *state;

	call(scene, "/t.T/Echo", "a", 1);
	call(scene, "/t.T/Echo", "b", 1);
	scene_await(scene, "Unavailable: no such file or directory|"
			   "Unavailable: no such file or directory|");
	/* Then somebody does. */
	assert_int_equal(serve(scene, NULL), 0);
	call(scene, "/t.T/Echo", "c", 1);
	scene_await(scene, "c|OK|");
}

static void client_connects_again(void **state)
{
	struct scene *scene = *state;

	for (int i = 0; i < 20; i++) {
		assert_int_equal(serve(scene, NULL), 0);
		call(scene, "/t.T/Hold", "", 0);
		scene_await(scene, "held|");
		scene->server = grpc_uv_server_free(scene->server);
		scene_await(scene, "cancelled|Unavailable: peer closed the connection|");
	}
}

static void stream_outlives_a_goodbye(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(serve(scene, NULL), 0);
	call(scene, "/t.T/Hold", "", 0);
	scene_await(scene, "held|");
	grpc_uv_server_shutdown(scene->server);
	assert_int_equal(access(scene->path, F_OK), -1);
	assert_int_equal(grpc_call_send(scene->held, "still here", 10, NULL), GRPC_SENT);
	scene_await(scene, "still here|");
	grpc_call_finish(scene->held, GRPC_OK, NULL);
	scene_await(scene, "OK|");
	while (grpc_uv_server_connections(scene->server) > 0)
		uv_run(&scene->loop, UV_RUN_ONCE);
}

static void handlers_may_free_the_server(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(serve(scene, NULL), 0);
	call(scene, "/t.T/Hold", "", 0);
	scene_await(scene, "held|");
	call(scene, "/t.T/End", "x", 1);
	scene_await(scene, "ending|cancelled|Unavailable: peer closed the connection|"
			   "Unavailable: peer closed the connection|");
}

/* As when the kubelet drops its stream. */
static void cancelled_handler_may_free_the_server(void **state)
{
	struct scene *scene = *state;
	struct grpc_rpc *rpc;

	assert_int_equal(serve(scene, NULL), 0);
	scene->free_server = true;
	rpc = call(scene, "/t.T/Hold", "", 0);
	call(scene, "/t.T/Echo", "a", 1);
	scene_await(scene, "held|a|OK|");
	grpc_rpc_cancel(rpc);
	scene_await(scene, "cancelled|");
	assert_null(scene->server);
	/* And when its connection is gone. */
	assert_int_equal(serve(scene, NULL), 0);
	grpc_uv_client_free(scene->client);
	scene->client = grpc_uv_client_new(&scene->loop, scene->path, NULL);
	call(scene, "/t.T/Hold", "", 0);
	scene_await(scene, "held|");
	scene->client = grpc_uv_client_free(scene->client);
	scene_await(scene, "cancelled|");
	assert_null(scene->server);
}

static void answers_may_free_the_client(void **state)
{
	struct scene *scene = *state;

	assert_int_equal(serve(scene, NULL), 0);
	call(scene, "/t.T/Hold", "", 0);
	scene_await(scene, "held|");
	scene->free_client = true;
	call(scene, "/t.T/Echo", "a", 1);
	scene_await(scene, "a|cancelled|"); /* and no end of any */
	assert_null(scene->client);
}

static void socket_is_private_and_removed(void **state)
{
	struct scene *scene = *state;
	struct stat st;

	assert_int_equal(serve(scene, NULL), 0);
	assert_int_equal(lstat(scene->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_true(grpc_uv_server_has_socket(scene->server));
	scene->server = grpc_uv_server_free(scene->server);
	assert_int_equal(lstat(scene->path, &st), -1);
}

static void other_ones_socket_is_left_alone(void **state)
{
	struct scene *scene = *state;
	auto_free char *moved = folder_path(&scene->folder, "moved");
	struct grpc_uv_server *first;

	assert_int_equal(serve(scene, NULL), 0);
	first = scene->server;
	assert_int_equal(rename(scene->path, moved), 0);
	assert_false(grpc_uv_server_has_socket(first));
	assert_int_equal(serve(scene, NULL), 0);
	assert_false(grpc_uv_server_has_socket(first));
	grpc_uv_server_free(first);
	assert_true(grpc_uv_server_has_socket(scene->server));
	call(scene, "/t.T/Echo", "a", 1);
	scene_await(scene, "a|OK|");
}

static void path_must_be_free_and_short(void **state)
{
	struct scene *scene = *state;
	char name[200];
	struct err err = { 0 };

	folder_put(&scene->folder, "t.sock", "mine");
	assert_int_equal(serve(scene, &err), -EADDRINUSE);
	assert_int_equal(access(scene->path, F_OK), 0);
	(void)snprintf(name, sizeof(name), "/no/%0190d", 0);
	for (int len = 107; len <= 108; len++) {
		free(scene->path);
		scene->path = xasprintf("%.*s", len, name);
		assert_int_equal(serve(scene, &err), len == 107 ? -ENOENT : -ENAMETOOLONG);
	}
}

static int raw_connect(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(address.sun_path, path, strlen(path));
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void connections_are_limited(void **state)
{
	struct scene *scene = *state;
	int fds[3];
	char c = 0;
	ssize_t n = -1;

	assert_int_equal(serve(scene, NULL), 0);
	for (size_t i = 0; i < 3; i++)
		fds[i] = raw_connect(scene->path);
	/* The first two hear of our SETTINGS, the third of an end. */
	while (n < 0) {
		uv_run(&scene->loop, UV_RUN_NOWAIT);
		n = read(fds[2], &c, 1);
		assert_true(n >= 0 || errno == EAGAIN);
	}
	assert_int_equal(n, 0);
	assert_int_equal(grpc_uv_server_connections(scene->server), 2);
	for (size_t i = 0; i < 3; i++)
		close(fds[i]);
	while (grpc_uv_server_connections(scene->server) > 0)
		uv_run(&scene->loop, UV_RUN_ONCE);
}

static void long_requests_are_refused_at_once(void **state)
{
	struct scene *scene = *state;
	struct grpc_request request = { .path = "/t.T/Echo", .len = (4 << 20) + 1 };
	struct err err = { 0 };

	assert_int_equal(grpc_uv_client_call(scene->client, &request, NULL, &err), -EMSGSIZE);
	assert_int_equal(err.kind, ERR_INVALID);
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_fixture(&suite, &scene_fixture);
	suite_add(&suite, "calls go through a socket", calls_go_through_a_socket, NULL);
	suite_add(&suite, "nobody listens, then somebody does", nobody_listens, NULL);
	suite_add(&suite, "the client connects again", client_connects_again, NULL);
	suite_add(&suite, "a stream outlives a goodbye", stream_outlives_a_goodbye, NULL);
	suite_add(&suite, "handlers may free the server", handlers_may_free_the_server, NULL);
	suite_add(&suite, "a cancelled handler may free the server",
		  cancelled_handler_may_free_the_server, NULL);
	suite_add(&suite, "answers may free the client", answers_may_free_the_client, NULL);
	suite_add(&suite, "the socket is private, and removed", socket_is_private_and_removed,
		  NULL);
	suite_add(&suite, "other ones' socket is left alone", other_ones_socket_is_left_alone,
		  NULL);
	suite_add(&suite, "the path must be free and short", path_must_be_free_and_short, NULL);
	suite_add(&suite, "connections are limited", connections_are_limited, NULL);
	suite_add(&suite, "long requests are refused at once", long_requests_are_refused_at_once,
		  NULL);
	return suite_run(&suite, "grpc on libuv");
}
