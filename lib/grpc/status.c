#include "grpc/status.h"

#include <stdbool.h>
#include <string.h>

#include "base/ascii.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

static const char *const names[] = {
	[GRPC_OK] = "OK",
	[GRPC_CANCELLED] = "Canceled",
	[GRPC_UNKNOWN] = "Unknown",
	[GRPC_INVALID_ARGUMENT] = "InvalidArgument",
	[GRPC_DEADLINE_EXCEEDED] = "DeadlineExceeded",
	[GRPC_NOT_FOUND] = "NotFound",
	[GRPC_ALREADY_EXISTS] = "AlreadyExists",
	[GRPC_PERMISSION_DENIED] = "PermissionDenied",
	[GRPC_RESOURCE_EXHAUSTED] = "ResourceExhausted",
	[GRPC_FAILED_PRECONDITION] = "FailedPrecondition",
	[GRPC_ABORTED] = "Aborted",
	[GRPC_OUT_OF_RANGE] = "OutOfRange",
	[GRPC_UNIMPLEMENTED] = "Unimplemented",
	[GRPC_INTERNAL] = "Internal",
	[GRPC_UNAVAILABLE] = "Unavailable",
	[GRPC_DATA_LOSS] = "DataLoss",
	[GRPC_UNAUTHENTICATED] = "Unauthenticated",
};

const char *grpc_status_name(enum grpc_status status)
{
	return (size_t)status < ARRAY_LEN(names) ? names[status] : names[GRPC_UNKNOWN];
}

enum grpc_status grpc_status_from_text(const char *text)
{
	uint64_t value = 0;

	if (!str_to_u64(text, &value) || value >= ARRAY_LEN(names))
		return GRPC_UNKNOWN;
	return (enum grpc_status)value;
}

enum grpc_status grpc_status_from_http(unsigned http)
{
	switch (http) {
	case 400:
		return GRPC_INTERNAL;
	case 401:
		return GRPC_UNAUTHENTICATED;
	case 403:
		return GRPC_PERMISSION_DENIED;
	case 404:
		return GRPC_UNIMPLEMENTED;
	case 429:
	case 502:
	case 503:
	case 504:
		return GRPC_UNAVAILABLE;
	default:
		return GRPC_UNKNOWN;
	}
}

/* "HTTP2 Transport Mapping" in gRPC's PROTOCOL-HTTP2.md. NO_ERROR without trailers is also an
 * error. */
static const enum grpc_status of_http2[] = {
	GRPC_INTERNAL,           /* NO_ERROR */
	GRPC_INTERNAL,           /* PROTOCOL_ERROR */
	GRPC_INTERNAL,           /* INTERNAL_ERROR */
	GRPC_INTERNAL,           /* FLOW_CONTROL_ERROR */
	GRPC_INTERNAL,           /* SETTINGS_TIMEOUT */
	GRPC_INTERNAL,           /* STREAM_CLOSED */
	GRPC_INTERNAL,           /* FRAME_SIZE_ERROR */
	GRPC_UNAVAILABLE,        /* REFUSED_STREAM */
	GRPC_CANCELLED,          /* CANCEL */
	GRPC_INTERNAL,           /* COMPRESSION_ERROR */
	GRPC_INTERNAL,           /* CONNECT_ERROR */
	GRPC_RESOURCE_EXHAUSTED, /* ENHANCE_YOUR_CALM */
	GRPC_PERMISSION_DENIED,  /* INADEQUATE_SECURITY */
};

enum grpc_status grpc_status_from_http2(uint32_t code)
{
	return code < ARRAY_LEN(of_http2) ? of_http2[code] : GRPC_UNKNOWN;
}

void grpc_message_encode(struct str *out, const char *message)
{
	auto_str struct str cut = STR_INIT;

	str_add_mem(&cut, message, strnlen(message, GRPC_MESSAGE_MAX + 1));
	str_cut(&cut, GRPC_MESSAGE_MAX);
	for (const char *p = str_cstr(&cut); *p; p++) {
		if (*p >= ' ' && *p <= '~' && *p != '%')
			str_add_char(out, *p);
		else
			str_addf(out, "%%%02X", (unsigned)(unsigned char)*p);
	}
}

void grpc_message_decode(struct str *out, const char *text, size_t len)
{
	auto_str struct str plain = STR_INIT;

	for (size_t i = 0; i < len; i++) {
		bool escape = text[i] == '%' && len - i > 2;
		int high = escape ? ascii_hex_value(text[i + 1]) : -1;
		int low = escape ? ascii_hex_value(text[i + 2]) : -1;

		if (high < 0 || low < 0) {
			str_add_char(&plain, text[i]);
			continue;
		}
		str_add_char(&plain, (char)(high << 4 | low));
		i += 2;
	}
	str_cut(&plain, GRPC_MESSAGE_MAX);
	str_add_clean(out, str_cstr(&plain), plain.len);
}
