/* status: gRPC's status codes, and the encoding of the grpc-message header. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct str;

enum grpc_status {
	GRPC_OK = 0,
	GRPC_CANCELLED = 1,
	GRPC_UNKNOWN = 2,
	GRPC_INVALID_ARGUMENT = 3,
	GRPC_DEADLINE_EXCEEDED = 4,
	GRPC_NOT_FOUND = 5,
	GRPC_ALREADY_EXISTS = 6,
	GRPC_PERMISSION_DENIED = 7,
	GRPC_RESOURCE_EXHAUSTED = 8,
	GRPC_FAILED_PRECONDITION = 9,
	GRPC_ABORTED = 10,
	GRPC_OUT_OF_RANGE = 11,
	GRPC_UNIMPLEMENTED = 12,
	GRPC_INTERNAL = 13,
	GRPC_UNAVAILABLE = 14,
	GRPC_DATA_LOSS = 15,
	GRPC_UNAUTHENTICATED = 16,
};

/* Longest message that is sent or kept; longer ones are cut and end in "...". */
enum { GRPC_MESSAGE_MAX = 1024 };

/* "Unavailable", as in grpc-go; "Unknown" for codes without a name. */
const char *grpc_status_name(enum grpc_status status);

/* The value of a grpc-status header; GRPC_UNKNOWN unless it is a number from 0 to 16. */
enum grpc_status grpc_status_from_text(const char *text);

/* The status of a response without grpc-status (the table in gRPC's http-grpc-status-mapping). */
enum grpc_status grpc_status_from_http(unsigned http);

/* The status of a stream that was reset with an HTTP/2 error code. */
enum grpc_status grpc_status_from_http2(uint32_t code);

/* Append at most GRPC_MESSAGE_MAX bytes of @message, percent-encoded: '%' and everything but
 * printable ASCII as %XX. */
void grpc_message_encode(struct str *out, const char *message);

/* Append the decoded @text. Invalid escapes are kept. Bytes that are not UTF-8 and control
 * characters become "\xNN", so that the result is safe in logs and objects. */
void grpc_message_decode(struct str *out, const char *text, size_t len);
