#include "unit/suite.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <uv.h>

#include "base/err.h"
#include "base/str.h"
#include "kube/metrics.h"
#include "kube/serve.h"

static int check_flag(void *arg, struct err *err)
{
	const bool *good = arg;

	return *good ? 0 : err_set(err, ERR_RETRY, -EAGAIN, "not listed\nyet");
}

static struct answer_case {
	const char *name;
	enum serve_door door;
	const char *method;
	const char *path;
	bool verbose;
	bool synced; /* what the one readiness check says */
	int status;
	const char *body;
} answers[] = {
	{ "alive", SERVE_ALL, "GET", "/healthz", false, false, 200, "ok\n" },
	{ "ready", SERVE_ALL, "GET", "/readyz", false, true, 200, "ok\n" },
	{ "ready, and why", SERVE_ALL, "GET", "/readyz", true, true, 200, "[+]informer ok\nok\n" },
	{ "not ready names the check", SERVE_ALL, "GET", "/readyz", false, false, 503,
	  "[-]informer failed: not listed\\x0ayet\nreadyz check failed\n" },
	{ "HEAD is answered", SERVE_ALL, "HEAD", "/readyz", false, true, 200, "ok\n" },
	{ "POST is not", SERVE_ALL, "POST", "/readyz", false, true, 405,
	  "only GET and HEAD are answered here\n" },
	{ "metrics", SERVE_ALL, "GET", "/metrics", false, true, 200,
	  "# HELP up Up.\n# TYPE up gauge\nup 0\n" },
	{ "elsewhere is nothing", SERVE_ALL, "GET", "/", false, true, 404,
	  "there is /healthz, /readyz and /metrics\n" },
	{ "a prefix is nothing", SERVE_ALL, "GET", "/readyz/x", false, true, 404,
	  "there is /healthz, /readyz and /metrics\n" },
	{ "alive, at the port of probes", SERVE_PROBES, "GET", "/healthz", false, false, 200,
	  "ok\n" },
	{ "ready, and why, at the port of probes", SERVE_PROBES, "GET", "/readyz", true, true, 200,
	  "[+]informer ok\nok\n" },
	{ "metrics are not at the port of probes", SERVE_PROBES, "GET", "/metrics", false, true,
	  404, "there is /healthz and /readyz\n" },
	{ "the page", SERVE_FILES, "GET", "/", false, true, 200, "page" },
	{ "a file of the page", SERVE_FILES, "HEAD", "/map.js", false, true, 200, "script" },
	{ "a file is not written", SERVE_FILES, "PUT", "/map.js", false, true, 405,
	  "only GET and HEAD are answered here\n" },
	{ "no other file", SERVE_FILES, "GET", "/../map.js", false, true, 404,
	  "there is nothing here\n" },
	{ "probes are not at the port of files", SERVE_FILES, "GET", "/healthz", false, true, 404,
	  "there is nothing here\n" },
	{ "metrics neither", SERVE_FILES, "GET", "/metrics", false, true, 404,
	  "there is nothing here\n" },
	{ "a path is needed", SERVE_FILES, "GET", "", false, true, 404, "there is nothing here\n" },
};

static const struct serve_file file_rows[] = {
	{ "", "text/plain; page", (const unsigned char *)"page", 4 },
	{ "map.js", "text/plain; script", (const unsigned char *)"script", 6 },
};

static const struct serve_header no_headers[] = { { 0 } };

static const struct serve_files files = { file_rows, 2, no_headers };

SUITE_OBJECT(metrics, metrics_new(), metrics_free);

static void request_is_answered(void **state)
{
	static const struct metric_desc up = { .name = "up", .help = "Up.", .type = METRIC_GAUGE };
	const struct answer_case *c = suite_row(state);
	struct metrics *metrics = *state;
	auto_str struct str body = STR_INIT;
	struct serve *serve = NULL;
	bool synced = c->synced;
	const char *type = NULL;

	metrics_family(metrics, &up);
	assert_int_equal(serve_new(NULL,
				   &(struct serve_options){ .listen = "off",
							    .probe_listen = "off",
							    .metrics = metrics },
				   &serve, NULL),
			 0);
	assert_int_equal(serve_open_files(serve, NULL, "off", &files, NULL), 0);
	assert_int_equal(serve_port(serve, SERVE_FILES), 0);
	serve_add_check(serve, SERVE_READYZ, "informer", check_flag, &synced);
	assert_int_equal(
		serve_answer(serve,
			     &(struct serve_request){ c->door, c->method, c->path, c->verbose },
			     &body, &type),
		c->status);
	assert_string_equal(str_cstr(&body), c->body);
	assert_int_equal(strncmp(type, "text/plain; ", 12), 0);
	serve_free(serve);
}

static struct busy_case {
	const char *name;
	enum serve_door door; /* the one whose port is in use */
	const char *flag;
} busy[] = {
	{ "an address in use is explained", SERVE_ALL, "--listen: " },
	{ "and so is that of the probes, when the other one is open", SERVE_PROBES,
	  "--probe-listen: " },
	{ "and that of the files", SERVE_FILES, "--map-listen: " },
};

static void an_address_in_use_is_explained(void **state)
{
	const struct busy_case *c = *state;
	struct serve_options first = { .probe_listen = "127.0.0.1:0" };
	struct serve_options second = { .listen = "127.0.0.1:0" };
	auto_free char *address = NULL;
	struct serve *serve = NULL;
	struct serve *none = NULL;
	struct err err = { 0 };
	uv_loop_t loop;

	uv_loop_init(&loop);
	assert_int_equal(serve_new(&loop, &first, &serve, &err), 0);
	assert_int_equal(serve_port(serve, SERVE_ALL), 0);
	assert_true(serve_port(serve, SERVE_PROBES) > 0);
	address = xasprintf("127.0.0.1:%u", serve_port(serve, SERVE_PROBES));
	if (c->door == SERVE_PROBES)
		second.probe_listen = address;
	else
		second.listen = address;
	if (c->door == SERVE_FILES)
		assert_int_equal(serve_open_files(serve, &loop, address, &files, &err),
				 -EADDRINUSE);
	else
		assert_int_equal(serve_new(&loop, &second, &none, &err), -EADDRINUSE);
	assert_non_null(
		strstr(err.msg, "in use by another program: choose another address, or off"));
	assert_int_equal(strncmp(err.msg, c->flag, strlen(c->flag)), 0);
	serve_free(serve);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

static void files_have_a_port_of_their_own(void **state)
{
	struct serve_options first = { .listen = "127.0.0.1:0" };
	struct serve *serve = NULL;
	struct err err = { 0 };
	uv_loop_t loop;

	uv_loop_init(&loop);
	assert_int_equal(serve_new(&loop, &first, &serve, &err), 0);
	assert_int_equal(serve_open_files(serve, &loop, "127.0.0.1:0", &files, &err), 0);
	assert_true(serve_port(serve, SERVE_FILES) > 0);
	assert_int_not_equal(serve_port(serve, SERVE_FILES), serve_port(serve, SERVE_ALL));
	serve_free(serve);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, busy, an_address_in_use_is_explained);
	suite_add(&suite, "files have a port of their own", files_have_a_port_of_their_own, NULL);
	suite_fixture(&suite, &metrics_fixture);
	suite_rows(&suite, answers, request_is_answered);
	return suite_run(&suite, "serve");
}
