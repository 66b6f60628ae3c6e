/*
 * serve: /healthz, /readyz and /metrics over plain HTTP, for the kubelet and Prometheus.
 *
 * Owns its sockets and connections. Answers GET and HEAD. Idle connections cannot lock out other
 * clients, however many there are. The probes can have a port of their own, so that clients with
 * access to the metrics need no access to the probes. A third port can serve files that are part
 * of the program, and nothing else.
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
	SERVE_CONNECTIONS_MAX = 64, /* per port, including connections being closed */
	SERVE_SILENT_MAX = 32,      /* without a request so far; above this, the oldest is closed */
	SERVE_CLIENTS_MAX = 16, /* with a request; above this, the least recently used is closed */
	SERVE_CHECKS_MAX = 16,
};

enum serve_probe {
	SERVE_HEALTHZ, /* the kubelet restarts the container if it fails */
	SERVE_READYZ,  /* no traffic is sent while it fails */
};

/* The ports. */
enum serve_door {
	SERVE_ALL,    /* probes and metrics */
	SERVE_PROBES, /* probes only */
	SERVE_FILES,  /* files only */
};

struct serve_file {
	const char *path; /* without the slash at its start; "": the page itself */
	const char *type; /* content type */
	const unsigned char *data;
	size_t len;
};

struct serve_header {
	const char *name;
	const char *value;
};

/* The files of a port, and the headers of all its answers; {0} ends the headers. */
struct serve_files {
	const struct serve_file *files;
	size_t len;
	const struct serve_header *headers;
};

/* All borrowed; the strings only during serve_new(). */
struct serve_options {
	const char *listen;            /* for SERVE_ALL, as in listen.h; NULL or "off": none */
	const char *probe_listen;      /* for SERVE_PROBES, likewise */
	const struct metrics *metrics; /* may be NULL */
};

/* A request, separate from HTTP for tests. */
struct serve_request {
	enum serve_door door;
	const char *method;
	const char *path;
	bool verbose;
};

/* Returns 0 if healthy, else < 0 with the reason in @err. Runs on the loop and must not block. */
typedef int serve_check_fn(void *arg, struct err *err);

/* Listen. If both addresses are off, *@ret_serve is an object that does nothing. @loop is
 * borrowed. Errors name the flag and the address; the message of -EADDRINUSE says what to do.
 * After an error the loop must run once more. */
int serve_new(struct uv_loop_s *loop, const struct serve_options *options, struct serve **ret_serve,
	      struct err *err);
/* Takes NULL, returns NULL. The loop must run once more. */
struct serve *serve_free(struct serve *serve);

/* Serve @files, which must outlive @serve, at @listen (as in listen.h); "off" does nothing. To be
 * called at most once. Errors are those of serve_new(). */
int serve_open_files(struct serve *serve, struct uv_loop_s *loop, const char *listen,
		     const struct serve_files *files, struct err *err);

/* The file of that path, without the slash at its start; NULL: there is none. */
const struct serve_file *serve_find_file(const struct serve_files *files, const char *path);

/* @name is static and shown in the response. */
void serve_add_check(struct serve *serve, enum serve_probe probe, const char *name,
		     serve_check_fn *fn, void *arg);

/*
 * Answer a request: returns the status, with the body in @out and its content type in *@ret_type. A
 * failing probe returns 503 and always lists its checks; a successful one lists them only if
 * verbose.
 */
int serve_answer(const struct serve *serve, const struct serve_request *request, struct str *out,
		 const char **ret_type);

/* The listening port, 0 if off. */
unsigned serve_port(const struct serve *serve, enum serve_door door);
