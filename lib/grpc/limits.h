/* limits: what one connection may cost. GRPC_LIMITS are the values for a kubelet on a unix socket. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct grpc_limits {
	size_t message_max;       /* bytes of a message, either way                        */
	size_t queue_max;         /* bytes that wait to be sent on one call                */
	size_t unfinished_max;    /* bytes of messages that have not come whole, all calls */
	uint32_t streams_max;     /* calls at a time that the peer may have open           */
	uint32_t header_list_max; /* bytes of a call's headers, as RFC 9113 6.5.2 counts   */
	uint32_t hpack_table_max; /* bytes of either dynamic table                         */
	uint32_t stream_window;   /* bytes the peer may send on a call before we agree     */
	uint32_t connection_window;
	size_t continuations_max; /* frames after HEADERS; nghttp2 counts one that comes in n
				   * pieces as up to n                                     */
	size_t settings_max;      /* entries of one SETTINGS frame                         */
	size_t acks_max;          /* answers to PING and SETTINGS that wait to be sent     */
	uint64_t resets_burst;    /* streams the peer may reset at once, ...               */
	uint64_t resets_per_s;    /* ... and in the long run                               */
	size_t barren_max;        /* DATA frames in a row that bring nothing               */
	size_t output_frames_max; /* waiting frames above which no input should be read    */
	uint64_t hello_ms;        /* the peer's first SETTINGS are due; 0: whenever        */
	uint64_t request_ms;      /* a call's whole request is due; 0: whenever            */
	uint64_t idle_ms;         /* server: who has no call for so long, and at most twice
				   * as long, is sent away; 0: never                       */
	uint64_t keepalive_ms;    /* PING after so long a silence; 0: never                */
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
