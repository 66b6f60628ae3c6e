/*
 * A wire is retired by new certificates or by silence: it takes no new transfers and is closed when
 * its last transfer has ended.
 *
 * curl must not be called from its own callbacks. While curl is on the stack (inside > 0), starting
 * and cancelling only set flags; settle_marks() acts on them as soon as curl has returned.
 */

#include "kube/transport.h"

#include <assert.h>
#include <curl/curl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <uv.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/answer.h"
#include "kube/credentials.h"
#include "kube/url.h"

/* --- liveness of a connection --- */

void liveness_received(struct liveness *l, uint64_t now_ms)
{
	l->received_ms = now_ms;
	l->probed_ms = 0;
}

enum liveness_act liveness_check(struct liveness *l, uint64_t now_ms)
{
	if (l->probed_ms)
		return now_ms - l->probed_ms >= LIVENESS_ANSWER_MS ? LIVENESS_DEAD : LIVENESS_FINE;
	if (now_ms - l->received_ms < LIVENESS_SILENT_MS)
		return LIVENESS_FINE;
	l->probed_ms = now_ms;
	return LIVENESS_PROBE;
}

/* --- connections --- */

/* The part of the transport that wires use. */
struct wire_env {
	uv_loop_t *loop;
	unsigned handles;                    /* libuv handles not closed yet */
	unsigned inside;                     /* > 0: curl is on the stack and must not be called */
	void (*after)(struct wire_env *env); /* curl has returned and may have made progress */
	void (*gone)(struct wire_env *env);  /* the last handle is closed */
};

/* One curl multi handle with its connections, tied to the libuv loop: in the normal case one HTTP/2
 * connection that carries everything. */
struct wire {
	struct wire_env *env;
	struct wire *next;
	CURLM *multi;
	uv_timer_t timer; /* curl's */
	struct liveness liveness;
	unsigned transfers; /* counted by the transport */
	bool retired;       /* takes no new transfers */
	bool broken;        /* all its transfers must end */
	bool http1;         /* the server speaks HTTP/1 on it */
};

/* One of curl's sockets. */
struct sock {
	struct wire_env *env;
	struct wire *wire; /* must not be used once closing */
	curl_socket_t fd;
	uv_poll_t poll;
};

/* One of the handles counted in @env was closed. */
static void wire_env_unref(struct wire_env *env)
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

/* Data has arrived on the wire. The socket callback notices all but what curl reads right after
 * writing; for that, the transport calls this on each response. */
static void wire_received(struct wire *wire)
{
	liveness_received(&wire->liveness, uv_now(wire->env->loop));
}

/* Let curl process a socket or, with CURL_SOCKET_TIMEOUT, its timers. May free the wire and the
 * socket. */
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
		wire_received(sock->wire);
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

/* curl's CURLMOPT_SOCKETFUNCTION: curl sets the events of @fd to poll for. */
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
	assert(wire->multi); /* fails only without memory */
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

/* Close the wire's connections; libuv's close callback frees the memory. The wire has no
 * transfers. */
static void wire_close(struct wire *wire)
{
	curl_multi_cleanup(wire->multi);
	uv_close((uv_handle_t *)&wire->timer, on_wire_closed);
}

/* The wire for new transfers: the first of *@list, or a new one if that is retired. */
static struct wire *wire_current(struct wire_env *env, struct wire **list)
{
	return *list && !(*list)->retired ? *list : wire_new(env, list);
}

/* Close the retired wires without transfers. Runs no callbacks; does nothing while curl is on
 * the stack. */
static void wire_sweep(struct wire_env *env, struct wire **list)
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

enum { EASY_POOL_MAX = 4 };

/* Settings shared by all transfers of a transport. */
struct easy_common {
	char *base; /* "https://host:port/prefix" as passed to curl */
	char *user_agent;
	char *authorization; /* the last one used; NULL: none */
	char *ca;
	char *cert;
	char *key;
	struct curl_slist *connect_to; /* CURLOPT_CONNECT_TO for tls_server_name; NULL: none */
	struct curl_slist *headers;    /* sent with every request; NULL: none */
	bool insecure;
	char *proxy;               /* URL; "": no proxy; NULL: from the environment */
	CURL *pool[EASY_POOL_MAX]; /* idle handles */
	size_t pooled;
};

