#include "kube/client_wire.h"

#include <assert.h>

#include "base/mem.h"

/* One of curl's sockets. */
struct sock {
	struct wire_env *env;
	struct wire *wire; /* not to be used once closing */
	curl_socket_t fd;
	uv_poll_t poll;
};

void wire_env_unref(struct wire_env *env)
{
	if (--env->handles == 0)
		env->gone(env);
}

static void on_sock_closed(uv_handle_t *handle)
{
	struct sock *sock = handle->data;
	struct wire_env *env = sock->env;

	free(sock);
	wire_env_unref(env);
}

static void on_wire_closed(uv_handle_t *handle)
{
	struct wire *wire = handle->data;
	struct wire_env *env = wire->env;

	free(wire);
	wire_env_unref(env);
}

void wire_heard(struct wire *wire)
{
	liveness_heard(&wire->liveness, uv_now(wire->env->loop));
}

/* Let curl act on a socket or, with CURL_SOCKET_TIMEOUT, on its timers. The wire, and the socket,
 * may be gone afterwards. */
static void wire_act(struct wire *wire, curl_socket_t fd, int events)
{
	struct wire_env *env = wire->env;
	int running;

	env->inside++;
	curl_multi_socket_action(wire->multi, fd, events, &running);
	env->inside--;
	env->after(env);
}

static void on_socket_ready(uv_poll_t *poll, int status, int events)
{
	struct sock *sock = poll->data;
	int flags = status < 0 ? CURL_CSELECT_ERR : 0;

	if (events & UV_READABLE) {
		flags |= CURL_CSELECT_IN;
		wire_heard(sock->wire);
	}
	if (events & UV_WRITABLE)
		flags |= CURL_CSELECT_OUT;
	wire_act(sock->wire, sock->fd, flags);
}

static struct sock *sock_new(struct wire *wire, curl_socket_t fd)
{
	struct sock *sock = xcalloc(1, sizeof(*sock));

	sock->env = wire->env;
	sock->wire = wire;
	sock->fd = fd;
	sock->poll.data = sock;
	if (uv_poll_init_socket(wire->env->loop, &sock->poll, fd) < 0) {
		free(sock);
		return NULL;
	}
	wire->env->handles++;
	return sock;
}

/* curl's CURLMOPT_SOCKETFUNCTION: which events of @fd it wants to hear of. */
static int on_socket_wanted(CURL *easy, curl_socket_t fd, int what, void *arg, void *sock_arg)
{
	struct wire *wire = arg;
	struct sock *sock = sock_arg;
	int events = 0;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (sock)
			uv_close((uv_handle_t *)&sock->poll, on_sock_closed);
		return 0;
	}
	if (!sock) {
		sock = sock_new(wire, fd);
		if (!sock)
			return -1;
		curl_multi_assign(wire->multi, fd, sock);
	}
	if (what & CURL_POLL_IN)
		events |= UV_READABLE;
	if (what & CURL_POLL_OUT)
		events |= UV_WRITABLE;
	return uv_poll_start(&sock->poll, events, on_socket_ready) < 0 ? -1 : 0;
}

static void on_timer(uv_timer_t *timer)
{
	wire_act(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

/* curl's CURLMOPT_TIMERFUNCTION. */
static int on_timer_wanted(CURLM *multi, long timeout_ms, void *arg)
{
	struct wire *wire = arg;

	(void)multi;
	if (timeout_ms < 0)
		uv_timer_stop(&wire->timer);
	else
		uv_timer_start(&wire->timer, on_timer, (uint64_t)timeout_ms, 0);
	return 0;
}

static struct wire *wire_new(struct wire_env *env, struct wire **list)
{
	struct wire *wire = xcalloc(1, sizeof(*wire));

	wire->env = env;
	wire->next = *list;
	*list = wire;
	wire->multi = curl_multi_init();
	assert(wire->multi); /* only memory can lack */
	uv_timer_init(env->loop, &wire->timer);
	wire->timer.data = wire;
	env->handles++;
	curl_multi_setopt(wire->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
	curl_multi_setopt(wire->multi, CURLMOPT_SOCKETFUNCTION, on_socket_wanted);
	curl_multi_setopt(wire->multi, CURLMOPT_SOCKETDATA, wire);
	curl_multi_setopt(wire->multi, CURLMOPT_TIMERFUNCTION, on_timer_wanted);
	curl_multi_setopt(wire->multi, CURLMOPT_TIMERDATA, wire);
	return wire;
}

void wire_close(struct wire *wire)
{
	curl_multi_cleanup(wire->multi);
	uv_close((uv_handle_t *)&wire->timer, on_wire_closed);
}

struct wire *wire_current(struct wire_env *env, struct wire **list)
{
	return *list && !(*list)->retired ? *list : wire_new(env, list);
}

void wire_sweep(struct wire_env *env, struct wire **list)
{
	while (env->inside == 0 && *list) {
		struct wire *wire = *list;

		if (!wire->retired || wire->transfers > 0) {
			list = &wire->next;
			continue;
		}
		*list = wire->next;
		wire_close(wire);
	}
}
