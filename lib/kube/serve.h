/*
 * serve: /healthz, /readyz and /metrics over plain HTTP, for the kubelet and Prometheus.
 *
 * Owns its socket and connections. Answers GET and HEAD; the idle connections of one caller do not
 * keep another from its answer.
 */
#pragma once

#include <stddef.h>

struct err;
struct metrics;
struct serve;
struct str;
struct uv_loop_s;

enum { SERVE_CONNECTIONS_MAX = 64, SERVE_CONNECTIONS_PER_IP = 16, SERVE_CHECKS_MAX = 16 };

enum serve_probe {
	SERVE_HEALTHZ, /* restart me if it fails               */
	SERVE_READYZ,  /* send me no work while it fails       */
};

/* 0: good. Else < 0 with @err saying what is not. Runs on the loop and must not block. */
typedef int serve_check_fn(void *arg, struct err *err);

/* Listen on the address in @text (listen.h). With "off", *@ret_serve is an object that does nothing. @loop and @metrics (may be NULL)
 * are borrowed. Errors name the address; -EADDRINUSE says what to do. */
int serve_new(struct uv_loop_s *loop, const char *text, const struct metrics *metrics,
	      struct serve **ret_serve, struct err *err);
/* Takes NULL, returns NULL. The loop must run once more. */
struct serve *serve_free(struct serve *serve);

/* @name is static text, shown in the answer. */
void serve_add_check(struct serve *serve, enum serve_probe probe, const char *name,
		     serve_check_fn *fn, void *arg);

/*
 * What a request gets, by itself for tests: the status, with the body in @out and its content type
 * in *@ret_type. A failing probe is 503 and always names its checks; a good one only if @verbose.
 */
int serve_answer(const struct serve *serve, const char *method, const char *path, int verbose,
		 struct str *out, const char **ret_type);

/* The port we listen on, 0 if off. */
unsigned serve_port(const struct serve *serve);
