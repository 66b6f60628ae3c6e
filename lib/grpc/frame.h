/*
 * frame: splits a stream's bytes into gRPC messages, independent of HTTP/2 frames. A message is one
 * byte of flags, four bytes of length and the data.
 *
 * Holds at most one unfinished message. Its memory grows with the received bytes, not with the
 * announced length. Compression is not supported: a compressed message is an error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "grpc/status.h"

struct err;

enum { GRPC_PREFIX_SIZE = 5 };

struct grpc_frames {
	size_t max; /* longest message, without the prefix */
	unsigned char prefix[GRPC_PREFIX_SIZE];
	size_t nprefix;
	size_t want; /* length of the current message; valid once nprefix is complete */
	struct str part;
};

/* One message, valid during the call. Return false to stop the feed. */
typedef bool grpc_frame_fn(void *arg, const char *data, size_t len);

/*
 * Pass every message completed by @data to @fn, in order, before returning. Returns GRPC_OK, also
 * if @fn stopped it; GRPC_UNIMPLEMENTED for a compressed message, GRPC_INTERNAL for other flags,
 * GRPC_RESOURCE_EXHAUSTED for a message longer than max. On error @err has the reason, and the
 * stream cannot be used any more.
 */
enum grpc_status grpc_frames_feed(struct grpc_frames *f, const char *data, size_t len,
				  grpc_frame_fn *fn, void *arg, struct err *err);

/* True between two messages, where a stream may end. */
bool grpc_frames_at_rest(const struct grpc_frames *f);

/* Release; the object may be used again. */
void grpc_frames_done(struct grpc_frames *f);

/* The prefix of a message of @len bytes (at most 4 GiB - 1). */
void grpc_frame_prefix(size_t len, unsigned char prefix[GRPC_PREFIX_SIZE]);
