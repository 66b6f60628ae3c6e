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
	const char *method;
	const char *path;
	int verbose;
	bool synced; /* what the one readiness check says */
	int status;
	const char *body;
} answers[] = {
	{ "alive", "GET", "/healthz", 0, false, 200, "ok\n" },
	{ "ready", "GET", "/readyz", 0, true, 200, "ok\n" },
	{ "ready, and why", "GET", "/readyz", 1, true, 200, "[+]informer ok\nok\n" },
	{ "not ready names the check", "GET", "/readyz", 0, false, 503,
	  "[-]informer failed: not listed\\x0ayet\nreadyz check failed\n" },
	{ "HEAD is answered", "HEAD", "/readyz", 0, true, 200, "ok\n" },
	{ "POST is not", "POST", "/readyz", 0, true, 405, "only GET and HEAD are answered here\n" },
	{ "metrics", "GET", "/metrics", 0, true, 200, "# HELP up Up.\n# TYPE up gauge\nup 0\n" },
	{ "elsewhere is nothing", "GET", "/", 0, true, 404,
	  "there is /healthz, /readyz and /metrics\n" },
	{ "a prefix is nothing", "GET", "/readyz/x", 0, true, 404,
	  "there is /healthz, /readyz and /metrics\n" },
};

static void request_is_answered(void **state)
{
	static const struct metric_desc up = { .name = "up", .help = "Up.", .type = METRIC_GAUGE };
	const struct answer_case *c = *state;
	struct metrics *metrics = metrics_new();
	auto_str struct str body = STR_INIT;
	struct serve *serve = NULL;
	bool synced = c->synced;
	const char *type = NULL;

	metrics_family(metrics, &up);
	assert_int_equal(serve_new(NULL, "off", metrics, &serve, NULL), 0);
	serve_add_check(serve, SERVE_READYZ, "informer", check_flag, &synced);
	assert_int_equal(serve_answer(serve, c->method, c->path, c->verbose, &body, &type),
			 c->status);
	assert_string_equal(str_cstr(&body), c->body);
	assert_int_equal(strncmp(type, "text/plain; ", 12), 0);
	serve_free(serve);
	metrics_free(metrics);
}

static void an_address_in_use_is_explained(void **state)
{
	struct serve *first = NULL;
	struct serve *second = NULL;
	auto_free char *address = NULL;
	struct err err = { 0 };
	uv_loop_t loop;

	(void)state;
	uv_loop_init(&loop);
	assert_int_equal(serve_new(&loop, "127.0.0.1:0", NULL, &first, &err), 0);
	assert_true(serve_port(first) > 0);
	address = xasprintf("127.0.0.1:%u", serve_port(first));
	assert_int_equal(serve_new(&loop, address, NULL, &second, &err), -EADDRINUSE);
	assert_non_null(
		strstr(err.msg, "in use by another program: choose another address, or off"));
	serve_free(first);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, answers, request_is_answered);
	suite_add(&suite, "an address in use is explained", an_address_in_use_is_explained, NULL);
	return suite_run(&suite, "serve");
}
