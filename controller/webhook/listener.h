/*
 * listener: HTTPS for the API server's admission reviews, on a libuv loop.
 *
 * Owns its socket, its connections and the bodies that come in. TLS 1.2 and 1.3 with AEAD suites only.
 * All that a caller can make grow is bounded: connections, bodies, all bodies together, and the time that a
 * handshake and a request take to arrive. Whoever reaches the port can connect, and stay silent: of one
 * connection too many, the one without a handshake goes that is there the longest, and of those with one the
 * one that has asked for nothing the longest; so an API server is always let in. Of bodies that are too much
 * together, the one goes that has been coming in the longest: those of an API server are there at once.
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
	LISTENER_CONNECTIONS_MAX = 128, /* with those that are being ended          */
	LISTENER_STRANGERS_MAX = 24,    /* without a handshake                      */
	LISTENER_GUESTS_MAX = 80,       /* with one                                 */
	LISTENER_HANDSHAKE_S = 2,       /* that one without a handshake is silent   */
	LISTENER_BODY_MAX = 3 * 1024 * 1024,
	LISTENER_BODIES_MAX = 16 * 1024 * 1024, /* of all requests that are coming in  */
	LISTENER_ARRIVAL_S = 10,                /* a request has come in by then       */
	LISTENER_IDLE_S =
		120, /* longer than API servers keep a connection, so that they close it */
};

/* The versions and suites that are spoken, in GnuTLS's words. For tests: no suite of TLS 1.1 is taken, so that
 * a handshake does not show whether the version is. */
extern const char listener_priorities[];

/* Answer a POST to @path with @body, which is terminated: HTTP's status, and JSON or text in @out. Must
 * not block. @verified: the client has shown a certificate of client_ca. */
typedef int listener_fn(void *arg, const char *path, bool verified, const char *body, size_t len,
			struct str *out);

/* Borrowed, but for the address. */
struct listener_options {
	struct clock *clock;
	struct metrics *metrics; /* may be NULL */
	const struct listen_address *address;
	const char *
		client_ca; /* PEM: who asks has a client certificate of one of these; NULL: anybody is answered */
	listener_fn *answer;
	void *arg;
};

/* Listen at once; handshakes fail until there is a certificate. Errors name the address; -EINVAL: client_ca is
 * none. */
int listener_new(struct uv_loop_s *loop, const struct listener_options *options,
		 struct listener **ret_listener, struct err *err);
/* Takes NULL, returns NULL. The loop must run once more. */
struct listener *listener_free(struct listener *listener);

/* Handshakes from now on are made with this certificate (PEM, with what follows of its chain) and key;
 * connections that there are stay. On an error the previous one stays. */
int listener_use(struct listener *listener, const char *cert, const char *key, struct err *err);

/* From now on an answer is the last one of its connection, so that callers go elsewhere before this ends:
 * what they send while a kept connection is being closed would be lost (RFC 9112, 9.6). */
void listener_drain(struct listener *listener);

unsigned listener_port(const struct listener *listener);
