/*
 * New certificates, or silence, retire a wire (client_wire.h): it takes no new transfers and goes
 * when its last has ended.
 *
 * curl must not be entered from its own callbacks. While it is on the stack (inside > 0), starting
 * and cancelling only leave a mark; settle() acts on the marks as soon as curl has returned.
 */
#include "kube/transport.h"

#include <assert.h>
#include <string.h>

#include <curl/curl.h>
#include <uv.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/client_easy.h"
#include "kube/client_wire.h"
#include "kube/credentials.h"
#include "kube/warning.h"

enum {
	TICK_MS = 5000,      /* while there are transfers          */
	HEAD_TICK_MS = 1000, /* while one of them waits for a head */
};

struct transfer {
	struct transport *t;
	struct transfer *next;
	struct transfer **link; /* what points to us */
	struct wire *wire;      /* NULL: not added yet */
	CURL *easy;
	struct curl_slist *headers;
	const struct transfer_ops *ops; /* NULL: a question of ours, or cancelled */
	void *arg;
	uint64_t head_by_ms; /* a stream's head is due by then; 0: it came */
	bool begun;          /* the head of a 2xx came */
	bool cancelled;
	bool late;           /* with its head */
	struct str warnings; /* warning.h */
	char why[CURL_ERROR_SIZE];
};

struct transport {
	struct wire_env env; /* first: its callbacks come back with it */
	uv_timer_t tick;
	struct easy_common common;
	struct wire *wires; /* the first takes new transfers, unless retired */
	struct transfer *transfers;
	bool settling;
	bool closing;
	bool told_http1;
};

static void on_tick(uv_timer_t *timer);

static void start_tick(struct transport *t)
{
	uint64_t delay = TICK_MS;

	for (const struct transfer *tr = t->transfers; tr; tr = tr->next) {
		if (tr->head_by_ms)
			delay = HEAD_TICK_MS;
	}
	if (t->transfers && !t->closing)
		uv_timer_start(&t->tick, on_tick, delay, 0);
	else
		uv_timer_stop(&t->tick);
}

static void transfer_add(struct transfer *tr, struct wire *wire)
{
	CURLMcode code;

	if (wire->transfers++ == 0)
		liveness_heard(&wire->liveness, uv_now(tr->t->env.loop));
	tr->wire = wire;
	code = curl_multi_add_handle(wire->multi, tr->easy);
	assert(code == CURLM_OK); /* only memory can lack */
}

/* Out of curl; what is left is the struct itself. */
static void transfer_release(struct transfer *tr)
{
	if (tr->wire) {
		curl_multi_remove_handle(tr->wire->multi, tr->easy);
		tr->wire->transfers--;
	}
	easy_give(&tr->t->common, tr->easy);
	str_done(&tr->warnings);
	curl_slist_free_all(tr->headers);
}

static void transfer_detach(struct transfer *tr)
{
	*tr->link = tr->next;
	if (tr->next)
		tr->next->link = tr->link;
	transfer_release(tr);
}

static void transfer_finish(struct transfer *tr, enum transfer_result result, const char *why)
{
	auto_str struct str warnings = tr->warnings; /* they outlive the release */
	struct transfer_end end = {
		.result = result,
		.status = easy_status(tr->easy),
		.retry_after_ms = easy_retry_after_ms(tr->easy),
		.why = why,
		.warnings = str_cstr(&warnings),
	};

	tr->warnings = STR_INIT;
	transfer_detach(tr);
	if (tr->ops)
		tr->ops->on_end(tr->arg, &end);
	free(tr);
}

static size_t on_body(char *data, size_t size, size_t n, void *arg)
{
	struct transfer *tr = arg;
	int stop;

	if (tr->cancelled)
		return 0;
	if (!tr->ops)
		return size * n;
	stop = tr->ops->on_data(tr->arg, easy_status(tr->easy), data, size * n);
	return stop ? 0 : size * n;
}

