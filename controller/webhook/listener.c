#include "controller/webhook/listener.h"

#include <assert.h>
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "controller/webhook/tls_datum.h"
#include "kube/clock.h"
#include "kube/http_loop.h"
#include "kube/listen.h"
#include "kube/metrics.h"

/* --- a certificate and its key --- */

enum { CHAIN_MAX = 4 };

/* For handshakes. Reference-counted by the listener and running handshakes, so that it outlives its
 * replacement as long as needed. */
struct tls_pair {
	unsigned refs;
	gnutls_pcert_st certs[CHAIN_MAX];
	unsigned ncerts;
	gnutls_privkey_t key;
};

static int tls_pair_load(struct tls_pair *pair, const char *cert, const char *key)
{
	gnutls_datum_t cert_text = tls_datum(cert);
	gnutls_datum_t key_text = tls_datum(key);
	unsigned n = CHAIN_MAX;
	int r = gnutls_pcert_list_import_x509_raw(pair->certs, &n, &cert_text, GNUTLS_X509_FMT_PEM,
						  GNUTLS_X509_CRT_LIST_FAIL_IF_UNSORTED);

	if (r < 0)
		return r;
	pair->ncerts = n;
	r = gnutls_privkey_init(&pair->key);
	if (r < 0)
		return r;
	return gnutls_privkey_import_x509_raw(pair->key, &key_text, GNUTLS_X509_FMT_PEM, NULL, 0);
}

/* Takes NULL, returns NULL. */
static struct tls_pair *tls_pair_unref(struct tls_pair *pair)
{
	if (!pair || --pair->refs > 0)
		return NULL;
	for (unsigned i = 0; i < pair->ncerts; i++)
		gnutls_pcert_deinit(&pair->certs[i]);
	if (pair->key)
		gnutls_privkey_deinit(pair->key);
	free(pair);
	return NULL;
}

/* From PEM: the certificate with its chain, and its key. Errors: -EINVAL. */
static int tls_pair_new(const char *cert, const char *key, struct tls_pair **ret_pair,
			struct err *err)
{
	struct tls_pair *pair = xcalloc(1, sizeof(*pair));
	int r = tls_pair_load(pair, cert, key);

	pair->refs = 1;
	if (r < 0) {
		tls_pair_unref(pair);
		return err_set(err, ERR_INVALID, -EINVAL, "load the certificate and its key: %s",
			       gnutls_strerror(r));
	}
	*ret_pair = pair;
	return 0;
}

static struct tls_pair *tls_pair_ref(struct tls_pair *pair)
{
	pair->refs++;
	return pair;
}

/* --- the listener --- */

enum { CONNECTION_MEMORY = 16 * 1024, BIG_BODY = 32 * 1024 };

/* No CBC, no RSA key exchange, nothing below TLS 1.2. */
const char listener_priorities[] =
	"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-CIPHER-ALL:+AES-128-GCM:+AES-256-GCM:"
	"+CHACHA20-POLY1305:-KX-ALL:+ECDHE-ECDSA:+ECDHE-RSA:%SERVER_PRECEDENCE";

static const struct metric_desc connections_desc = {
	.name = "hostdev_webhook_connections",
	.help = "Open connections to the webhook.",
	.type = METRIC_GAUGE,
};

struct listener {
	struct http_loop http;
	struct clock *clock;
	struct metric *connections;
	struct callers pending;     /* connections without a completed handshake */
	struct callers established; /* connections with a completed handshake */
	struct callers arriving;    /* requests whose body is arriving */
	listener_fn *answer;
	void *arg;
	struct tls_pair *pair; /* NULL: handshakes fail */
	size_t bodies;         /* bytes of the bodies of all exchanges */
	unsigned port;
	bool draining;
	char *client_ca; /* NULL: any client is allowed */
};

/* A connection. */
struct line {
	struct listener *listener;
	struct MHD_Connection *connection;
	struct caller caller;
	struct tls_pair *pair; /* of its handshake */
	bool known; /* client is allowed, by its certificate or because there is no client CA */
};

