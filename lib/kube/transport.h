/*
 * transport: HTTP transfers to one server over as few connections as possible, on one libuv loop.
 *
 * Knows sockets, TLS and HTTP; knows nothing of tokens, Status objects or retries (client.c does).
 * Owns the connections. Implemented over libcurl.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct credential_files;
struct transfer;
struct transport;
struct uv_loop_s;

/* Copied. */
struct transport_config {
	const char *server;          /* without a trailing slash */
	const char *tls_server_name; /* NULL: the server's */
	const char *user_agent;
	bool insecure;
	const char *proxy; /* URL; NULL: none */
	bool proxy_env;    /* without @proxy, use the environment's, but not to this machine */
	const char *const
		*headers; /* sent with every request, "Name: value"; NULL-terminated; NULL: none */
};

/* Copied before transport_start() returns. */
struct transport_request {
	const char *method;
	const char *path;          /* including the query */
	const char *authorization; /* the header's value, or NULL */
	const char *content_type;  /* NULL without a body */
	const char *body;
	size_t body_len;
	uint64_t timeout_ms; /* of the whole transfer; of a stream, until its headers */
	bool stream;
};

enum transfer_result {
	TRANSFER_DONE, /* a complete response, whatever its status */
	TRANSFER_TIMEOUT,
	TRANSFER_BROKEN,  /* no connection, or it was closed too early */
	TRANSFER_STOPPED, /* by on_data */
};

struct transfer_end {
	enum transfer_result result;
	int status;              /* HTTP status; 0: no response */
	uint64_t retry_after_ms; /* 0: no Retry-After header */
	const char *why;         /* for BROKEN: the cause */
	const char *warnings;    /* one per line (answer.h); never NULL */
};

struct transfer_ops {
	/* Part of the body of a response with @status. Nonzero ends the transfer (STOPPED). */
	int (*on_data)(void *arg, int status, const char *data, size_t len);
	/* Exactly once, unless cancelled; the transfer is freed when it returns. */
	void (*on_end)(void *arg, const struct transfer_end *end);
};

struct transport *transport_new(struct uv_loop_s *loop, const struct transport_config *config);

/* Cancels transfers in flight. Safe in every callback. The loop must run once more. */
struct transport *transport_free(struct transport *transport);

/* From now on, use new connections with these files (copied). Transfers in flight keep their
 * connection, which is closed when the last of them has ended. */
void transport_renew(struct transport *transport, const struct credential_files *files);

/* Start. No callback runs before this has returned. */
struct transfer *transport_start(struct transport *transport,
				 const struct transport_request *request,
				 const struct transfer_ops *ops, void *arg);

/* True once the headers of a 2xx response have arrived. */
bool transfer_begun(const struct transfer *transfer);

/* No callback runs any more. Safe in every callback, also in the transfer's own on_data. */
void transfer_cancel(struct transfer *transfer);

/*
 * --- liveness of a connection ---
 *
 * It detects a connection whose peer has disappeared. Pure.
 *
 * TCP keepalive detects a dead kernel. A peer whose kernel still answers while the program does not
 * (a stopped process, a load balancer without its server) needs a probe: a connection that has been
 * silent for a while gets a small request and is dead if there is no response. libcurl 7.88
 * supports HTTP/2 PING only for handles without a multi (curl_easy_upkeep does nothing for the
 * others), so curl cannot do this for us.
 */

enum {
	LIVENESS_SILENT_MS = 25 * 1000, /* silent for this long: send a probe */
	LIVENESS_ANSWER_MS = 15 * 1000, /* no response for this long: dead */
};

struct liveness {
	uint64_t received_ms; /* when data last arrived */
	uint64_t probed_ms;   /* when the probe was sent; 0: none in flight */
};

enum liveness_act { LIVENESS_FINE, LIVENESS_PROBE, LIVENESS_DEAD };

/* Data arrived, or a transfer starts to wait for data. */
void liveness_received(struct liveness *l, uint64_t now_ms);

/* What to do now, while a transfer waits. PROBE is returned once per silence. */
enum liveness_act liveness_check(struct liveness *l, uint64_t now_ms);
