#include "kube/serve.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <microhttpd.h>
#include <uv.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "kube/metrics.h"

enum {
	CONNECTION_MEMORY = 16 * 1024,
	CONNECTION_TIMEOUT_S = 10,
	BACKLOG = 32,
};

struct check {
	enum serve_probe probe;
	const char *name;
	serve_check_fn *fn;
	void *arg;
};

struct serve {
	struct MHD_Daemon *daemon; /* NULL: off */
	const struct metrics *metrics;
	uv_poll_t poll; /* of the daemon's epoll descriptor */
	uv_timer_t timer;
	unsigned handles; /* not closed yet */
	unsigned port;
	struct check checks[SERVE_CHECKS_MAX];
	size_t nchecks;
};

int serve_address_parse(const char *text, struct serve_address *ret_address, struct err *err)
{
	const char *colon = strrchr(text, ':');
	struct serve_address address = { 0 };
	const char *host = text;
	uint64_t port;
	size_t len;

	if (strcmp(text, "off") == 0) {
		*ret_address = address;
		return 0;
	}
	if (!colon || !str_to_u64(colon + 1, &port) || port > 65535)
		return err_set(err, ERR_INVALID, -EINVAL, "'%s' is not ADDRESS:PORT, :PORT or off",
			       text);
	len = (size_t)(colon - text);
	if (len >= 2 && host[0] == '[' && host[len - 1] == ']') {
		host++;
		len -= 2;
	} else if (memchr(host, ':', len)) {
		return err_set(err, ERR_INVALID, -EINVAL,
			       "'%s': an IPv6 address needs brackets, [ADDRESS]:PORT", text);
	}
	if (len >= sizeof(address.host))
		return err_set(err, ERR_INVALID, -EINVAL, "'%s': the address is too long", text);
	memcpy(address.host, host, len);
	address.port = (unsigned)port;
	*ret_address = address;
	return 0;
}

union socket_address {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
};

/* The socket address of @address; without a host that of every interface, IPv4 and IPv6. */
static int to_socket_address(const struct serve_address *address, union socket_address *at,
			     struct err *err)
{
	*at = (union socket_address){ 0 };
	if (inet_pton(AF_INET, address->host, &at->four.sin_addr) == 1) {
		at->four.sin_family = AF_INET;
		at->four.sin_port = htons((uint16_t)address->port);
		return 0;
	}
	if (inet_pton(AF_INET6, *address->host ? address->host : "::", &at->six.sin6_addr) == 1) {
		at->six.sin6_family = AF_INET6;
		at->six.sin6_port = htons((uint16_t)address->port);
		return 0;
	}
	return err_set(err, ERR_INVALID, -EINVAL, "'%s' is not an IP address", address->host);
}

static int bind_error(const struct serve_address *address, struct err *err)
{
	int code = errno;

	if (code == EADDRINUSE)
		return err_set(err, ERR_RETRY, -code,
			       "port %u of '%s' is in use by another program: choose another "
			       "address, or off",
			       address->port, address->host);
	return err_set(err, ERR_INVALID, -code, "listen on port %u of '%s': %s", address->port,
		       address->host, strerror(code));
}

static int listen_on(const struct serve_address *address, int *ret_fd, struct err *err)
{
	union socket_address at;
	auto_close int fd = -1;
	int on = 1;
	int r;

	r = to_socket_address(address, &at, err);
	if (r < 0)
		return r;
	fd = socket(at.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 && errno == EAFNOSUPPORT && !*address->host) {
		/* A kernel without IPv6. */
		struct serve_address again = { .host = "0.0.0.0", .port = address->port };

		return listen_on(&again, ret_fd, err);
	}
	if (fd < 0)
		return bind_error(address, err);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, &at.any, sizeof(at)) < 0 || listen(fd, BACKLOG) < 0)
		return bind_error(address, err);
	*ret_fd = take_fd(fd);
	return 0;
}

static unsigned port_of(int fd)
{
	union socket_address at = { 0 };
	socklen_t len = sizeof(at);

	if (getsockname(fd, &at.any, &len) < 0)
		return 0;
	return ntohs(at.any.sa_family == AF_INET6 ? at.six.sin6_port : at.four.sin_port);
}

void serve_add_check(struct serve *serve, enum serve_probe probe, const char *name,
		     serve_check_fn *fn, void *arg)
{
	assert(serve->nchecks < SERVE_CHECKS_MAX);
	serve->checks[serve->nchecks++] =
		(struct check){ .probe = probe, .name = name, .fn = fn, .arg = arg };
}

/* In the form of kube-apiserver's: "[+]name ok", "[-]name failed: why". */
static int answer_probe(const struct serve *serve, enum serve_probe probe, bool verbose,
			struct str *out)
{
	auto_str struct str lines = STR_INIT;
	bool good = true;

	for (size_t i = 0; i < serve->nchecks; i++) {
		const struct check *check = &serve->checks[i];
		struct err err = { 0 };

		if (check->probe != probe)
			continue;
		if (check->fn(check->arg, &err) == 0) {
			str_addf(&lines, "[+]%s ok\n", check->name);
			continue;
		}
		good = false;
		str_addf(&lines, "[-]%s failed: ", check->name);
		str_add_clean(&lines, err.msg, strlen(err.msg));
		str_add_char(&lines, '\n');
	}
	if (verbose || !good)
		str_add(out, str_cstr(&lines));
	str_addf(out, "%s%s\n",
		 good                    ? "ok"
		 : probe == SERVE_READYZ ? "readyz"
					 : "healthz",
		 good ? "" : " check failed");
	return good ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
}

