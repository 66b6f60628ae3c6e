/* head: keeps the HTTP/2 headers that gRPC uses from a header block; the others are counted and
 * dropped. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct grpc_head {
	size_t size; /* counted as in RFC 9113 6.5.2: name, value and 32 per header */
	bool too_large;
	/* The first header of each name; NULL if there was none. */
	char *method;
	char *path;
	char *http_status;
	char *content_type;
	char *timeout;
	char *encoding;
	char *status;
	char *message;
};

/* Count a header, and keep it if gRPC uses it. If the size exceeds @max bytes, too_large is set
 * and no more headers are kept. */
void grpc_head_add(struct grpc_head *head, size_t max, const char *name, const char *value,
		   size_t value_len);

/* True for "application/grpc", alone or with "+proto", ";charset=..." and the like. */
bool grpc_head_is_grpc(const struct grpc_head *head);

/* True if the headers do not announce compression. */
bool grpc_head_is_plain(const struct grpc_head *head);

/* Release; the object may be used again. */
void grpc_head_done(struct grpc_head *head);

/*
 * --- the grpc-timeout header ---
 *
 * Its value is at most eight digits and a unit: "1500m", "2S".
 */

enum { GRPC_TIMEOUT_SIZE = 10 }; /* including the NUL */

/* False if @text is not valid. Fractions of a millisecond are rounded up. */
bool grpc_timeout_parse(const char *text, uint64_t *ret_ms);

/* Write @ms to @buf and return it: in the smallest unit that fits, rounded up; limited to eight
 * digits of hours. */
const char *grpc_timeout_format(uint64_t ms, char buf[GRPC_TIMEOUT_SIZE]);