enum {
	CONNECT_TIMEOUT_MS = 10 * 1000,
	BUFFER_BYTES = 16 * 1024,
	RETRY_AFTER_MAX_S = 3600,
};

/* Put the TLS server name into the URL, so that SNI and certificate verification use it, and
 * tell curl to connect to the server's real host. */
static void use_tls_name(struct easy_common *common, const char *name)
{
	struct url_server server = { 0 };
	auto_free char *to = NULL;

	if (url_server_parse(common->base, &server, NULL) < 0)
		return;
	to = xasprintf("%s:%u:%s:%u", name, server.port, server.host, server.port);
	common->connect_to = curl_slist_append(NULL, to);
	free(common->base);
	common->base = xasprintf("%s://%s:%u%s", server.scheme, name, server.port, server.prefix);
	url_server_done(&server);
}

/* True for addresses of this machine, which are never proxied (as in Go's net/http). */
static bool is_local(const char *url)
{
	struct url_server server = { 0 };
	bool local;

	if (url_server_parse(url, &server, NULL) < 0)
		return false;
	local = strcmp(server.host, "localhost") == 0 || strncmp(server.host, "127.", 4) == 0 ||
		strcmp(server.host, "[::1]") == 0;
	url_server_done(&server);
	return local;
}

static char *choose_proxy(const struct transport_config *config)
{
	if (config->proxy)
		return xstrdup(config->proxy);
	return config->proxy_env && !is_local(config->server) ? NULL : xstrdup("");
}

static void easy_common_init(struct easy_common *common, const struct transport_config *config)
{
	*common = (struct easy_common){
		.base = xstrdup(config->server),
		.user_agent = xstrdup(config->user_agent),
		.insecure = config->insecure,
		.proxy = choose_proxy(config),
	};
	for (size_t i = 0; config->headers && config->headers[i]; i++)
		common->headers = curl_slist_append(common->headers, config->headers[i]);
	if (config->tls_server_name)
		use_tls_name(common, config->tls_server_name);
}

static void easy_common_files(struct easy_common *common, const struct credential_files *files)
{
	str_set(&common->ca, files->ca);
	str_set(&common->cert, files->cert);
	str_set(&common->key, files->key);
}

/* The old token is wiped before its memory is freed. */
static void easy_common_authorize(struct easy_common *common, const char *authorization)
{
	if (common->authorization)
		explicit_bzero(common->authorization, strlen(common->authorization));
	str_set(&common->authorization, authorization);
}

static void easy_common_done(struct easy_common *common)
{
	easy_common_authorize(common, NULL);
	while (common->pooled > 0)
		curl_easy_cleanup(common->pool[--common->pooled]);
	free(common->base);
	free(common->user_agent);
	free(common->ca);
	free(common->cert);
	free(common->key);
	free(common->proxy);
	curl_slist_free_all(common->connect_to);
	curl_slist_free_all(common->headers);
	*common = (struct easy_common){ 0 };
}

/* Take a handle without options from the pool, or return one to it. */
static CURL *easy_take(struct easy_common *common)
{
	CURL *easy = common->pooled > 0 ? common->pool[--common->pooled] : curl_easy_init();

	assert(easy); /* fails only without memory */
	return easy;
}

static void easy_give(struct easy_common *common, CURL *easy)
{
	curl_easy_reset(easy);
	if (common->pooled < EASY_POOL_MAX)
		common->pool[common->pooled++] = easy;
	else
		curl_easy_cleanup(easy);
}

/* Detect a dead peer after 30 s: on an idle connection by keepalive probes, on one with
 * unacknowledged data by TCP_USER_TIMEOUT, which also bounds the probes (net/ipv4/tcp_timer.c).
 * The connection works without these options, so errors are ignored. */
static int on_socket_made(void *arg, curl_socket_t fd, curlsocktype purpose)
{
	static const struct {
		int level;
		int name;
		int value;
	} options[] = {
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, 15 },
		{ IPPROTO_TCP, TCP_KEEPINTVL, 5 },
		{ IPPROTO_TCP, TCP_KEEPCNT, 3 },
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, 30 * 1000 },
	};

	(void)arg;
	(void)purpose;
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		(void)setsockopt(fd, options[i].level, options[i].name, &options[i].value,
				 sizeof(options[i].value));
	return CURL_SOCKOPT_OK;
}

