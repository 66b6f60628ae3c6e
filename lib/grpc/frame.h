/*
 * frame: cuts a stream's bytes into gRPC messages, wherever HTTP/2 cut them: one byte of flags, four
 * of length, the message.
 *
 * Holds at most one unfinished message, in memory that grows with what has come and not with what was
 * announced. Does not inflate: a compressed message is an error.
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
	size_t want; /* length of the message to come; counts once nprefix is full */
	struct str part;
};

/* One message, valid during the call. False stops the feed. */
typedef bool grpc_frame_fn(void *arg, const char *data, size_t len);

/*
 * Hand every message that @data completes to @fn, in order, before returning.
 * GRPC_OK, also when @fn stopped it; GRPC_UNIMPLEMENTED for a compressed message, GRPC_INTERNAL for
 * other flags, GRPC_RESOURCE_EXHAUSTED for a message longer than max: then @err says what is
 * wrong, and the stream is of no more use.
 */
enum grpc_status grpc_frames_feed(struct grpc_frames *f, const char *data, size_t len,
				  grpc_frame_fn *fn, void *arg, struct err *err);

/* True between two messages: where a stream may end. */
bool grpc_frames_at_rest(const struct grpc_frames *f);

/* Release; the object may be used again. */
void grpc_frames_done(struct grpc_frames *f);

/* The prefix of a message of @len bytes, which is at most 4 GiB - 1. */
void grpc_frame_prefix(size_t len, unsigned char prefix[GRPC_PREFIX_SIZE]);
