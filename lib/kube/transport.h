/*
 * transport: HTTP transfers to one server over as few connections as possible, on one libuv loop.
 *
 * Knows sockets, TLS and HTTP; knows nothing of tokens, Status objects or retries (client.c does).
 * Owns the connections. Implemented over libcurl in client_curl.c.
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
	const char *server;          /* without a slash at the end */
	const char *tls_server_name; /* NULL: the server's         */
	const char *user_agent;
	bool insecure;
	const char *proxy; /* URL; NULL: none */
	bool proxy_env;    /* without @proxy, what the environment says, but for this machine */
	const char *const
		*headers; /* of every request, "Name: value"; NULL ends them; NULL: none */
};

/* Copied before transport_start() returns. */
struct transport_request {
	const char *method;
	const char *path;          /* with its query               */
	const char *authorization; /* the header's value, or NULL  */
	const char *content_type;  /* NULL without a body          */
	const char *body;
	size_t body_len;
	uint64_t timeout_ms; /* of the whole transfer; of a stream until its head */
	bool stream;
};

enum transfer_result {
	TRANSFER_DONE, /* a whole answer, whatever its status       */
	TRANSFER_TIMEOUT,
	TRANSFER_BROKEN,  /* no connection, or it ended too early      */
	TRANSFER_STOPPED, /* by on_data                                */
};

struct transfer_end {
	enum transfer_result result;
	int status;              /* HTTP's; 0 when none came       */
	uint64_t retry_after_ms; /* 0: not said                    */
	const char *why;         /* for BROKEN: what went wrong    */
	const char *warnings;    /* one a line (warning.h); never NULL */
};

struct transfer_ops {
	/* Bytes of the body of an answer with @status. Nonzero ends the transfer (STOPPED). */
	int (*on_data)(void *arg, int status, const char *data, size_t len);
	/* Exactly once, unless cancelled; the transfer is gone when it returns. */
	void (*on_end)(void *arg, const struct transfer_end *end);
};

struct transport *transport_new(struct uv_loop_s *loop, const struct transport_config *config);

/* Cancels what is in flight. Safe in every callback. The loop must run once more. */
struct transport *transport_free(struct transport *transport);

/* From now on, connect anew and with these files (copied). Transfers in flight stay where they are,
 * and their connection goes when the last of them has ended. */
void transport_renew(struct transport *transport, const struct credential_files *files);

/* Start. No callback runs before this has returned. */
struct transfer *transport_start(struct transport *transport,
				 const struct transport_request *request,
				 const struct transfer_ops *ops, void *arg);

/* Has the head of a 2xx answer come? */
bool transfer_begun(const struct transfer *transfer);

/* No callback runs any more. Safe in every callback, also in the transfer's own on_data. */
void transfer_cancel(struct transfer *transfer);
