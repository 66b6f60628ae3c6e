#include "grpc/uv_wire.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "base/err.h"
#include "base/mem.h"
#include "grpc/session.h"

enum { READ_SIZE = 32768, WRITE_SIZE = 65536 };

static void pump_output(struct grpc_wire *wire);

static void on_handle_closed(uv_handle_t *handle)
{
	struct grpc_wire *wire = handle->data;

	if (--wire->open > 0)
		return;
	str_done(&wire->out);
	wire->ops->on_closed(wire->arg);
}

static void close_handles(struct grpc_wire *wire)
{
	wire->closing = true;
	uv_close((uv_handle_t *)&wire->pipe, on_handle_closed);
	uv_close((uv_handle_t *)&wire->timer, on_handle_closed);
	uv_close((uv_handle_t *)&wire->flush, on_handle_closed);
}

static void wire_end(struct grpc_wire *wire, const char *why)
{
	if (wire->closing)
		return;
	close_handles(wire);
	wire->ops->on_end(wire->arg, why);
}

/* --- output --- */

/* True if there is something to write. */
static bool collect_output(struct grpc_wire *wire)
{
	const char *data = NULL;

	while (!wire->closing && wire->out.len < WRITE_SIZE) {
		size_t n = grpc_session_output(wire->session, &data);

		if (n == 0)
			break;
		str_add_mem(&wire->out, data, n);
	}
	return !wire->closing && wire->out.len > 0;
}

static void on_written(uv_write_t *write, int status)
{
	struct grpc_wire *wire = write->handle->data;

	wire->writing = false;
	str_clear(&wire->out);
	if (wire->closing)
		return;
	if (status < 0)
		wire_end(wire, uv_strerror(status));
	else
		pump_output(wire);
}

/* What the socket does not accept at once is left to libuv. */
static int write_out(struct grpc_wire *wire)
{
	uv_stream_t *stream = (uv_stream_t *)&wire->pipe;
	uv_buf_t buf = uv_buf_init(wire->out.buf, (unsigned)wire->out.len);
	int n = uv_try_write(stream, &buf, 1);

	if (n == (int)wire->out.len) {
		str_clear(&wire->out);
		return 0;
	}
	if (n < 0 && n != UV_EAGAIN)
		return n;
	if (n > 0)
		buf = uv_buf_init(wire->out.buf + n, (unsigned)wire->out.len - (unsigned)n);
	wire->writing = true;
	return uv_write(&wire->write, stream, &buf, 1, on_written);
}

static void write_all(struct grpc_wire *wire)
{
	int r = 0;

	while (r == 0 && !wire->writing && !wire->closing && collect_output(wire))
		r = write_out(wire);
	if (r < 0)
		wire_end(wire, uv_strerror(r));
	else if (!wire->writing)
		str_done(&wire->out);
}

/* --- time --- */

static void on_timeout(uv_timer_t *timer)
{
	struct grpc_wire *wire = timer->data;
	struct err err = { 0 };

	if (grpc_session_tick(wire->session, uv_now(timer->loop), &err) < 0)
		wire_end(wire, err.msg);
	else if (!wire->closing)
		pump_output(wire);
}

static void start_timer(struct grpc_wire *wire)
{
	uint64_t next_ms = grpc_session_next_ms(wire->session);
	uint64_t now_ms = uv_now(wire->pipe.loop);

	if (next_ms == UINT64_MAX)
		uv_timer_stop(&wire->timer);
	else
		uv_timer_start(&wire->timer, on_timeout, next_ms > now_ms ? next_ms - now_ms : 0,
			       0);
}

/* --- input --- */

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	(void)handle;
	(void)size;
	*buf = uv_buf_init(xmalloc(READ_SIZE), READ_SIZE);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct grpc_wire *wire = stream->data;
	auto_free char *data = buf->base;
	struct err err = { 0 };
	int r;

	if (n == 0)
		return;
	if (n < 0) {
		wire_end(wire, n == UV_EOF ? "peer closed the connection" : uv_strerror((int)n));
		return;
	}
	r = grpc_session_feed(wire->session, data, (size_t)n, uv_now(stream->loop), &err);
	if (wire->closing)
		return;
	write_all(wire);
	if (r < 0)
		wire_end(wire, err.msg);
	else if (!wire->closing)
		pump_output(wire);
}

/* Stop reading from a peer that does not read our output, before much of it is queued. */
static void choose_reading(struct grpc_wire *wire)
{
	bool want = wire->connected && !grpc_session_is_full(wire->session);

	if (want == wire->reading)
		return;
	wire->reading = want;
	if (want)
		uv_read_start((uv_stream_t *)&wire->pipe, on_alloc, on_read);
	else
		uv_read_stop((uv_stream_t *)&wire->pipe);
}

static void pump_output(struct grpc_wire *wire)
{
	if (wire->connected)
		write_all(wire);
	if (wire->closing)
		return;
	if (!wire->writing && grpc_session_is_over(wire->session)) {
		wire_end(wire, "connection ended");
		return;
	}
	choose_reading(wire);
	start_timer(wire);
}

/* --- life --- */

static void on_flush(uv_idle_t *idle)
{
	uv_idle_stop(idle);
	pump_output(idle->data);
}

/* The session is inside another call: flush later, but before the loop waits again. */
static void on_output(void *arg)
{
	struct grpc_wire *wire = arg;

	if (!wire->closing)
		uv_idle_start(&wire->flush, on_flush);
}

void grpc_wire_init(struct grpc_wire *wire, uv_loop_t *loop, struct grpc_session *session,
		    const struct grpc_wire_ops *ops, void *arg)
{
	*wire = (struct grpc_wire){ .session = session, .ops = ops, .arg = arg, .open = 3 };
	uv_pipe_init(loop, &wire->pipe, 0);
	uv_timer_init(loop, &wire->timer);
	uv_idle_init(loop, &wire->flush);
	wire->pipe.data = wire;
	wire->timer.data = wire;
	wire->flush.data = wire;
	grpc_session_set_output(session, on_output, wire);
}

static void wire_start(struct grpc_wire *wire)
{
	wire->connected = true;
	on_output(wire);
}

int grpc_wire_accept(struct grpc_wire *wire, uv_stream_t *listener, struct err *err)
{
	int r = uv_accept(listener, (uv_stream_t *)&wire->pipe);

	if (r < 0)
		return err_set(err, ERR_RETRY, r, "accept: %s", uv_strerror(r));
	wire_start(wire);
	return 0;
}

static void on_connect(uv_connect_t *connect, int status)
{
	struct grpc_wire *wire = connect->handle->data;
	char why[160];

	if (wire->closing)
		return;
	if (status == 0) {
		wire_start(wire);
		return;
	}
	(void)snprintf(why, sizeof(why), "connect: %s", uv_strerror(status));
	wire_end(wire, why);
}

void grpc_wire_connect(struct grpc_wire *wire, const char *path)
{
	uv_pipe_connect(&wire->connect, &wire->pipe, path, on_connect);
}

void grpc_wire_close(struct grpc_wire *wire)
{
	if (!wire->closing)
		close_handles(wire);
}

int grpc_wire_check_path(const char *path, struct err *err)
{
	size_t max = sizeof(((struct sockaddr_un *)NULL)->sun_path) - 1;

	if (strlen(path) > max)
		return err_set(err, ERR_INVALID, -ENAMETOOLONG,
			       "socket path '%s' is longer than %zu bytes", path, max);
	return 0;
}