/* One line of the head; an empty one ends it, unless the answer is a 1xx. */
static size_t on_head(const char *data, size_t size, size_t n, void *arg)
{
	struct transfer *tr = arg;
	int status = easy_status(tr->easy);

	wire_heard(tr->wire);
	warning_take(&tr->warnings, data, size * n);
	if (size * n > 2 || data[0] != '\r' || status < 200)
		return size * n;
	tr->head_by_ms = 0;
	tr->begun = status < 300;
	if (!easy_is_http2(tr->easy))
		tr->wire->http1 = true;
	if (tr->wire->http1 && !tr->t->told_http1) {
		tr->t->told_http1 = true;
		log_warn("server speaks HTTP/1.1 only: every watch has a connection of its own",
			 log_str("server", tr->t->common.base));
	}
	return size * n;
}

static void wire_break(struct transport *t, struct wire *wire)
{
	log_warn("connection is silent, giving it up", log_str("server", t->common.base));
	wire->broken = true;
	wire->retired = true;
}

/* A transfer that ran out of time while its wire said nothing at all says that the wire is dead. */
static void doubt_wire(struct transport *t, struct wire *wire, CURLcode code)
{
	uint64_t silent_ms = uv_now(wire->env->loop) - wire->liveness.heard_ms;

	if (code == CURLE_OPERATION_TIMEDOUT && silent_ms >= LIVENESS_ANSWER_MS && !wire->broken)
		wire_break(t, wire);
}

static bool settle_done(struct transport *t, struct wire *wire)
{
	struct transfer *tr = NULL;
	CURLcode code;
	CURLMsg *msg;
	int left;

	msg = curl_multi_info_read(wire->multi, &left);
	if (!msg || msg->msg != CURLMSG_DONE)
		return false;
	code = msg->data.result; /* the message is gone once its handle is removed */
	curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&tr);
	doubt_wire(t, wire, code);
	if (!tr->why[0])
		(void)snprintf(tr->why, sizeof(tr->why), "%s", curl_easy_strerror(code));
	transfer_finish(tr, easy_result(code), tr->why);
	return true;
}

/* Act on one mark. The callbacks it may run can change everything, so nothing is held over it. */
static bool settle_one(struct transport *t)
{
	for (struct transfer *tr = t->transfers; tr; tr = tr->next) {
		if (tr->cancelled) {
			transfer_detach(tr);
			free(tr);
			return true;
		}
		if (!tr->wire) {
			transfer_add(tr, wire_current(&t->env, &t->wires));
			return true;
		}
		if (tr->late && tr->head_by_ms) {
			transfer_finish(tr, TRANSFER_TIMEOUT, "");
			return true;
		}
		if (tr->wire->broken) {
			transfer_finish(tr, TRANSFER_BROKEN, "the connection went silent");
			return true;
		}
	}
	for (struct wire *wire = t->wires; wire; wire = wire->next) {
		if (settle_done(t, wire))
			return true;
	}
	return false;
}

static void on_tick_closed(uv_handle_t *handle)
{
	wire_env_unref(handle->data);
}

/* Everything goes; the memory follows when libuv has closed the handles. */
static void tear_down(struct transport *t)
{
	struct transfer *next;

	for (struct transfer *tr = t->transfers; tr; tr = next) {
		next = tr->next;
		transfer_release(tr);
		free(tr);
	}
	while (t->wires) {
		struct wire *wire = t->wires;

		t->wires = wire->next;
		wire_close(wire);
	}
	easy_common_done(&t->common);
	uv_close((uv_handle_t *)&t->tick, on_tick_closed);
}

static void settle(struct wire_env *env)
{
	struct transport *t = (struct transport *)env;

	if (t->env.inside > 0 || t->settling)
		return;
	t->settling = true;
	while (!t->closing && settle_one(t))
		;
	t->settling = false;
	if (t->closing) {
		tear_down(t);
		return;
	}
	wire_sweep(&t->env, &t->wires);
	start_tick(t);
}

static struct transfer *transfer_new(struct transport *t, const struct transport_request *request)
{
	struct transfer *tr = xcalloc(1, sizeof(*tr));

