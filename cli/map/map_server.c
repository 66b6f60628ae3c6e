#include "cli/map/map_server.h"

#include <errno.h>
#include <microhttpd.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/map/map_guard.h"
#include "cli/map/map_reply.h"
#include "cli/map/map_streams.h"
#include "kube/callers.h"
#include "kube/http_loop.h"
#include "kube/listen.h"
#include "kube/serve.h"
#include "page/page.h"

enum {
	MAP_STRANGERS_MAX = 32, /* of connections that have not sent the token */
	MAP_STRANGER_S = 5,     /* that such a connection may be idle */
	MAP_FRIEND_S = 30,      /* that one with the token may be idle */
	MAP_CONNECTIONS_MAX = 256,
};

/* The daemon's MHD_OPTION_NOTIFY_CONNECTION. @arg: the struct callers of connections without the
 * token. */
static void map_callers_notify(void *arg, struct MHD_Connection *connection, void **socket_context,
			       enum MHD_ConnectionNotificationCode what)
{
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		*socket_context = xcalloc(1, sizeof(struct caller));
		callers_append(arg, *socket_context, connection);
		return;
	}
	callers_remove(*socket_context);
	free(*socket_context);
	*socket_context = NULL;
}

/* A connection that has sent the token no longer counts among those without it. */
static void map_callers_admit(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	callers_remove(info->socket_context);
	(void)MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT,
					(unsigned)MAP_FRIEND_S);
}

enum { CONNECTION_MEMORY = 64 * 1024 }; /* twice the block of a stream */

struct map_server {
	struct http_loop http;
	struct map_guard guard;
	struct callers strangers;
	struct map_streams streams;
	char *address;
	map_server_greet_fn *greet;
	void *arg;
};

static enum MHD_Result answer_stream(struct map_server *server, struct MHD_Connection *connection)
{
	static const struct map_verdict full = {
		.status = MHD_HTTP_SERVICE_UNAVAILABLE,
		.why = "too many pages listen already: close some",
	};
	auto_str struct str text = STR_INIT;

	if (server->streams.len >= MAP_STREAMS_MAX)
		return map_reply_refuse(connection, &full);
	server->greet(server->arg, &text);
	return map_streams_open(&server->streams, connection, str_cstr(&text), text.len);
}

static enum MHD_Result answer(struct map_server *server, struct MHD_Connection *connection,
			      const struct map_request *request)
{
	static const struct map_verdict nothing = { .status = MHD_HTTP_NOT_FOUND,
						    .why = "there is nothing here" };
	struct map_verdict verdict = map_guard_judge(&server->guard, request);
	const struct serve_file *file;

	if (verdict.status != MHD_HTTP_OK)
		return map_reply_refuse(connection, &verdict);
	map_callers_admit(connection);
	if (strcmp(verdict.page, "changes") == 0)
		return answer_stream(server, connection);
	file = serve_find_file(&page_files, verdict.page);
	if (!file)
		return map_reply_refuse(connection, &nothing);
	return map_reply_copy(connection, MHD_HTTP_OK, file->type, file->data, file->len);
}

/* NOLINTNEXTLINE(readability-function-size): the library's signature */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **state)
{
	struct map_server *server = arg;
	struct map_request request = {
		.method = method,
		.host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
						    MHD_HTTP_HEADER_HOST),
		.path = url,
	};

	(void)version;
	(void)upload;
	http_loop_progress(&server->http);
	/* Called once for the head, and again for each piece of a body, which is ignored.
	 * Anything but a GET is refused before it can send one. */
	if (!*state && strcmp(method, "GET") == 0) {
		*state = server;
		return MHD_YES;
	}
	if (*upload_size > 0) {
		*upload_size = 0;
		return MHD_YES;
	}
	return answer(server, connection, &request);
}

/* Takes ownership of @fd, also on error. */
static int start_daemon(struct map_server *server, struct uv_loop_s *loop, int fd, struct err *err)
{
	struct MHD_Daemon *daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, server,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_NOTIFY_CONNECTION, map_callers_notify,
		&server->strangers, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MAP_CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)MAP_STRANGER_S,
		MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);

	if (!daemon) {
		close(fd);
		return err_set(err, ERR_RETRY, -EIO, "start the page's server on port %u",
			       server->guard.port);
	}
	http_loop_start(&server->http, loop, daemon);
	return 0;
}

static void release(void *arg)
{
	struct map_server *server = arg;

	free(server->address);
	free(server);
}

int map_server_new(struct uv_loop_s *loop, unsigned port, map_server_greet_fn *greet, void *arg,
		   struct map_server **ret_server, struct err *err)
{
	struct listen_address address = { .host = "127.0.0.1", .port = port };
	struct map_server *server = xcalloc(1, sizeof(*server));
	int fd = -1;
	int r = map_token_make(server->guard.token, err);

	if (r == 0)
		r = listen_open(&address, &fd, err);
	if (r == 0) {
		server->guard.port = listen_port(fd);
		server->strangers.max = MAP_STRANGERS_MAX;
		server->greet = greet;
		server->arg = arg;
		server->address = xasprintf("http://127.0.0.1:%u/%s/", server->guard.port,
					    server->guard.token);
		r = start_daemon(server, loop, fd, err);
	}
	if (r < 0) {
		release(server);
		return r;
	}
	*ret_server = server;
	return 0;
}

struct map_server *map_server_free(struct map_server *server)
{
	if (!server)
		return NULL;
	map_streams_end(&server->streams);
	http_loop_stop(&server->http, release, server);
	return NULL;
}

const char *map_server_address(const struct map_server *server)
{
	return server->address;
}

size_t map_server_pages(const struct map_server *server)
{
	return server->streams.len;
}

void map_server_send(struct map_server *server, const char *text, size_t len)
{
	map_streams_send(&server->streams, text, len);
	http_loop_wake(&server->http);
}