/* A request being received. */
struct exchange {
	struct caller caller; /* must be first; for the list `arriving` */
	struct str body;
	uint64_t until_ms;
	bool given_up; /* dropped to make room */
};

/* --- TLS --- */

/* Called with the ClientHello: the current certificate is used for this connection. */
/* NOLINTNEXTLINE(readability-function-size): the library's signature */
static int on_certificate(gnutls_session_t session, const gnutls_datum_t *authorities,
			  int nauthorities, const gnutls_pk_algorithm_t *algorithms,
			  int nalgorithms, gnutls_pcert_st **certs, unsigned *ncerts,
			  gnutls_privkey_t *key)
{
	struct line *line = gnutls_session_get_ptr(session);

	(void)authorities;
	(void)nauthorities;
	(void)algorithms;
	(void)nalgorithms;
	if (!line->listener->pair)
		return -1;
	tls_pair_unref(line->pair);
	line->pair = tls_pair_ref(line->listener->pair);
	*certs = line->pair->certs;
	*ncerts = line->pair->ncerts;
	*key = line->pair->key;
	return 0;
}

/* Set a time limit that starts now. */
static void allow_seconds(struct MHD_Connection *connection, unsigned seconds)
{
	MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, seconds);
}

/* True if the client presented a certificate signed by the client CA. */
static bool is_known(gnutls_session_t session)
{
	static unsigned char client[] = GNUTLS_KP_TLS_WWW_CLIENT;
	gnutls_typed_vdata_st purpose = { .type = GNUTLS_DT_KEY_PURPOSE_OID, .data = client };
	unsigned status = 0;

	return gnutls_certificate_verify_peers(session, &purpose, 1, &status) == 0 && status == 0;
}

/* The client's last handshake message was received. A client that is not allowed stays in
 * `pending` and gets an error response. */
static int on_finished(gnutls_session_t session, unsigned type, unsigned when, unsigned incoming,
		       const gnutls_datum_t *message)
{
	struct line *line = gnutls_session_get_ptr(session);

	(void)type;
	(void)when;
	(void)message;
	if (!incoming)
		return 0;
	line->known = !line->listener->client_ca || is_known(session);
	if (!line->known)
		return 0;
	callers_append(&line->listener->established, &line->caller, line->connection);
	allow_seconds(line->connection, LISTENER_ARRIVAL_S);
	return 0;
}

static void on_open(struct listener *listener, struct MHD_Connection *connection, void **context)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	struct line *line = xcalloc(1, sizeof(*line));

	line->listener = listener;
	line->connection = connection;
	gnutls_session_set_ptr(info->tls_session, line);
	gnutls_handshake_set_hook_function(info->tls_session, GNUTLS_HANDSHAKE_FINISHED,
					   GNUTLS_HOOK_POST, on_finished);
	*context = line;
	callers_append(&listener->pending, &line->caller, connection);
	metric_add(listener->connections, 1, NULL);
}

static void on_connection(void *arg, struct MHD_Connection *connection, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct listener *listener = arg;
	struct line *line = *context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		on_open(listener, connection, context);
		return;
	}
	metric_add(listener->connections, -1, NULL);
	callers_remove(&line->caller);
	tls_pair_unref(line->pair);
	free(line);
	*context = NULL;
}

/* --- requests --- */

static enum MHD_Result respond(const struct listener *listener, struct MHD_Connection *connection,
			       int status, struct str *body)
{
	size_t len = body->len; /* str_detach() sets it to 0 */
	struct MHD_Response *response =
		MHD_create_response_from_buffer(len, str_detach(body), MHD_RESPMEM_MUST_FREE);
	enum MHD_Result result;

	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE,
				status == MHD_HTTP_OK ? "application/json"
						      : "text/plain; charset=utf-8");
	if (listener->draining)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	result = MHD_queue_response(connection, (unsigned)status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result refuse(const struct listener *listener, struct MHD_Connection *connection,
			      int status, const char *why)
{
	struct str body = STR_INIT;

	str_add(&body, why);
	return respond(listener, connection, status, &body);
}

static struct line *line_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info->socket_context;
}

/* Connections that have sent a request are closed last when there are too many. False: the
 * client is not allowed. */
