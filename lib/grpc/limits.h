/* limits: resource limits of one connection. GRPC_LIMITS has the values for a kubelet on a unix
 * socket. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct grpc_limits {
	size_t message_max;       /* bytes of a message, in both directions */
	size_t queue_max;         /* bytes queued for sending per call */
	size_t unfinished_max;    /* bytes of incomplete messages, over all calls */
	uint32_t streams_max;     /* concurrent calls that the peer may open */
	uint32_t header_list_max; /* bytes of a call's headers, counted as in RFC 9113 6.5.2 */
	uint32_t hpack_table_max; /* bytes of each dynamic table */
	uint32_t stream_window; /* bytes the peer may send on a call before we extend the window */
	uint32_t connection_window;
	size_t continuations_max; /* after HEADERS; nghttp2 counts one in n pieces as up to n */
	size_t settings_max;      /* entries of one SETTINGS frame */
	size_t acks_max;          /* queued answers to PING and SETTINGS */
	uint64_t resets_burst;    /* streams the peer may reset in a burst, ... */
	uint64_t resets_per_s;    /* ... and in the long run */
	size_t barren_max;        /* consecutive DATA frames without data */
	size_t output_frames_max; /* queued frames above which input is not read */
	uint64_t hello_ms;        /* timeout for the peer's first SETTINGS; 0: none */
	uint64_t request_ms;      /* timeout for a call's whole request; 0: none */
	uint64_t idle_ms; /* server: close without a call for this to twice this time; 0: never */
	uint64_t keepalive_ms; /* send a PING after a silence of this length; 0: never */
	uint64_t keepalive_wait_ms;
};

/* clang-format off */
#define GRPC_LIMITS                           \
	((struct grpc_limits){                \
		.message_max = 4 << 20,       \
		.queue_max = 12 << 20,        \
		.unfinished_max = 16 << 20,   \
		.streams_max = 100,           \
		.header_list_max = 16384,     \
		.hpack_table_max = 4096,      \
		.stream_window = 1 << 20,     \
		.connection_window = 4 << 20, \
		.continuations_max = 40,      \
		.settings_max = 32,           \
		.acks_max = 256,              \
		.resets_burst = 200,          \
		.resets_per_s = 33,           \
		.barren_max = 100,            \
		.output_frames_max = 1024,    \
		.hello_ms = 10000,            \
		.request_ms = 30000,          \
		.idle_ms = 60000,             \
		.keepalive_wait_ms = 20000,   \
	})
/* clang-format on */
