#include "cli/map/map_server.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/map/map_guard.h"
#include "kube/http_loop.h"
#include "kube/listen.h"
#include "kube/serve.h"
#include "page/page.h"

/*
 * --- responses ---
 *
 * Answers with the headers of page.h.
 */

/* Queue @response, which is released, with the status and the content type @type. */
static enum MHD_Result map_reply(struct MHD_Connection *connection, unsigned status,
				 const char *type, struct MHD_Response *response)
{
	enum MHD_Result result;

	for (const struct serve_header *h = page_files.headers; h->name; h++)
		MHD_add_response_header(response, h->name, h->value);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

/* Queue a copy of the @len bytes at @data likewise. */
static enum MHD_Result map_reply_copy(struct MHD_Connection *connection, unsigned status,
				      const char *type, const void *data, size_t len)
{
	struct str body = STR_INIT;

	str_add_mem(&body, data, len);
	return map_reply(
		connection, status, type,
		MHD_create_response_from_buffer(len, str_detach(&body), MHD_RESPMEM_MUST_FREE));
}

/* Queue the refusal of @verdict. */
static enum MHD_Result map_reply_refuse(struct MHD_Connection *connection,
					const struct map_verdict *verdict)
{
	auto_str struct str line = STR_INIT;

	str_addf(&line, "%s\n", verdict->why);
	return map_reply_copy(connection, verdict->status, "text/plain; charset=utf-8",
			      str_cstr(&line), line.len);
}

/*
 * --- streams ---
 *
 * The connected pages: for each an endless answer of server-sent events.
 *
 * A stream without events to send is suspended in the HTTP daemon. A stream that is read too slowly
 * is ended; its page connects again and gets everything.
 */

enum { MAP_STREAM_BACKLOG_MAX = 8 * 1024 * 1024 }; /* beyond the first events */

struct map_streams {
	struct map_stream *first;
	size_t len;
};

enum { BLOCK = 32 * 1024 };

struct map_stream {
	struct map_streams *all;
	struct map_stream *next;
	struct MHD_Connection *connection;
	struct str text;
	size_t sent; /* bytes */
	size_t max;  /* waiting to be sent */
	bool suspended;
	bool ended;
};

static void wake(struct map_stream *stream)
{
	if (!stream->suspended)
		return;
	stream->suspended = false;
	MHD_resume_connection(stream->connection);
}

/* The daemon's callback that asks for more bytes. */
static ssize_t on_read(void *arg, uint64_t at, char *buf, size_t max)
{
	struct map_stream *stream = arg;
	size_t len = stream->text.len - stream->sent;

	(void)at;
	if (stream->ended)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (len == 0) {
		stream->suspended = true;
		MHD_suspend_connection(stream->connection);
		return 0;
	}
	if (len > max)
		len = max;
	memcpy(buf, stream->text.buf + stream->sent, len);
	stream->sent += len;
	if (stream->sent == stream->text.len) {
		str_done(&stream->text); /* the first events are large, later ones small */
		stream->sent = 0;
	}
	return (ssize_t)len;
}

static void on_closed(void *arg)
{
	struct map_stream *stream = arg;
	struct map_stream **at = &stream->all->first;

	while (*at != stream)
		at = &(*at)->next;
	*at = stream->next;
	stream->all->len--;
	str_done(&stream->text);
	free(stream);
}

/* Answer with a new stream that starts with the @len bytes at @text, which are copied. The
 * caller has checked that there are fewer than MAP_STREAMS_MAX. */
static enum MHD_Result map_streams_open(struct map_streams *streams,
					struct MHD_Connection *connection, const char *text,
					size_t len)
{
	struct map_stream *stream = xcalloc(1, sizeof(*stream));

	stream->all = streams;
	stream->connection = connection;
	stream->max = len + MAP_STREAM_BACKLOG_MAX;
	str_add_mem(&stream->text, text, len);
	stream->next = streams->first;
	streams->first = stream;
	streams->len++;
	return map_reply(connection, MHD_HTTP_OK, "text/event-stream",
			 MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, on_read, stream,
							   on_closed));
}

/* Send to all streams. Do not call it from the daemon's callbacks. */
static void map_streams_send(struct map_streams *streams, const char *text, size_t len)
{
	for (struct map_stream *stream = streams->first; stream; stream = stream->next) {
		if (stream->text.len - stream->sent + len > stream->max)
			stream->ended = true;
		else
			str_add_mem(&stream->text, text, len);
		wake(stream);
	}
}

/* End all streams. Then the daemon may be stopped, which releases them. */
static void map_streams_end(struct map_streams *streams)
{
	for (struct map_stream *stream = streams->first; stream; stream = stream->next) {
		stream->ended = true;
		wake(stream);
	}
}

enum {
	MAP_NO_TOKEN_MAX = 32,   /* connections that have not sent the token */
	MAP_NO_TOKEN_IDLE_S = 5, /* such a connection may be idle for so long */
	MAP_TOKEN_IDLE_S = 30,   /* the same for one that has sent it */
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
					(unsigned)MAP_TOKEN_IDLE_S);
}

enum { CONNECTION_MEMORY = 64 * 1024 }; /* twice the block of a stream */

struct map_server {
	struct http_loop http;
	struct map_guard guard;
	struct callers without_token;
	struct map_streams streams;
	char *address;
	map_server_page_fn *on_page;
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
	server->on_page(server->arg, &text);
	return map_streams_open(&server->streams, connection, str_cstr(&text), text.len);
}

static enum MHD_Result answer(struct map_server *server, struct MHD_Connection *connection,
			      const struct map_request *request)
{
	static const struct map_verdict nothing = { .status = MHD_HTTP_NOT_FOUND,
						    .why = "there is nothing here" };
	struct map_verdict verdict = map_guard_check(&server->guard, request);
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
		&server->without_token, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MAP_CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)MAP_NO_TOKEN_IDLE_S,
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

int map_server_new(struct uv_loop_s *loop, unsigned port, map_server_page_fn *on_page, void *arg,
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
		server->without_token.max = MAP_NO_TOKEN_MAX;
		server->on_page = on_page;
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

void map_server_send(struct map_server *server, const char *text, size_t len)
{
	map_streams_send(&server->streams, text, len);
	http_loop_wake(&server->http);
}