	tr->t = t;
	tr->easy = easy_take(&t->common);
	tr->next = t->transfers;
	tr->link = &t->transfers;
	if (tr->next)
		tr->next->link = &tr->next;
	t->transfers = tr;
	tr->headers = easy_prepare(tr->easy, &t->common, request);
	curl_easy_setopt(tr->easy, CURLOPT_PRIVATE, tr);
	curl_easy_setopt(tr->easy, CURLOPT_ERRORBUFFER, tr->why);
	curl_easy_setopt(tr->easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(tr->easy, CURLOPT_WRITEDATA, tr);
	curl_easy_setopt(tr->easy, CURLOPT_HEADERFUNCTION, on_head);
	curl_easy_setopt(tr->easy, CURLOPT_HEADERDATA, tr);
	return tr;
}

/* Ask a silent wire for a sign of life. /livez is answered ahead of all fairness queues, and any
 * answer will do. It must say who asks: behind an anonymous request the API server takes no more
 * on that connection (GOAWAY), and what comes next would need another. */
static void wire_ask(struct transport *t, struct wire *wire)
{
	const struct transport_request question = {
		.method = "GET",
		.path = "/livez",
		.authorization = t->common.authorization,
		.timeout_ms = 2ULL * LIVENESS_ANSWER_MS,
	};

	transfer_add(transfer_new(t, &question), wire);
}

static void check_wire(struct transport *t, struct wire *wire, uint64_t now_ms)
{
	enum liveness_act act;

	if (wire->transfers == 0 || wire->http1 || wire->broken)
		return;
	act = liveness_check(&wire->liveness, now_ms);
	if (act == LIVENESS_ASK)
		wire_ask(t, wire);
	else if (act == LIVENESS_DEAD)
		wire_break(t, wire);
}

/* A stream has no limit as a whole, so the wait for its head is measured here. */
static void on_tick(uv_timer_t *timer)
{
	struct transport *t = timer->data;
	uint64_t now_ms = uv_now(t->env.loop);

	for (struct wire *wire = t->wires; wire; wire = wire->next)
		check_wire(t, wire, now_ms);
	for (struct transfer *tr = t->transfers; tr; tr = tr->next)
		tr->late = tr->head_by_ms && tr->head_by_ms <= now_ms;
	settle(&t->env);
}

static void transport_gone(struct wire_env *env)
{
	free(env);
}

struct transport *transport_new(struct uv_loop_s *loop, const struct transport_config *config)
{
	struct transport *t = xcalloc(1, sizeof(*t));

	t->env = (struct wire_env){
		.loop = loop,
		.handles = 1,
		.after = settle,
		.gone = transport_gone,
	};
	easy_common_init(&t->common, config);
	uv_timer_init(loop, &t->tick);
	t->tick.data = t;
	return t;
}

struct transport *transport_free(struct transport *t)
{
	if (!t)
		return NULL;
	t->closing = true;
	for (struct transfer *tr = t->transfers; tr; tr = tr->next)
		tr->cancelled = true;
	if (t->env.inside == 0 && !t->settling)
		tear_down(t);
	return NULL;
}

void transport_renew(struct transport *t, const struct credential_files *files)
{
	easy_common_files(&t->common, files);
	for (struct wire *wire = t->wires; wire; wire = wire->next)
		wire->retired = true;
	wire_sweep(&t->env, &t->wires);
}

struct transfer *transport_start(struct transport *t, const struct transport_request *request,
				 const struct transfer_ops *ops, void *arg)
{
	struct transfer *tr = transfer_new(t, request);

	tr->ops = ops;
	tr->arg = arg;
	easy_common_authorize(&t->common, request->authorization);
	if (request->stream)
		tr->head_by_ms = uv_now(t->env.loop) + request->timeout_ms;
	if (t->env.inside == 0)
		transfer_add(tr, wire_current(&t->env, &t->wires));
	start_tick(t);
	return tr;
}

bool transfer_begun(const struct transfer *tr)
{
	return tr->begun;
}

void transfer_cancel(struct transfer *tr)
{
	struct transport *t = tr->t;

	tr->cancelled = true;
	tr->ops = NULL;
	if (t->env.inside > 0)
		return;
	transfer_detach(tr);
	free(tr);
	wire_sweep(&t->env, &t->wires);
}
