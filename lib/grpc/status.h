/* status: how a call ended: gRPC's codes, and the form of a message in the grpc-message header. */
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

/* Longest message that is sent or kept; longer ones end in "...". */
enum { GRPC_MESSAGE_MAX = 1024 };

/* "Unavailable", as grpc-go writes it; "Code(99)" has no name here: "Unknown". */
const char *grpc_status_name(enum grpc_status status);

/* The value of a grpc-status header. What is no number from 0 to 16 is GRPC_UNKNOWN. */
enum grpc_status grpc_status_from_text(const char *text);

/* What an answer without grpc-status means (the table of gRPC's http-grpc-status-mapping). */
enum grpc_status grpc_status_from_http(unsigned http);

/* What a stream that was reset with an HTTP/2 error code means. */
enum grpc_status grpc_status_from_http2(uint32_t code);

/* Append @message, at most GRPC_MESSAGE_MAX bytes of it, percent-encoded: what is not printable ASCII,
 * and '%', as %XX. */
void grpc_message_encode(struct str *out, const char *message);

/* Append the decoded @text. Escapes that are none stay as they are; what is not UTF-8 or a control
 * character comes out as "\xNN", so that the result can stand in a log or an object. */
void grpc_message_decode(struct str *out, const char *text, size_t len);