static void set_connection(CURL *easy, const struct easy_common *common)
{
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "https,http");
	curl_easy_setopt(easy, CURLOPT_PROXY, common->proxy);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)BUFFER_BYTES);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)CONNECT_TIMEOUT_MS);
	curl_easy_setopt(easy, CURLOPT_SOCKOPTFUNCTION, on_socket_made);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, common->user_agent);
	curl_easy_setopt(easy, CURLOPT_CONNECT_TO, common->connect_to);
}

/* Without a configured CA, the system's certificates are used, as in kubectl. With one, CAPATH
 * must be cleared, or GnuTLS would also load every certificate in the system's folder (7 MiB). */
static void set_tls(CURL *easy, const struct easy_common *common)
{
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, common->insecure ? 0L : 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, common->insecure ? 0L : 2L);
	if (common->ca || common->insecure) {
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
		curl_easy_setopt(easy, CURLOPT_CAINFO, common->ca);
	}
	if (common->cert && common->key) {
		curl_easy_setopt(easy, CURLOPT_SSLCERT, common->cert);
		curl_easy_setopt(easy, CURLOPT_SSLKEY, common->key);
	}
}

static void add_header(struct curl_slist **list, const char *name, const char *value)
{
	auto_free char *line = xasprintf("%s: %s", name, value);
	struct curl_slist *longer = curl_slist_append(*list, line);

	assert(longer); /* fails only without memory */
	explicit_bzero(line, strlen(line));
	*list = longer;
}

static void set_body(CURL *easy, const struct transport_request *request)
{
	if (!request->body) {
		curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
		return;
	}
	curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_len);
	curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, request->body);
}

/* Set all options except the callbacks. The returned list must live as long as the transfer. */
static struct curl_slist *easy_prepare(CURL *easy, const struct easy_common *common,
				       const struct transport_request *request)
{
	auto_free char *url = xasprintf("%s%s", common->base, request->path);
	struct curl_slist *headers = NULL;

	add_header(&headers, "Accept", "application/json");
	headers = curl_slist_append(headers, "Expect:");
	if (request->content_type)
		add_header(&headers, "Content-Type", request->content_type);
	for (const struct curl_slist *header = common->headers; header; header = header->next)
		headers = curl_slist_append(headers, header->data);
	if (request->authorization)
		add_header(&headers, "Authorization", request->authorization);

	set_connection(easy, common);
	set_tls(easy, common);
	set_body(easy, request);
	curl_easy_setopt(easy, CURLOPT_URL, url);
	curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request->method);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	if (!request->stream)
		curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
	return headers;
}

/* The HTTP status; 0 if there is no response yet. */
static int easy_status(CURL *easy)
{
	long status = 0;

	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	return (int)status;
}

static bool easy_is_http2(CURL *easy)
{
	long version = 0;

	curl_easy_getinfo(easy, CURLINFO_HTTP_VERSION, &version);
	return version == CURL_HTTP_VERSION_2_0;
}

/* The Retry-After of the response, at most an hour; 0: none. */
static uint64_t easy_retry_after_ms(CURL *easy)
{
	curl_off_t wait_s = 0;

	curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &wait_s);
	if (wait_s > RETRY_AFTER_MAX_S)
		wait_s = RETRY_AFTER_MAX_S;
	return wait_s > 0 ? (uint64_t)wait_s * 1000 : 0;
}

/* The result for curl's final @code of a transfer. */
static enum transfer_result easy_result(CURLcode code)
{
	if (code == CURLE_OK)
		return TRANSFER_DONE;
	if (code == CURLE_OPERATION_TIMEDOUT)
		return TRANSFER_TIMEOUT;
	return code == CURLE_WRITE_ERROR ? TRANSFER_STOPPED : TRANSFER_BROKEN;
}

enum {
	TICK_MS = 5000,      /* while there are transfers */
	HEAD_TICK_MS = 1000, /* while a stream waits for its headers */
};

