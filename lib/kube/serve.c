#include "kube/serve.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <microhttpd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/http_loop.h"
#include "kube/listen.h"
#include "kube/metrics.h"

enum {
	CONNECTION_MEMORY = 16 * 1024,
	FIRST_REQUEST_S = 2, /* idle time limit before the first request */
	IDLE_S = 10,         /* idle time limit after a response */
	DOORS = 3,
};

static const char *const flags[DOORS] = { "--listen", "--probe-listen", "--map-listen" };

struct check {
	enum serve_probe probe;
	const char *name;
	serve_check_fn *fn;
	void *arg;
};

/* A listening port. */
struct door {
	struct serve *serve;
	struct http_loop http;           /* no daemon: the port is off */
	struct callers silent;           /* connections without a request so far */
	struct callers clients;          /* connections that have sent one */
	const struct metrics *metrics;   /* NULL: metrics are not served */
	const struct serve_files *files; /* NULL: probes are served */
	unsigned port;
};

struct serve {
	struct door doors[DOORS];
	unsigned open; /* daemons still running */
	struct check checks[SERVE_CHECKS_MAX];
	size_t nchecks;
};

void serve_add_check(struct serve *serve, enum serve_probe probe, const char *name,
		     serve_check_fn *fn, void *arg)
{
	assert(serve->nchecks < SERVE_CHECKS_MAX);
	serve->checks[serve->nchecks++] =
		(struct check){ .probe = probe, .name = name, .fn = fn, .arg = arg };
}

/* Same format as kube-apiserver: "[+]name ok", "[-]name failed: why". */
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

const struct serve_file *serve_find_file(const struct serve_files *files, const char *path)
{
	for (size_t i = 0; i < files->len; i++) {
		if (strcmp(path, files->files[i].path) == 0)
			return &files->files[i];
	}
	return NULL;
}

static int answer_file(const struct serve_files *files, const char *path, struct str *out,
		       const char **ret_type)
{
	const struct serve_file *file = *path == '/' ? serve_find_file(files, path + 1) : NULL;

	if (!file) {
		str_add(out, "there is nothing here\n");
		return MHD_HTTP_NOT_FOUND;
	}
	*ret_type = file->type;
	str_add_mem(out, file->data, file->len);
	return MHD_HTTP_OK;
}

static int answer(const struct door *door, const char *method, const char *path, bool verbose,
		  struct str *out, const char **ret_type)
{
	const struct serve *serve = door->serve;

	*ret_type = "text/plain; charset=utf-8";
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
		str_add(out, "only GET and HEAD are answered here\n");
		return MHD_HTTP_METHOD_NOT_ALLOWED;
	}
	if (door->files)
		return answer_file(door->files, path, out, ret_type);
	if (strcmp(path, "/healthz") == 0)
		return answer_probe(serve, SERVE_HEALTHZ, verbose, out);
	if (strcmp(path, "/readyz") == 0)
		return answer_probe(serve, SERVE_READYZ, verbose, out);
	if (strcmp(path, "/metrics") == 0 && door->metrics) {
		*ret_type = "text/plain; version=0.0.4; charset=utf-8";
		metrics_write(door->metrics, out);
		return MHD_HTTP_OK;
	}
	str_add(out, door->metrics ? "there is /healthz, /readyz and /metrics\n"
				   : "there is /healthz and /readyz\n");
	return MHD_HTTP_NOT_FOUND;
}

int serve_answer(const struct serve *serve, const struct serve_request *request, struct str *out,
		 const char **ret_type)
{
	return answer(&serve->doors[request->door], request->method, request->path,
		      request->verbose, out, ret_type);
}

/* Connections that have sent a request never make room for those that have sent none. */
static void keep_connection(struct door *door, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	callers_append(&door->clients, info->socket_context, connection);
	(void)MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT,
					(unsigned)IDLE_S);
}

