#include "kube/http_loop.h"

#include <assert.h>
#include <stdbool.h>
#include <sys/socket.h>

#include <microhttpd.h>

/*
 * A daemon that asks to run again at once may have more to read, from the socket or from TLS's
 * buffer. But it also asks permanently while a handshake waits for its peer (0.9.75: data read by
 * gnutls_handshake() leaves the connection marked as readable). So it gets a few immediate runs and
 * must then wait for an event or a short timeout.
 */
enum { SPINS_MAX = 8, SPIN_WAIT_MS = 10 };

static void on_timer(uv_timer_t *timer);
static void on_idle(uv_idle_t *idle);

/* Not with a timer of 0 ms: restarted from its own callback, it would starve the loop's other
 * handles. */
static void run_again(struct http_loop *http)
{
	if (http->spins++ < SPINS_MAX) {
		uv_idle_start(&http->again, on_idle);
		return;
	}
	uv_idle_stop(&http->again);
	uv_timer_start(&http->timer, on_timer, SPIN_WAIT_MS, 0);
}

/* Let the daemon process what is ready, then sleep as long as it allows. */
static void run_daemon(struct http_loop *http)
{
	MHD_UNSIGNED_LONG_LONG wait_ms = 0;
	bool waits;

	MHD_run(http->daemon);
	waits = MHD_get_timeout(http->daemon, &wait_ms) == MHD_YES;
	uv_timer_stop(&http->timer);
	if (waits && wait_ms == 0) {
		run_again(http);
		return;
	}
	uv_idle_stop(&http->again);
	if (waits)
		uv_timer_start(&http->timer, on_timer, wait_ms, 0);
}

static void on_idle(uv_idle_t *idle)
{
	run_daemon(idle->data);
}

static void on_timer(uv_timer_t *timer)
{
	run_daemon(timer->data);
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
	struct http_loop *http = poll->data;

	(void)status;
	(void)events;
	http->spins = 0;
	run_daemon(http);
}

void http_loop_start(struct http_loop *http, struct uv_loop_s *loop, struct MHD_Daemon *daemon)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
	int r;

	http->daemon = daemon;
	uv_timer_init(loop, &http->timer);
	uv_idle_init(loop, &http->again);
	r = uv_poll_init(loop, &http->poll, info->epoll_fd);
	assert(r == 0); /* epoll can watch a new epoll descriptor */
	http->timer.data = http->again.data = http->poll.data = http;
	http->handles = 3;
	uv_poll_start(&http->poll, UV_READABLE, on_ready);
}

void http_loop_progress(struct http_loop *http)
{
	http->spins = 0;
}

void http_loop_wake(struct http_loop *http)
{
	http->spins = 0;
	uv_idle_start(&http->again, on_idle);
}

static void on_closed(uv_handle_t *handle)
{
	struct http_loop *http = handle->data;

	if (--http->handles == 0)
		http->stopped(http->arg);
}

void http_loop_stop(struct http_loop *http, void (*stopped)(void *arg), void *arg)
{
	http->stopped = stopped;
	http->arg = arg;
	uv_close((uv_handle_t *)&http->poll, on_closed);
	uv_close((uv_handle_t *)&http->timer, on_closed);
	uv_close((uv_handle_t *)&http->again, on_closed);
	MHD_stop_daemon(http->daemon);
}

/* --- a limit on connections --- */

void callers_remove(struct caller *caller)
{
	struct callers *row = caller->row;

	if (!row)
		return;
	if (caller->older)
		caller->older->newer = caller->newer;
	else
		row->oldest = caller->newer;
	if (caller->newer)
		caller->newer->older = caller->older;
	else
		row->newest = caller->older;
	*caller = (struct caller){ 0 };
	row->len--;
}

/* libmicrohttpd has no call that closes a connection. shutdown() makes it see end of file at
 * once. */
void callers_close(struct caller *caller)
{
	(void)shutdown(caller->fd, SHUT_RDWR);
	callers_remove(caller);
}

void callers_append(struct callers *callers, struct caller *caller,
		    struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	callers_remove(caller);
	*caller = (struct caller){
		.row = callers,
		.older = callers->newest,
		.fd = info->connect_fd,
	};
	if (callers->newest)
		callers->newest->newer = caller;
	else
		callers->oldest = caller;
	callers->newest = caller;
	if (++callers->len > callers->max)
		callers_close(callers->oldest);
}