struct transfer {
	struct transport *t;
	struct transfer *next;
	struct transfer **link; /* the pointer that points to this transfer */
	struct wire *wire;      /* NULL: not added yet */
	CURL *easy;
	struct curl_slist *headers;
	const struct transfer_ops *ops; /* NULL: our own probe, or cancelled */
	void *arg;
	uint64_t head_by_ms; /* deadline for a stream's headers; 0: they have arrived */
	bool begun;          /* the headers of a 2xx response have arrived */
	bool cancelled;
	bool late;           /* the headers did not arrive in time */
	struct str warnings; /* answer.h */
	char why[CURL_ERROR_SIZE];
};

struct transport {
	struct wire_env env; /* must be first: callbacks are passed this pointer */
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
		liveness_received(&wire->liveness, uv_now(tr->t->env.loop));
	tr->wire = wire;
	code = curl_multi_add_handle(wire->multi, tr->easy);
	assert(code == CURLM_OK); /* fails only without memory */
}

/* Remove the transfer from curl; only the struct is left. */
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
	auto_str struct str warnings = tr->warnings; /* must outlive the release */
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

/* One header line; an empty line ends the headers, unless the status is 1xx. */
static size_t on_head(const char *data, size_t size, size_t n, void *arg)
{
	struct transfer *tr = arg;
	int status = easy_status(tr->easy);

	wire_received(tr->wire);
	answer_add_warning(&tr->warnings, data, size * n);
	if (size * n > 2 || data[0] != '\r' || status < 200)
		return size * n;
	tr->head_by_ms = 0;
	tr->begun = status < 300;
	if (!easy_is_http2(tr->easy))
		tr->wire->http1 = true;
	if (tr->wire->http1 && !tr->t->told_http1) {
		tr->t->told_http1 = true;
		log_warn("server speaks HTTP/1.1 only: each watch uses its own connection",
			 log_str("server", tr->t->common.base));
	}
	return size * n;
}

static void wire_break(struct transport *t, struct wire *wire)
{
	log_warn("connection does not respond, closing it", log_str("server", t->common.base));
	wire->broken = true;
	wire->retired = true;
}

/* If a transfer timed out and its wire was silent all that time, the wire is dead. */
static void suspect_wire(struct transport *t, struct wire *wire, CURLcode code)
{
	uint64_t silent_ms = uv_now(wire->env->loop) - wire->liveness.received_ms;

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
	code = msg->data.result; /* the message is invalid once its handle is removed */
	curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE, (char **)&tr);
	suspect_wire(t, wire, code);
	if (!tr->why[0])
		(void)snprintf(tr->why, sizeof(tr->why), "%s", curl_easy_strerror(code));
	transfer_finish(tr, easy_result(code), tr->why);
	return true;
}

/* Act on one flag. The callbacks may change anything, so no pointer is kept across calls. */
static bool settle_one_mark(struct transport *t)
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

/* End everything; the memory is freed when libuv has closed the handles. */
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

static void settle_marks(struct wire_env *env)
{
	struct transport *t = (struct transport *)env;

	if (t->env.inside > 0 || t->settling)
		return;
	t->settling = true;
	while (!t->closing && settle_one_mark(t))
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

/* Send a probe on a silent wire. The API server answers /livez ahead of all priority and
 * fairness queues, and any response will do. The probe needs the credentials: after an anonymous
 * request the API server stops the connection (GOAWAY), and the next request would need a new
 * one. */
static void wire_probe(struct transport *t, struct wire *wire)
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
	if (act == LIVENESS_PROBE)
		wire_probe(t, wire);
	else if (act == LIVENESS_DEAD)
		wire_break(t, wire);
}

/* A stream has no overall timeout, so the timeout for its headers is checked here. */
static void on_tick(uv_timer_t *timer)
{
	struct transport *t = timer->data;
	uint64_t now_ms = uv_now(t->env.loop);

	for (struct wire *wire = t->wires; wire; wire = wire->next)
		check_wire(t, wire, now_ms);
	for (struct transfer *tr = t->transfers; tr; tr = tr->next)
		tr->late = tr->head_by_ms && tr->head_by_ms <= now_ms;
	settle_marks(&t->env);
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
		.after = settle_marks,
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
