/* wire: HTTP/2 frames by hand, and frames as text: for peers that no library would be. */
#pragma once

#include <nghttp2/nghttp2.h>

#include "base/mem.h"
#include "base/str.h"
#include "grpc/frame.h"
#include "unit/suite.h"

enum wire_type {
	WIRE_DATA,
	WIRE_HEADERS,
	WIRE_PRIORITY,
	WIRE_RST_STREAM,
	WIRE_SETTINGS,
	WIRE_PUSH_PROMISE,
	WIRE_PING,
	WIRE_GOAWAY,
	WIRE_WINDOW_UPDATE,
	WIRE_CONTINUATION,
};

enum { WIRE_END_STREAM = 1, WIRE_ACK = 1, WIRE_END_HEADERS = 4, WIRE_PADDED = 8 };

/* --- writing ---------------------------------------------------------------------------------- */

static inline void wire_u32(struct str *out, uint32_t value)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		str_add_char(out, (char)(value >> shift));
}

static inline void wire_frame(struct str *out, enum wire_type type, unsigned flags, uint32_t stream,
			      const struct str *payload)
{
	size_t len = payload ? payload->len : 0;

	str_add_char(out, (char)(len >> 16));
	str_add_char(out, (char)(len >> 8));
	str_add_char(out, (char)len);
	str_add_char(out, (char)type);
	str_add_char(out, (char)flags);
	wire_u32(out, stream);
	if (len > 0)
		str_add_mem(out, payload->buf, len);
}

static inline void wire_preface(struct str *out)
{
	str_add(out, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
	wire_frame(out, WIRE_SETTINGS, 0, 0, NULL);
}

/* RFC 7541 5.2: a length in seven bits and more, and the text as it is. */
static inline void wire_text(struct str *out, const char *text)
{
	size_t len = strlen(text);

	if (len < 127) {
		str_add_char(out, (char)len);
	} else {
		str_add_char(out, 127);
		for (len -= 127; len >= 128; len /= 128)
			str_add_char(out, (char)(len % 128 + 128));
		str_add_char(out, (char)len);
	}
	str_add(out, text);
}

/* A literal header that no table keeps. */
static inline void wire_header(struct str *block, const char *name, const char *value)
{
	str_add_char(block, 0);
	wire_text(block, name);
	wire_text(block, value);
}

/* The usual head of a request to @path. */
static inline void wire_request_head(struct str *block, const char *path)
{
	wire_header(block, ":method", "POST");
	wire_header(block, ":scheme", "http");
	wire_header(block, ":path", path);
	wire_header(block, ":authority", "localhost");
	wire_header(block, "content-type", "application/grpc");
	wire_header(block, "te", "trailers");
}

static inline void wire_request(struct str *out, uint32_t stream, const char *path)
{
	auto_str struct str block = STR_INIT;

	wire_request_head(&block, path);
	wire_frame(out, WIRE_HEADERS, WIRE_END_HEADERS, stream, &block);
}

/* A DATA frame of one message with the flag @compressed. */
static inline void wire_message(struct str *out, uint32_t stream, unsigned flags, int compressed,
				const char *text)
{
	unsigned char prefix[GRPC_PREFIX_SIZE];
	auto_str struct str payload = STR_INIT;

	grpc_frame_prefix(strlen(text), prefix);
	prefix[0] = (unsigned char)compressed;
	str_add_mem(&payload, prefix, sizeof(prefix));
	str_add(&payload, text);
	wire_frame(out, WIRE_DATA, flags, stream, &payload);
}

static inline void wire_word(struct str *out, enum wire_type type, uint32_t stream, uint32_t word)
{
	auto_str struct str payload = STR_INIT;

	wire_u32(&payload, word);
	wire_frame(out, type, 0, stream, &payload);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* What a peer reads: frames as text, without those that only keep the connection going. */
struct wire_reader {
	nghttp2_hd_inflater *inflater;
	struct str log;
};

static inline void wire_reader_init(struct wire_reader *reader)
{
	*reader = (struct wire_reader){ .inflater = NULL };
	assert_int_equal(nghttp2_hd_inflate_new(&reader->inflater), 0);
}

static inline void wire_reader_done(struct wire_reader *reader)
{
	nghttp2_hd_inflate_del(reader->inflater);
	str_done(&reader->log);
}

static inline uint32_t wire_number(const unsigned char *p, size_t len)
{
	uint32_t value = 0;

	for (size_t i = 0; i < len; i++)
		value = value << 8 | p[i];
	return value;
}

static inline void wire_read_headers(struct wire_reader *reader, const unsigned char *p, size_t len)
{
	int flags = 0;

	while (!(flags & NGHTTP2_HD_INFLATE_FINAL)) {
		nghttp2_nv nv;
		ssize_t n = nghttp2_hd_inflate_hd2(reader->inflater, &nv, &flags, p, len, 1);

		assert_true(n >= 0);
		p += n;
		len -= (size_t)n;
		if (flags & NGHTTP2_HD_INFLATE_EMIT)
			str_addf(&reader->log, " %s=%s", (const char *)nv.name,
				 (const char *)nv.value);
	}
	nghttp2_hd_inflate_end_headers(reader->inflater);
}

static inline void wire_read_frame(struct wire_reader *reader, const unsigned char *head,
				   const unsigned char *payload, size_t len)
{
	uint32_t stream = wire_number(head + 5, 4);
	enum wire_type type = head[3];

	if (type == WIRE_HEADERS) {
		str_addf(&reader->log, "HEADERS %u", stream);
		wire_read_headers(reader, payload, len);
	} else if (type == WIRE_DATA) {
		str_addf(&reader->log, "DATA %u %zu", stream, len);
	} else if (type == WIRE_RST_STREAM) {
		str_addf(&reader->log, "RST %u %u", stream, wire_number(payload, 4));
	} else if (type == WIRE_GOAWAY) {
		str_addf(&reader->log, "GOAWAY %u", wire_number(payload + 4, 4));
	} else {
		return;
	}
	str_add(&reader->log, head[4] & WIRE_END_STREAM && type != WIRE_GOAWAY ? ".|" : "|");
}

/* Whole frames only. */
static inline void wire_read(struct wire_reader *reader, const struct str *bytes)
{
	const unsigned char *p = (const unsigned char *)bytes->buf;
	size_t left = bytes->len;

	while (left > 0) {
		size_t len = wire_number(p, 3);

		assert_true(left >= 9 + len);
		wire_read_frame(reader, p, p + 9, len);
		p += 9 + len;
		left -= 9 + len;
	}
}