static bool keep_connection(struct listener *listener, struct MHD_Connection *connection)
{
	struct line *line = line_of(connection);

	if (line->known)
		callers_append(&listener->established, &line->caller, connection);
	return line->known;
}

/* The headers have arrived. Unwanted requests are refused before their body is read. */
static enum MHD_Result exchange_begin(struct listener *listener, struct MHD_Connection *connection,
				      const char *method, void **state)
{
	const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
							 MHD_HTTP_HEADER_CONTENT_LENGTH);
	struct exchange *exchange;
	uint64_t len;

	if (strcmp(method, "POST") != 0)
		return refuse(listener, connection, MHD_HTTP_METHOD_NOT_ALLOWED,
			      "admission reviews must be sent by POST\n");
	if (!str_to_u64(length, &len))
		return refuse(listener, connection, MHD_HTTP_LENGTH_REQUIRED,
			      "Content-Length is required\n");
	if (len > LISTENER_BODY_MAX)
		return refuse(listener, connection, MHD_HTTP_CONTENT_TOO_LARGE,
			      "a review has at most 3 MiB\n");
	exchange = xcalloc(1, sizeof(*exchange));
	exchange->until_ms = clock_now_ms(listener->clock) + (uint64_t)LISTENER_ARRIVAL_S * 1000;
	*state = exchange;
	callers_append(&listener->arriving, &exchange->caller, connection);
	allow_seconds(connection, LISTENER_ARRIVAL_S);
	return MHD_YES;
}

static void forget_body(struct listener *listener, struct exchange *exchange)
{
	listener->bodies -= exchange->body.len;
	str_done(&exchange->body);
}

/* Drop exchanges that are older than @exchange until @len more bytes fit; false: they do not
 * fit. */
static bool make_room(struct listener *listener, const struct exchange *exchange, size_t len)
{
	while (listener->bodies + len > LISTENER_BODIES_MAX) {
		struct exchange *oldest = (struct exchange *)listener->arriving.oldest;

		if (oldest == exchange)
			return false;
		forget_body(listener, oldest);
		oldest->given_up = true;
		callers_close(&oldest->caller);
	}
	return true;
}

/* Another piece of the body; a refusal here ends the connection. */
static enum MHD_Result exchange_data(struct listener *listener, struct exchange *exchange,
				     const char *data, size_t *len)
{
	if (exchange->given_up || clock_now_ms(listener->clock) > exchange->until_ms ||
	    exchange->body.len + *len > LISTENER_BODY_MAX || !make_room(listener, exchange, *len))
		return MHD_NO;
	str_add_mem(&exchange->body, data, *len);
	listener->bodies += *len;
	*len = 0;
	return MHD_YES;
}

static enum MHD_Result finish(struct listener *listener, struct MHD_Connection *connection,
			      const char *path, struct exchange *exchange)
{
	struct str out = STR_INIT;
	const char *body = str_cstr(&exchange->body);
	bool verified = listener->client_ca && line_of(connection)->known;
	int status;

	if (exchange->given_up)
		return MHD_NO;
	status = listener->answer(listener->arg, path, verified, body, exchange->body.len, &out);
	return respond(listener, connection, status, &out);
}

/* NOLINTNEXTLINE(readability-function-size): the library's signature */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **state)
{
	struct listener *listener = arg;

	(void)version;
	http_loop_progress(&listener->http);
	if (!*state) {
		if (!keep_connection(listener, connection))
			return refuse(listener, connection, MHD_HTTP_FORBIDDEN,
				      "only API servers with a client certificate of "
				      "--webhook-client-ca get an answer\n");
		return exchange_begin(arg, connection, method, state);
	}
	if (*upload_size > 0)
		return exchange_data(arg, *state, upload, upload_size);
	return finish(arg, connection, url, *state);
}

/*
 * A tree takes several times the memory of its body. glibc keeps freed memory of both, up to twice
 * the largest block seen (mallopt(3), M_MMAP_THRESHOLD), and everything below the topmost used
 * block, so a few large reviews would increase our memory use permanently.
 */
static void release_memory(size_t len)
{
	if (len >= BIG_BODY)
		malloc_trim(0);
}

