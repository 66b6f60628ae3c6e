/*
 * listener: an HTTPS server for the API server's admission reviews, on a libuv loop.
 *
 * Owns its socket, its connections and the request bodies. TLS 1.2 and 1.3 with AEAD suites only.
 * Everything a client can make grow is limited: connections, bodies, all bodies together, and the
 * time for handshakes and requests. Anybody who reaches the port can connect and send nothing. If
 * there are too many connections, the oldest one without a handshake is closed, or of those with a
 * handshake the one without a request for the longest time; so an API server can always connect.
 * While there is room, a handshake may take as long as API servers wait for it (10 s,
 * TLSHandshakeTimeout of Go's net/http), because a client on a busy node may need seconds. If the
 * bodies together are too large, the one that has been arriving the longest is dropped: an API
 * server sends its body at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct clock;
struct err;
struct listen_address;
struct listener;
struct metrics;
struct str;
struct uv_loop_s;

enum {
	LISTENER_CONNECTIONS_MAX = 128, /* including connections being closed */
	LISTENER_PENDING_MAX = 24,      /* connections without a completed handshake */
	LISTENER_ESTABLISHED_MAX = 80,  /* connections with a completed handshake */
	LISTENER_HANDSHAKE_S = 10,      /* time limit for the handshake */
	LISTENER_BODY_MAX = 3 * 1024 * 1024,
	LISTENER_BODIES_MAX = 16 * 1024 * 1024, /* bytes, of all requests being received */
	LISTENER_ARRIVAL_S = 10,                /* time limit for receiving a request */
	LISTENER_IDLE_S = 120,                  /* API servers close idle connections earlier */
};

/* The enabled versions and suites, as a GnuTLS priority string. For tests: the suites exclude
 * TLS 1.1, so that a handshake alone does not show whether that version is enabled. */
extern const char listener_priorities[];

/* Answer a POST to @path with @body, which is NUL-terminated: returns the HTTP status, with JSON
 * or text in @out. Must not block. @verified: the client has presented a certificate of
 * client_ca. */
typedef int listener_fn(void *arg, const char *path, bool verified, const char *body, size_t len,
			struct str *out);

/* Borrowed, except for the address. */
struct listener_options {
	struct clock *clock;
	struct metrics *metrics; /* may be NULL */
	const struct listen_address *address;
	const char *client_ca; /* PEM: CAs of allowed clients; NULL: any client is allowed */
	listener_fn *answer;
	void *arg;
};

/* Listen at once; handshakes fail until there is a certificate. Errors name the address;
 * -EINVAL: client_ca is not valid. */
int listener_new(struct uv_loop_s *loop, const struct listener_options *options,
		 struct listener **ret_listener, struct err *err);
/* Takes NULL, returns NULL. The loop must run once more. */
struct listener *listener_free(struct listener *listener);

/* Use this certificate (PEM, with its chain) and key for new handshakes; existing connections
 * stay. On error the previous one is kept. */
int listener_use(struct listener *listener, const char *cert, const char *key, struct err *err);

/* Close each connection after its next response, so that clients reconnect elsewhere before this
 * replica ends: a request sent while a kept connection is being closed would be lost (RFC 9112,
 * 9.6). */
void listener_drain(struct listener *listener);

unsigned listener_port(const struct listener *listener);
