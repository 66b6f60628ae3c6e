/* head: of a block of HTTP/2 headers, those that gRPC is about; the others are counted and dropped. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct grpc_head {
	size_t size; /* as RFC 9113 6.5.2 counts: name, value and 32 for each header */
	bool too_large;
	/* The first of each; NULL: there was none. */
	char *method;
	char *path;
	char *http_status;
	char *content_type;
	char *timeout;
	char *encoding;
	char *status;
	char *message;
};

/* Count a header, and keep it if it is one of ours. Beyond @max bytes too_large is set, and nothing
 * more is kept. */
void grpc_head_add(struct grpc_head *head, size_t max, const char *name, const char *value,
		   size_t value_len);

/* True for "application/grpc", alone or with "+proto", ";charset=..." and the like. */
bool grpc_head_is_grpc(const struct grpc_head *head);

/* True if messages are not compressed, as far as the head says. */
bool grpc_head_is_plain(const struct grpc_head *head);

/* Release; the object may be used again. */
void grpc_head_done(struct grpc_head *head);
