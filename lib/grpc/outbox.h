/* outbox: a bounded queue of a call's outgoing messages, with their prefixes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct grpc_outbox_message;

struct grpc_outbox {
	struct grpc_outbox_message *first; /* may be partly sent */
	struct grpc_outbox_message *last;
	size_t sent;  /* bytes of the first message already sent */
	size_t bytes; /* queued bytes of all messages */
};

/* Append a message. Returns false and does nothing if more than @max bytes would be queued; an
 * empty outbox accepts any message. */
bool grpc_outbox_add(struct grpc_outbox *box, size_t max, const char *data, size_t len);

/* Append bytes without a prefix, which are not a gRPC message. */
void grpc_outbox_add_plain(struct grpc_outbox *box, const char *data, size_t len);

/* Drop the messages that have not been partly read. */
void grpc_outbox_drop_waiting(struct grpc_outbox *box);

/* Remove up to @len bytes. */
size_t grpc_outbox_read(struct grpc_outbox *box, unsigned char *buf, size_t len);

/* Release; the object may be used again. */
void grpc_outbox_done(struct grpc_outbox *box);