int serve_answer(const struct serve *serve, const char *method, const char *path, int verbose,
		 struct str *out, const char **ret_type)
{
	*ret_type = "text/plain; charset=utf-8";
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
		str_add(out, "only GET and HEAD are answered here\n");
		return MHD_HTTP_METHOD_NOT_ALLOWED;
	}
	if (strcmp(path, "/healthz") == 0)
		return answer_probe(serve, SERVE_HEALTHZ, verbose, out);
	if (strcmp(path, "/readyz") == 0)
		return answer_probe(serve, SERVE_READYZ, verbose, out);
	if (strcmp(path, "/metrics") == 0 && serve->metrics) {
		*ret_type = "text/plain; version=0.0.4; charset=utf-8";
		metrics_write(serve->metrics, out);
		return MHD_HTTP_OK;
	}
	str_add(out, "there is /healthz, /readyz and /metrics\n");
	return MHD_HTTP_NOT_FOUND;
}

/* NOLINTNEXTLINE(readability-function-size): the library's signature */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **state)
{
	struct serve *serve = arg;
	struct MHD_Response *response;
	struct str body = STR_INIT;
	enum MHD_Result result;
	const char *type;
	size_t len;
	int verbose;
	int status;

	(void)version;
	(void)upload;
	/* Called once for the head and again for each piece of a body, which is of no interest. */
	if (!*state) {
		*state = serve;
		return MHD_YES;
	}
	if (*upload_size > 0) {
		*upload_size = 0;
		return MHD_YES;
	}
	verbose = MHD_lookup_connection_value_n(connection, MHD_GET_ARGUMENT_KIND, "verbose", 7,
						NULL, NULL) == MHD_YES;
	status = serve_answer(serve, method, url, verbose, &body, &type);
	len = body.len; /* str_detach() empties it */
	response = MHD_create_response_from_buffer(len, str_detach(&body), MHD_RESPMEM_MUST_FREE);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, (unsigned)status, response);
	MHD_destroy_response(response);
	return result;
}

static void on_timer(uv_timer_t *timer);

/* Let the daemon act on what is ready, then sleep as long as it allows. */
static void turn(struct serve *serve)
{
	MHD_UNSIGNED_LONG_LONG wait_ms;

	MHD_run(serve->daemon);
	if (MHD_get_timeout(serve->daemon, &wait_ms) == MHD_YES)
		uv_timer_start(&serve->timer, on_timer, wait_ms, 0);
	else
		uv_timer_stop(&serve->timer);
}

static void on_timer(uv_timer_t *timer)
{
	turn(timer->data);
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	turn(poll->data);
}

/* Takes @fd over, also on error. */
static int start_daemon(struct serve *serve, int fd, struct err *err)
{
	serve->daemon = MHD_start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, on_request, serve, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)SERVE_CONNECTIONS_MAX,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)SERVE_CONNECTIONS_PER_IP,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)CONNECTION_TIMEOUT_S, MHD_OPTION_END);
	if (serve->daemon)
		return 0;
	close(fd);
	return err_set(err, ERR_RETRY, -EIO, "start the probe server on port %u", serve->port);
}

static void watch_daemon(struct serve *serve, struct uv_loop_s *loop)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(serve->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	int r;

	uv_timer_init(loop, &serve->timer);
	r = uv_poll_init(loop, &serve->poll, info->epoll_fd);
	assert(r == 0); /* a fresh epoll descriptor, which epoll can watch */
	serve->timer.data = serve->poll.data = serve;
	serve->handles = 2;
	uv_poll_start(&serve->poll, UV_READABLE, on_ready);
}

int serve_new(struct uv_loop_s *loop, const char *text, const struct metrics *metrics,
	      struct serve **ret_serve, struct err *err)
{
	struct serve_address address = { 0 };
	struct serve *serve;
	int fd = -1;
	int r;

	r = serve_address_parse(text, &address, err);
	if (r < 0)
		return r;
	if (strcmp(text, "off") != 0) {
		r = listen_on(&address, &fd, err);
		if (r < 0)
			return r;
	}
	serve = xcalloc(1, sizeof(*serve));
	serve->metrics = metrics;
	if (fd >= 0) {
		serve->port = port_of(fd);
		r = start_daemon(serve, fd, err);
		if (r < 0) {
			free(serve);
			return r;
		}
		watch_daemon(serve, loop);
	}
	*ret_serve = serve;
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	struct serve *serve = handle->data;

	if (--serve->handles == 0)
		free(serve);
}

struct serve *serve_free(struct serve *serve)
{
	if (!serve)
		return NULL;
	if (!serve->daemon) {
		free(serve);
		return NULL;
	}
	uv_close((uv_handle_t *)&serve->poll, on_closed);
	uv_close((uv_handle_t *)&serve->timer, on_closed);
	MHD_stop_daemon(serve->daemon);
	return NULL;
}

unsigned serve_port(const struct serve *serve)
{
	return serve->port;
}
