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
	CONNECTION_TIMEOUT_S = 10,
};

struct check {
	enum serve_probe probe;
	const char *name;
	serve_check_fn *fn;
	void *arg;
};

struct serve {
	struct http_loop http; /* without a daemon: off */
	const struct metrics *metrics;
	unsigned port;
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
	http_loop_progress(&serve->http);
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

/* Takes @fd over, also on error. */
static int start_daemon(struct serve *serve, struct uv_loop_s *loop, int fd, struct err *err)
{
	struct MHD_Daemon *daemon = MHD_start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, on_request, serve, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)SERVE_CONNECTIONS_MAX,
		MHD_OPTION_PER_IP_CONNECTION_LIMIT, (unsigned)SERVE_CONNECTIONS_PER_IP,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)CONNECTION_TIMEOUT_S, MHD_OPTION_END);
	if (daemon) {
		http_loop_start(&serve->http, loop, daemon);
		return 0;
	}
	close(fd);
	return err_set(err, ERR_RETRY, -EIO, "start the probe server on port %u", serve->port);
}

int serve_new(struct uv_loop_s *loop, const char *text, const struct metrics *metrics,
	      struct serve **ret_serve, struct err *err)
{
	struct listen_address address = { 0 };
	struct serve *serve;
	int fd = -1;
	int r;

	r = listen_address_parse(text, &address, err);
	if (r < 0)
		return r;
	if (strcmp(text, "off") != 0) {
		r = listen_open(&address, &fd, err);
		if (r < 0)
			return r;
	}
	serve = xcalloc(1, sizeof(*serve));
	serve->metrics = metrics;
	if (fd >= 0) {
		serve->port = listen_port(fd);
		r = start_daemon(serve, loop, fd, err);
		if (r < 0) {
			free(serve);
			return r;
		}
	}
	*ret_serve = serve;
	return 0;
}

struct serve *serve_free(struct serve *serve)
{
	if (serve && serve->http.daemon)
		http_loop_stop(&serve->http, free, serve);
	else
		free(serve);
	return NULL;
}

unsigned serve_port(const struct serve *serve)
{
	return serve->port;
}
