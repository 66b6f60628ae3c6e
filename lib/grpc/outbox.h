/* outbox: the messages of one call that wait to be sent, with their prefixes; bounded. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct grpc_outbox_message;

struct grpc_outbox {
	struct grpc_outbox_message *first; /* perhaps sent in part */
	struct grpc_outbox_message *last;
	size_t sent;  /* bytes of the first */
	size_t bytes; /* that wait, of all  */
};

/* Append a message. False, and nothing happened, if more than @max bytes would wait; an empty outbox
 * takes any message. */
bool grpc_outbox_add(struct grpc_outbox *box, size_t max, const char *data, size_t len);

/* Append bytes that are no message of gRPC, without a prefix. */
void grpc_outbox_add_plain(struct grpc_outbox *box, const char *data, size_t len);

/* Drop the messages of which nothing was read yet. */
void grpc_outbox_drop_waiting(struct grpc_outbox *box);

/* Take up to @len bytes out. */
size_t grpc_outbox_read(struct grpc_outbox *box, unsigned char *buf, size_t len);

/* Release; the object may be used again. */
void grpc_outbox_done(struct grpc_outbox *box);