static void on_completed(void *arg, struct MHD_Connection *connection, void **state,
			 enum MHD_RequestTerminationCode code)
{
	struct listener *listener = arg;
	struct exchange *exchange = *state;
	size_t len;

	if (code == MHD_REQUEST_TERMINATED_COMPLETED_OK)
		allow_seconds(connection, LISTENER_IDLE_S);
	if (!exchange)
		return;
	len = exchange->body.len;
	callers_remove(&exchange->caller);
	forget_body(listener, exchange);
	free(exchange);
	*state = NULL;
	release_memory(len);
}

/* --- the module's functions --- */

/* Takes over @fd, also on error. */
static int start_daemon(struct listener *listener, struct uv_loop_s *loop, int fd, struct err *err)
{
	struct MHD_Daemon *daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_TLS, 0, NULL, NULL, on_request, listener,
		MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_HTTPS_CERT_CALLBACK, on_certificate,
		MHD_OPTION_HTTPS_PRIORITIES, listener_priorities, MHD_OPTION_NOTIFY_CONNECTION,
		on_connection, listener, MHD_OPTION_NOTIFY_COMPLETED, on_completed, listener,
		MHD_OPTION_HTTPS_MEM_TRUST, listener->client_ca, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)LISTENER_CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)CONNECTION_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)LISTENER_HANDSHAKE_S, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
		MHD_OPTION_END);

	if (!daemon) {
		close(fd);
		return err_set(err, ERR_RETRY, -EIO, "start the webhook on port %u",
			       listener->port);
	}
	http_loop_start(&listener->http, loop, daemon);
	return 0;
}

static int check_ca(const char *pem, struct err *err)
{
	gnutls_datum_t text = tls_datum(pem);
	gnutls_x509_crt_t *certs = NULL;
	unsigned len = 0;
	int r = gnutls_x509_crt_list_import2(&certs, &len, &text, GNUTLS_X509_FMT_PEM, 0);

	for (unsigned i = 0; r >= 0 && i < len; i++)
		gnutls_x509_crt_deinit(certs[i]);
	gnutls_free(certs);
	if (r >= 0)
		return 0;
	return err_set(err, ERR_INVALID, -EINVAL, "load the certificates: %s", gnutls_strerror(r));
}

int listener_new(struct uv_loop_s *loop, const struct listener_options *options,
		 struct listener **ret_listener, struct err *err)
{
	struct listener *listener;
	int fd = -1;
	int r = options->client_ca ? check_ca(options->client_ca, err) : 0;

	if (r == 0)
		r = listen_open(options->address, &fd, err);
	if (r < 0)
		return r;
	listener = xcalloc(1, sizeof(*listener));
	listener->clock = options->clock;
	listener->pending.max = LISTENER_PENDING_MAX;
	listener->established.max = LISTENER_ESTABLISHED_MAX;
	listener->arriving.max = LISTENER_CONNECTIONS_MAX;
	listener->connections = metrics_family(options->metrics, &connections_desc);
	listener->answer = options->answer;
	listener->arg = options->arg;
	listener->port = listen_port(fd);
	listener->client_ca = xstrdup_or_null(options->client_ca);
	r = start_daemon(listener, loop, fd, err);
	if (r < 0) {
		free(listener->client_ca);
		free(listener);
		return r;
	}
	*ret_listener = listener;
	return 0;
}

static void release(void *arg)
{
	struct listener *listener = arg;

	tls_pair_unref(listener->pair);
	free(listener->client_ca);
	free(listener);
}

struct listener *listener_free(struct listener *listener)
{
	if (listener)
		http_loop_stop(&listener->http, release, listener);
	return NULL;
}

int listener_use(struct listener *listener, const char *cert, const char *key, struct err *err)
{
	struct tls_pair *pair = NULL;
	int r = tls_pair_new(cert, key, &pair, err);

	if (r < 0)
		return r;
	tls_pair_unref(listener->pair);
	listener->pair = pair;
	return 0;
}

void listener_drain(struct listener *listener)
{
	listener->draining = true;
}

unsigned listener_port(const struct listener *listener)
{
	return listener->port;
}
