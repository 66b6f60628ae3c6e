#include "grpc/uv_server.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "grpc/session.h"
#include "grpc/uv_wire.h"

enum { CONNECTIONS_MAX = 16, BACKLOG = 64 };

struct connection {
	struct grpc_wire wire;
	struct grpc_server *engine;
	struct grpc_uv_server *server; /* NULL: the server was freed */
	struct connection *next;
	struct connection **link; /* the pointer that points to this connection */
};

struct grpc_uv_server {
	uv_pipe_t listener;
	char *path;
	const struct grpc_service *service;
	struct grpc_limits limits;
	struct connection *connections;
	size_t nconnections;
	size_t connections_max;
	bool crowded; /* limit reached and logged; cleared at half of it */
	bool listening;
	bool closed; /* the listener's handle is closed */
	bool freed;
	dev_t dev; /* device and inode of the socket file */
	ino_t ino;
};

/* --- connections --- */

static void connection_forget(struct connection *c)
{
	if (!c->server)
		return;
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	if (--c->server->nconnections <= c->server->connections_max / 2)
		c->server->crowded = false;
	c->server = NULL;
}

static void on_end(void *arg, const char *why)
{
	struct connection *c = arg;

	log_debug("gRPC connection ended", log_str("socket", c->server->path), log_str("why", why));
	grpc_server_close(c->engine); /* a handler's callback may free the server */
	connection_forget(c);
}

static void on_closed(void *arg)
{
	struct connection *c = arg;

	grpc_server_free(c->engine);
	free(c);
}

static const struct grpc_wire_ops wire_ops = { .on_end = on_end, .on_closed = on_closed };

static struct connection *connection_new(struct grpc_uv_server *server)
{
	struct connection *c = xcalloc(1, sizeof(*c));
	uv_loop_t *loop = server->listener.loop;

	c->engine = grpc_server_new(server->service, &server->limits, uv_now(loop));
	grpc_wire_init(&c->wire, loop, grpc_server_session(c->engine), &wire_ops, c);
	c->server = server;
	c->link = &server->connections;
	c->next = server->connections;
	if (c->next)
		c->next->link = &c->next;
	server->connections = c;
	server->nconnections++;
	return c;
}

static void connection_close(struct connection *c)
{
	connection_forget(c);
	grpc_wire_close(&c->wire);
	grpc_server_close(c->engine);
}

static void on_connection(uv_stream_t *listener, int status)
{
	struct grpc_uv_server *server = listener->data;
	struct connection *c;
	struct err err = { 0 };
	int r;

	if (status < 0) {
		log_warn("cannot accept gRPC connection", log_str("socket", server->path),
			 log_str("why", uv_strerror(status)));
		return;
	}
	c = connection_new(server);
	r = grpc_wire_accept(&c->wire, listener, &err);
	if (r == 0 && server->nconnections > server->connections_max)
		r = err_set(&err, ERR_RETRY, -EMFILE, "more than %zu connections",
			    server->connections_max);
	if (r == 0)
		return;
	if (!server->crowded)
		log_warn("gRPC connections refused", log_str("socket", server->path),
			 log_str("why", err.msg));
	server->crowded = true;
	connection_close(c);
}

/* --- the socket --- */

/* libuv would remove the path when it closes a pipe that it has bound, even if it belongs to
 * somebody else by then. */
static int socket_bind(struct grpc_uv_server *server, int *ret_fd, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct stat st;

	if (fd < 0)
		return err_set(err, ERR_RETRY, -errno, "make a socket: %s", strerror(errno));
	memcpy(address.sun_path, server->path, strlen(server->path));
	/* net/unix/af_unix.c creates the file with the socket's mode. */
	if (fchmod(fd, S_IRUSR | S_IWUSR) < 0)
		return err_set(err, ERR_RETRY, -errno, "chmod a socket: %s", strerror(errno));
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return err_set(err, ERR_RETRY, -errno, "bind a socket to '%s': %s", server->path,
			       strerror(errno));
	/* Listen at once: a client that waits for the path would be refused between bind() and
	 * listen(). */
	if (listen(fd, BACKLOG) < 0)
		return err_set(err, ERR_RETRY, -errno, "listen on '%s': %s", server->path,
			       strerror(errno));
	if (lstat(server->path, &st) < 0)
		return err_set(err, ERR_RETRY, -errno, "stat '%s': %s", server->path,
			       strerror(errno));
	server->dev = st.st_dev;
	server->ino = st.st_ino;
	*ret_fd = take_fd(fd);
	return 0;
}

static int listen_on(struct grpc_uv_server *server, struct err *err)
{
	auto_close int fd = -1;
	int r = socket_bind(server, &fd, err);

	if (r < 0)
		return r;
	server->listening = true;
	r = uv_pipe_open(&server->listener, fd);
	if (r == 0) {
		take_fd(fd);
		r = uv_listen((uv_stream_t *)&server->listener, BACKLOG, on_connection);
	}
	if (r < 0)
		return err_set(err, ERR_RETRY, r, "listen on '%s': %s", server->path,
			       uv_strerror(r));
	return 0;
}

bool grpc_uv_server_has_socket(const struct grpc_uv_server *server)
{
	struct stat st;

	return server->listening && lstat(server->path, &st) == 0 && st.st_dev == server->dev &&
	       st.st_ino == server->ino;
}

static void release(struct grpc_uv_server *server)
{
	free(server->path);
	free(server);
}

static void on_listener_closed(uv_handle_t *handle)
{
	struct grpc_uv_server *server = handle->data;

	server->closed = true;
	if (server->freed)
		release(server);
}

static void listener_close(struct grpc_uv_server *server)
{
	if (grpc_uv_server_has_socket(server))
		unlink(server->path);
	server->listening = false;
	if (!uv_is_closing((uv_handle_t *)&server->listener))
		uv_close((uv_handle_t *)&server->listener, on_listener_closed);
}

/* --- life --- */

int grpc_uv_server_new(uv_loop_t *loop, const struct grpc_uv_server_settings *settings,
		       struct grpc_uv_server **ret_server, struct err *err)
{
	struct grpc_uv_server *server;
	int r = grpc_wire_check_path(settings->path, err);

	if (r < 0)
		return r;
	server = xcalloc(1, sizeof(*server));
	uv_pipe_init(loop, &server->listener, 0);
	server->listener.data = server;
	server->path = xstrdup(settings->path);
	server->service = settings->service;
	server->limits = settings->limits ? *settings->limits : GRPC_LIMITS;
	server->connections_max =
		settings->connections_max ? settings->connections_max : CONNECTIONS_MAX;
	r = listen_on(server, err);
	if (r < 0) {
		grpc_uv_server_free(server);
		return r;
	}
	*ret_server = server;
	return 0;
}

struct grpc_uv_server *grpc_uv_server_free(struct grpc_uv_server *server)
{
	if (!server || server->freed)
		return NULL;
	server->freed = true;
	listener_close(server);
	while (server->connections)
		connection_close(server->connections);
	if (server->closed)
		release(server);
	return NULL;
}

void grpc_uv_server_hang_up(struct grpc_uv_server *server)
{
	while (server->connections)
		connection_close(server->connections);
}

void grpc_uv_server_shutdown(struct grpc_uv_server *server)
{
	listener_close(server);
	for (struct connection *c = server->connections; c; c = c->next)
		grpc_session_shutdown(grpc_server_session(c->engine));
}

size_t grpc_uv_server_connections(const struct grpc_uv_server *server)
{
	return server->nconnections;
}
