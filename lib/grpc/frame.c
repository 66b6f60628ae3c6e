#include "grpc/frame.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

/* A finished message's buffer up to this size is reused for the next message. */
enum { KEEP_MAX = 16384 };

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static enum grpc_status refuse(struct err *err, enum grpc_status status, const char *what,
			       size_t number)
{
	err_set(err, ERR_INVALID, -EBADMSG, "%s (%zu)", what, number);
	return status;
}

static enum grpc_status prefix_read(struct grpc_frames *f, struct err *err)
{
	const unsigned char *p = f->prefix;

	f->want = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
	if (p[0] == 1)
		return refuse(err, GRPC_UNIMPLEMENTED, "compressed message, flag", p[0]);
	if (p[0] != 0)
		return refuse(err, GRPC_INTERNAL, "message with unknown flags", p[0]);
	if (f->want > f->max)
		return refuse(err, GRPC_RESOURCE_EXHAUSTED, "message longer than allowed", f->want);
	return GRPC_OK;
}

/* @message is complete, either collected or in one piece. */
static bool message_end(struct grpc_frames *f, const char *message, grpc_frame_fn *fn, void *arg)
{
	bool more = fn(arg, message, f->want);

	f->nprefix = 0;
	if (f->part.cap > KEEP_MAX)
		str_done(&f->part);
	else
		str_clear(&f->part);
	return more;
}

enum grpc_status grpc_frames_feed(struct grpc_frames *f, const char *data, size_t len,
				  grpc_frame_fn *fn, void *arg, struct err *err)
{
	const char *end = data + len;

	while (data < end) {
		size_t n = smaller(GRPC_PREFIX_SIZE - f->nprefix, (size_t)(end - data));
		enum grpc_status status = GRPC_OK;
		const char *message;

		if (n > 0) {
			memcpy(f->prefix + f->nprefix, data, n);
			f->nprefix += n;
			data += n;
			if (f->nprefix < GRPC_PREFIX_SIZE)
				return GRPC_OK;
			status = prefix_read(f, err);
			if (status != GRPC_OK)
				return status;
		}
		n = smaller(f->want - f->part.len, (size_t)(end - data));
		message = data;
		data += n;
		if (n < f->want) {
			str_add_mem(&f->part, message, n);
			if (f->part.len < f->want)
				return GRPC_OK;
			message = f->part.buf;
		}
		if (!message_end(f, message, fn, arg))
			return GRPC_OK;
	}
	return GRPC_OK;
}

bool grpc_frames_at_rest(const struct grpc_frames *f)
{
	return f->nprefix == 0;
}

void grpc_frames_done(struct grpc_frames *f)
{
	str_done(&f->part);
	f->nprefix = 0;
}

void grpc_frame_prefix(size_t len, unsigned char prefix[GRPC_PREFIX_SIZE])
{
	assert(len <= UINT32_MAX);
	prefix[0] = 0;
	prefix[1] = (unsigned char)(len >> 24);
	prefix[2] = (unsigned char)(len >> 16);
	prefix[3] = (unsigned char)(len >> 8);
	prefix[4] = (unsigned char)len;
}
