#include "agent/plugin/direct.h"

#include <errno.h>

#include "agent/plugin/kubelet_watch.h"
#include "agent/plugin/registration_codec.h"
#include "agent/plugin/registration_fsm.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "grpc/uv_client.h"
#include "kube/clock.h"

struct direct {
	uv_loop_t *loop;
	struct clock *clock;
	struct kubelet_listener *listener;
	char *resource;
	char *socket_path;
	char *kubelet_path;
	const struct registration_ops *ops;
	void *arg;

	struct registration_fsm fsm;
	struct clock_timer *timer; /* the wait, or Register's deadline */
	struct grpc_uv_client *client;
	struct socket_id kubelet; /* the one that was called last */
};

/* Telling comes last in all of these: it may free @d. */
static void step(struct direct *d, enum registration_event event, const struct err *err);

static void fail(struct direct *d, const struct err *err)
{
	step(d, REGISTRATION_FAILED, err);
}

/* It is empty. */
static void on_message(void *arg, const char *data, size_t len)
{
	(void)arg;
	(void)data;
	(void)len;
}

static void on_end(void *arg, const struct grpc_result *result)
{
	struct direct *d = arg;
	struct err err = { 0 };

	d->client = grpc_uv_client_free(d->client);
	if (result->status == GRPC_OK) {
		step(d, REGISTRATION_OK, NULL);
		return;
	}
	if (result->status == GRPC_UNAVAILABLE)
		err_set(&err, ERR_RETRY, -ECONNREFUSED,
			"no kubelet answers at its registration socket: %s", result->message);
	else
		err_set(&err, ERR_RETRY, -EPROTO, "the kubelet refuses to register '%s': %s: %s",
			d->resource, grpc_status_name(result->status), result->message);
	fail(d, &err);
}

static int call(struct direct *d, struct err *err)
{
	auto_str struct str data = STR_INIT;
	struct grpc_request request = {
		.path = REGISTER_PATH, .on_message = on_message, .on_end = on_end, .arg = d
	};
	int r;

	d->kubelet = socket_id_of(d->kubelet_path);
	if (!d->kubelet.there)
		return err_set(
			err, ERR_RETRY, -ENOENT,
			"no kubelet: there is no '%s'; is it running, and its folder mounted "
			"here?",
			d->kubelet_path);
	/* It would call there before it answers. */
	if (!socket_id_of(d->socket_path).there)
		return err_set(err, ERR_RETRY, -ENOENT, "our socket '%s' was removed",
			       d->socket_path);
	r = register_request_pack(d->resource, str_base_name(d->socket_path), &data, err);
	if (r < 0)
		return r;
	d->ops->begins(d->arg);
	request.data = str_cstr(&data);
	request.len = data.len;
	request.timeout_ms = REGISTRATION_DEADLINE_MS;
	d->client = grpc_uv_client_new(d->loop, d->kubelet_path, NULL);
	return grpc_uv_client_call(d->client, &request, NULL, err);
}

static void call_again(struct direct *d)
{
	struct err err = { 0 };

	d->client = grpc_uv_client_free(d->client);
	if (d->ops->clear(d->arg)) {
		step(d, REGISTRATION_CLEARED, NULL);
		return;
	}
	clock_timer_start(d->clock, d->timer, REGISTRATION_CALL_MS);
	if (call(d, &err) < 0)
		fail(d, &err);
}

static void step(struct direct *d, enum registration_event event, const struct err *err)
{
	switch (registration_fsm_next(&d->fsm, event, clock_now_ms(d->clock),
				      clock_random(d->clock))) {
	case REGISTRATION_CALL:
		call_again(d);
		return;
	case REGISTRATION_WAIT:
		d->client = grpc_uv_client_free(d->client);
		clock_timer_start(d->clock, d->timer, d->fsm.wait_ms);
		if (err)
			d->ops->on_state(d->arg, REGISTRATION_WAITING, err);
		return;
	case REGISTRATION_REPORT:
		clock_timer_stop(d->clock, d->timer);
		d->ops->on_state(d->arg, REGISTRATION_DONE, NULL);
		return;
	case REGISTRATION_NOTHING:
	case REGISTRATION_ILLEGAL:
		return;
	}
}

static void on_timer(void *arg)
{
	struct direct *d = arg;
	struct err err = { 0 };

	err_set(&err, ERR_RETRY, -ETIMEDOUT, "the kubelet has not answered Register for %d s",
		REGISTRATION_CALL_MS / 1000);
	step(d, REGISTRATION_TIMER, &err);
}

/* A late event may be about the kubelet of the current registration or call, or about one that is
 * gone; another event follows then. */
static void on_kubelet(void *arg, enum kubelet_event event)
{
	struct direct *d = arg;
	struct socket_id now;

	if (event != KUBELET_CAME)
		return;
	now = socket_id_of(d->kubelet_path);
	if (!now.there)
		return;
	if (d->fsm.step == REGISTRATION_STEP_WAITING || !socket_id_same(&now, &d->kubelet))
		step(d, REGISTRATION_CAME, NULL);
	else if (d->fsm.step == REGISTRATION_STEP_CALLING)
		registration_fsm_hurry(&d->fsm);
}

struct direct *direct_new(const struct registration_deps *deps, const char *resource,
			  const char *socket_path, const struct registration_ops *ops, void *arg)
{
	struct direct *d = xcalloc(1, sizeof(*d));

	d->loop = deps->loop;
	d->clock = deps->clock;
	d->resource = xstrdup(resource);
	d->socket_path = xstrdup(socket_path);
	d->kubelet_path = xasprintf("%s/%s", deps->kubelet_dir, KUBELET_SOCKET);
	d->ops = ops;
	d->arg = arg;
	registration_fsm_init(&d->fsm);
	d->timer = clock_timer_new(d->clock, on_timer, d);
	clock_timer_start(d->clock, d->timer, 0);
	d->listener = kubelet_watch_listen(deps->watch, NULL, on_kubelet, d);
	return d;
}

struct direct *direct_free(struct direct *d)
{
	if (!d)
		return NULL;
	kubelet_listener_free(d->listener);
	clock_timer_free(d->clock, d->timer);
	grpc_uv_client_free(d->client);
	free(d->resource);
	free(d->socket_path);
	free(d->kubelet_path);
	free(d);
	return NULL;
}

void direct_again(struct direct *d)
{
	step(d, REGISTRATION_AGAIN, NULL);
}
