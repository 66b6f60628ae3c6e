/*
 * serve: /healthz, /readyz and /metrics over plain HTTP, for the kubelet and Prometheus.
 *
 * Owns its sockets and connections. Answers GET and HEAD; who says nothing does not keep others from their answer,
 * however many connections he has, and who may only read metrics gets nowhere near a port of the probes' own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;
struct metrics;
struct serve;
struct str;
struct uv_loop_s;

enum {
	SERVE_CONNECTIONS_MAX = 64, /* of a port, with those that are being ended */
	SERVE_CALLERS_MAX = 48,     /* one more, and the one that was silent the longest goes */
	SERVE_CHECKS_MAX = 16,
};

enum serve_probe {
	SERVE_HEALTHZ, /* restart me if it fails               */
	SERVE_READYZ,  /* send me no work while it fails       */
};

/* The ports. */
enum serve_door {
	SERVE_ALL,    /* probes and metrics */
	SERVE_PROBES, /* probes alone       */
};

/* All borrowed; the texts during serve_new() only. */
struct serve_options {
	const char *listen;            /* SERVE_ALL, as listen.h has it; NULL or "off": none    */
	const char *probe_listen;      /* SERVE_PROBES, likewise                                */
	const struct metrics *metrics; /* may be NULL                                           */
};

/* A request, by itself for tests. */
struct serve_request {
	enum serve_door door;
	const char *method;
	const char *path;
	bool verbose;
};

/* 0: good. Else < 0 with @err saying what is not. Runs on the loop and must not block. */
typedef int serve_check_fn(void *arg, struct err *err);

/* Listen. Where nothing is to be listened on, *@ret_serve is an object that does nothing. @loop is borrowed.
 * Errors name flag and address; -EADDRINUSE says what to do, and then the loop must run once more. */
int serve_new(struct uv_loop_s *loop, const struct serve_options *options, struct serve **ret_serve,
	      struct err *err);
/* Takes NULL, returns NULL. The loop must run once more. */
struct serve *serve_free(struct serve *serve);

/* @name is static text, shown in the answer. */
void serve_add_check(struct serve *serve, enum serve_probe probe, const char *name,
		     serve_check_fn *fn, void *arg);

/*
 * What a request gets: the status, with the body in @out and its content type in *@ret_type. A failing probe is
 * 503 and always names its checks; a good one only if it is asked to be verbose.
 */
int serve_answer(const struct serve *serve, const struct serve_request *request, struct str *out,
		 const char **ret_type);

/* The port we listen on, 0 if off. */
unsigned serve_port(const struct serve *serve, enum serve_door door);