/* NOLINTNEXTLINE(readability-function-size): the library's signature */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **state)
{
	struct door *door = arg;
	struct MHD_Response *response;
	struct str body = STR_INIT;
	enum MHD_Result result;
	const char *type;
	size_t len;
	bool verbose;
	int status;

	(void)version;
	(void)upload;
	http_loop_progress(&door->http);
	/* Called once for the headers and again for each piece of a body, which is ignored. */
	if (!*state) {
		*state = door;
		keep_connection(door, connection);
		return MHD_YES;
	}
	if (*upload_size > 0) {
		*upload_size = 0;
		return MHD_YES;
	}
	verbose = MHD_lookup_connection_value_n(connection, MHD_GET_ARGUMENT_KIND, "verbose", 7,
						NULL, NULL) == MHD_YES;
	status = answer(door, method, url, verbose, &body, &type);
	len = body.len; /* str_detach() sets it to 0 */
	response = MHD_create_response_from_buffer(len, str_detach(&body), MHD_RESPMEM_MUST_FREE);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	for (const struct serve_header *h = door->files ? door->files->headers : NULL; h && h->name;
	     h++)
		MHD_add_response_header(response, h->name, h->value);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, (unsigned)status, response);
	MHD_destroy_response(response);
	return result;
}

static void on_connection(void *arg, struct MHD_Connection *connection, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct door *door = arg;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		*context = xcalloc(1, sizeof(struct caller));
		callers_append(&door->silent, *context, connection);
		return;
	}
	callers_remove(*context);
	free(*context);
	*context = NULL;
}

/* Takes over @fd, also on error. */
static int start_daemon(struct door *door, struct uv_loop_s *loop, int fd, struct err *err)
{
	struct MHD_Daemon *daemon = MHD_start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, on_request, door, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, door, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)SERVE_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)CONNECTION_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)FIRST_REQUEST_S,
		MHD_OPTION_END);

	if (daemon) {
		http_loop_start(&door->http, loop, daemon);
		door->serve->open++;
		return 0;
	}
	close(fd);
	return err_set(err, ERR_RETRY, -EIO, "start the probe server on port %u", door->port);
}

static int open_door(struct serve *serve, enum serve_door which, struct uv_loop_s *loop,
		     const char *text, struct err *err)
{
	struct door *door = &serve->doors[which];
	struct listen_address address = { 0 };
	int fd = -1;
	int r = listen_address_parse(text, &address, err);

	if (r == 0 && strcmp(text, "off") == 0)
		return 0;
	if (r == 0)
		r = listen_open(&address, &fd, err);
	if (r == 0) {
		door->port = listen_port(fd);
		r = start_daemon(door, loop, fd, err);
	}
	return r < 0 ? err_wrap(err, "%s", flags[which]) : 0;
}

int serve_open_files(struct serve *serve, struct uv_loop_s *loop, const char *listen,
		     const struct serve_files *files, struct err *err)
{
	serve->doors[SERVE_FILES].files = files;
	return open_door(serve, SERVE_FILES, loop, listen, err);
}

int serve_new(struct uv_loop_s *loop, const struct serve_options *options, struct serve **ret_serve,
	      struct err *err)
{
	const char *const texts[] = { options->listen, options->probe_listen };
	struct serve *serve = xcalloc(1, sizeof(*serve));
	int r = 0;

	for (size_t i = 0; i < DOORS; i++) {
		serve->doors[i].serve = serve;
		serve->doors[i].silent.max = SERVE_SILENT_MAX;
		serve->doors[i].clients.max = SERVE_CLIENTS_MAX;
	}
	serve->doors[SERVE_ALL].metrics = options->metrics;
	for (size_t i = 0; i < ARRAY_LEN(texts) && r == 0; i++) {
		if (texts[i])
			r = open_door(serve, (enum serve_door)i, loop, texts[i], err);
	}
	if (r < 0) {
		serve_free(serve);
		return r;
	}
	*ret_serve = serve;
	return 0;
}

static void on_stopped(void *arg)
{
	struct serve *serve = arg;

	if (--serve->open == 0)
		free(serve);
}

struct serve *serve_free(struct serve *serve)
{
	if (!serve)
		return NULL;
	if (serve->open == 0) {
		free(serve);
		return NULL;
	}
	for (size_t i = 0; i < DOORS; i++) {
		if (serve->doors[i].http.daemon)
			http_loop_stop(&serve->doors[i].http, on_stopped, serve);
	}
	return NULL;
}

unsigned serve_port(const struct serve *serve, enum serve_door door)
{
	return serve->doors[door].port;
}
