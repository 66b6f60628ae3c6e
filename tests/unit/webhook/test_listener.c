#include "controller/webhook/listener.h"

#include <errno.h>
#include <signal.h>

#include "api/json_values.h"
#include "base/err.h"
#include "base/timefmt.h"
#include "controller/webhook/certificate.h"
#include "fake/fake_clock.h"
#include "kube/listen.h"
#include "unit/suite.h"
#include "unit/webhook/tls_client.h"

static const int64_t hour = (int64_t)60 * 60 * 1000;

struct bench {
	uv_loop_t loop;
	struct fake_clock *clock;
	struct listener *listener;
	struct certificate_pair ca;
	struct certificate_pair serving;
};

/* Answers with what it was asked. */
static int echo(void *arg, const char *path, bool verified, const char *body, size_t len,
		struct str *out)
{
	(void)arg;
	str_addf(out, "%s %zu %.16s%s", path, len, body, verified ? " of a known client" : "");
	return strcmp(path, "/nowhere") == 0 ? 404 : 200;
}

static void make_serving(struct bench *b)
{
	struct json_strs hosts = { 0 };

	json_strs_add(&hosts, "a.svc");
	certificate_pair_done(&b->serving);
	assert_int_equal(
		certificate_make_serving(&b->ca, &hosts, timefmt_wall_ms(), &b->serving, NULL), 0);
	json_strs_done(&hosts);
}

static void open_listener(struct bench *b, const char *client_ca)
{
	struct listen_address address = { .host = "127.0.0.1" };
	struct err err = { 0 };

	assert_int_equal(listener_new(&b->loop,
				      &(struct listener_options){
					      .clock = fake_clock_as_clock(b->clock),
					      .address = &address,
					      .client_ca = client_ca,
					      .answer = echo,
				      },
				      &b->listener, &err),
			 0);
}

static void open_bench(struct bench *b)
{
	(void)signal(SIGPIPE, SIG_IGN);
	*b = (struct bench){ .clock = fake_clock_new() };
	uv_loop_init(&b->loop);
	assert_int_equal(certificate_make_ca(timefmt_wall_ms() - hour, &b->ca, NULL), 0);
	make_serving(b);
	open_listener(b, NULL);
}

static void use(struct bench *b)
{
	struct err err = { 0 };

	assert_int_equal(listener_use(b->listener, b->serving.cert, b->serving.key, &err), 0);
}

static void close_bench(struct bench *b)
{
	listener_free(b->listener);
	uv_run(&b->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&b->loop), 0);
	fake_clock_free(b->clock);
	certificate_pair_done(&b->ca);
	certificate_pair_done(&b->serving);
}

SUITE_FIXTURE(bench, struct bench, open_bench, close_bench);

static void dial(struct bench *b, struct tls_client *c, const char *priorities)
{
	tls_client_open(c, &b->loop, listener_port(b->listener), b->ca.cert, priorities);
}

static void reviews_are_answered(void **state)
{
	struct tls_client c;
	struct bench *b = *state;

	use(b);
	dial(b, &c, NULL);
	assert_int_equal(tls_client_handshake(&c), 0);
	assert_int_equal(tls_client_post(&c, "/validate", "{\"a\":1}", 7), 200);
	assert_non_null(strstr(c.answer.buf, "Content-Type: application/json\r\n"));
	assert_non_null(strstr(c.answer.buf, "\r\n\r\n/validate 7 {\"a\":1}"));
	assert_null(strstr(c.answer.buf, "known client")); /* no client has to be */
	assert_int_equal(tls_client_post(&c, "/nowhere", "", 0), 404);
	assert_int_equal(tls_client_post(&c, "/mutate", "x", 1), 200);
	tls_client_close(&c);
}

static void before_the_end_each_answer_is_the_last_of_its_connection(void **state)
{
	struct tls_client kept;
	struct tls_client late;
	struct bench *b = *state;

	use(b);
	dial(b, &kept, NULL);
	assert_int_equal(tls_client_handshake(&kept), 0);
	assert_int_equal(tls_client_post(&kept, "/validate", "x", 1), 200);
	assert_null(strstr(kept.answer.buf, "Connection: close\r\n"));
	listener_drain(b->listener);
	assert_int_equal(tls_client_post(&kept, "/validate", "x", 1), 200);
	assert_non_null(strstr(kept.answer.buf, "Connection: close\r\n"));
	assert_true(tls_client_ended(&kept, 1000));
	dial(b, &late, NULL);
	assert_int_equal(tls_client_handshake(&late), 0);
	assert_int_equal(tls_client_post(&late, "/validate", "x", 1), 200);
	tls_client_close(&kept);
	tls_client_close(&late);
}

static struct suite_case {
	const char *name;
	const char *priorities;
	bool taken;
} suites[] = {
	{ "TLS 1.3 is spoken", "NORMAL:-VERS-ALL:+VERS-TLS1.3", true },
	{ "TLS 1.2 is spoken", "NORMAL:-VERS-ALL:+VERS-TLS1.2", true },
	{ "TLS 1.1 is not", "NORMAL:-VERS-ALL:+VERS-TLS1.1", false },
	{ "ChaCha20 is spoken", "NORMAL:-VERS-ALL:+VERS-TLS1.2:-CIPHER-ALL:+CHACHA20-POLY1305",
	  true },
	{ "CBC is not", "NORMAL:-VERS-ALL:+VERS-TLS1.2:-CIPHER-ALL:+AES-128-CBC:+AES-256-CBC",
	  false },
	{ "nor is CCM", "NORMAL:-VERS-ALL:+VERS-TLS1.2:-CIPHER-ALL:+AES-128-CCM", false },
};

static void suite_is_agreed_on(void **state)
{
	const struct suite_case *c = suite_row(state);
	struct tls_client client;
	struct bench *b = *state;

	use(b);
	dial(b, &client, c->priorities);
	assert_int_equal(tls_client_handshake(&client) == 0, c->taken);
	if (c->taken)
		assert_int_equal(tls_client_post(&client, "/validate", "", 0), 200);
	tls_client_close(&client);
}

static void no_other_version_is_spoken(void **state)
{
	const unsigned *versions;
	gnutls_priority_t spoken;

	assert_int_equal(gnutls_priority_init(&spoken, listener_priorities, NULL), 0);
	assert_int_equal(gnutls_priority_protocol_list(spoken, &versions), 2);
	assert_int_equal(versions[0], GNUTLS_TLS1_3);
	assert_int_equal(versions[1], GNUTLS_TLS1_2);
	gnutls_priority_deinit(spoken);
}

static void without_a_certificate_there_is_no_handshake(void **state)
{
	struct tls_client c;
	struct bench *b = *state;

	dial(b, &c, NULL);
	assert_true(tls_client_handshake(&c) < 0);
	tls_client_close(&c);
	use(b);
	dial(b, &c, NULL);
	assert_int_equal(tls_client_handshake(&c), 0);
	tls_client_close(&c);
}

static bool serves(struct tls_client *c, const char *pem)
{
	gnutls_datum_t text = tls_datum(pem);
	const gnutls_datum_t *seen = gnutls_certificate_get_peers(c->session, NULL);
	gnutls_datum_t der = { 0 };
	bool same;

	assert_non_null(seen);
	assert_int_equal(gnutls_pem_base64_decode2("CERTIFICATE", &text, &der), 0);
	same = der.size == seen->size && memcmp(der.data, seen->data, der.size) == 0;
	gnutls_free(der.data);
	return same;
}

static void a_new_certificate_drops_no_connection(void **state)
{
	struct tls_client before;
	struct tls_client after;
	struct bench *b = *state;

	use(b);
	dial(b, &before, NULL);
	assert_int_equal(tls_client_handshake(&before), 0);
	assert_true(serves(&before, b->serving.cert));
	assert_true(tls_client_send(&before, "POST /validate HTTP/1.1\r\nHost: a\r\n", 34));

	make_serving(b);
	use(b);
	assert_true(tls_client_send(&before, "Content-Length: 1\r\n\r\nx", 22));
	assert_true(tls_client_receive(&before));
	assert_false(serves(&before, b->serving.cert));
	dial(b, &after, NULL);
	assert_int_equal(tls_client_handshake(&after), 0);
	assert_true(serves(&after, b->serving.cert));
	assert_int_equal(tls_client_post(&before, "/validate", "x", 1), 200);
	tls_client_close(&before);
	tls_client_close(&after);
}

/* The certificate of a server is none of a client, whoever has signed it. */
static void who_has_to_show_a_certificate_and_does_not_is_refused(void **state)
{
	struct tls_client client;
	struct bench *b = *state;

	listener_free(b->listener);
	open_listener(b, b->ca.cert);
	use(b);
	for (int i = 0; i < 2; i++) {
		dial(b, &client, i == 0 ? "NORMAL:-VERS-ALL:+VERS-TLS1.2" : NULL);
		if (i == 1)
			tls_client_show(&client, b->serving.cert, b->serving.key);
		assert_int_equal(tls_client_handshake(&client), 0);
		assert_int_equal(tls_client_post(&client, "/validate", "x", 1), 403);
		assert_non_null(
			strstr(client.answer.buf, "only API servers with a client certificate"));
		tls_client_close(&client);
	}
}

static void no_certificate_is_no_ca_of_clients(void **state)
{
	struct listen_address address = { .host = "127.0.0.1" };
	struct listener *listener = NULL;
	struct err err = { 0 };
	uv_loop_t loop;

	uv_loop_init(&loop);
	assert_int_equal(listener_new(&loop,
				      &(struct listener_options){
					      .address = &address,
					      .client_ca = "nonsense",
					      .answer = echo,
				      },
				      &listener, &err),
			 -EINVAL);
	assert_non_null(strstr(err.msg, "load the certificates: "));
	assert_int_equal(uv_loop_close(&loop), 0);
}

static void a_wrong_certificate_leaves_the_old_one(void **state)
{
	struct err err = { 0 };
	struct tls_client c;
	struct bench *b = *state;

	use(b);
	assert_int_equal(listener_use(b->listener, "x", b->serving.key, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "load the certificate and its key: "));
	assert_int_equal(listener_use(b->listener, b->serving.cert, "x", &err), -EINVAL);
	dial(b, &c, NULL);
	assert_int_equal(tls_client_handshake(&c), 0);
	tls_client_close(&c);
}

static struct refusal_case {
	const char *name;
	const char *head;
	const char *status; /* NULL: none, the connection ends */
} refusals[] = {
	{ "GET is not answered", "GET /validate HTTP/1.1\r\nHost: a\r\n\r\n", "405" },
	{ "a length is said beforehand",
	  "POST /validate HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", "411" },
	{ "a body has its limit",
	  "POST /validate HTTP/1.1\r\nHost: a\r\nContent-Length: 3145729\r\n\r\n", "413" },
	{ "a length that is none ends the connection",
	  "POST /validate HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999999\r\n\r\n",
	  NULL },
};

static void head_is_refused(void **state)
{
	const struct refusal_case *c = suite_row(state);
	struct tls_client client;
	struct bench *b = *state;

	use(b);
	dial(b, &client, NULL);
	assert_int_equal(tls_client_handshake(&client), 0);
	assert_true(tls_client_send(&client, c->head, strlen(c->head)));
	assert_int_equal(tls_client_receive(&client), c->status != NULL);
	if (c->status)
		assert_int_equal(strncmp(client.answer.buf + strlen("HTTP/1.1 "), c->status,
					 strlen(c->status)),
				 0);
	tls_client_close(&client);
}

static void the_largest_body_comes_through(void **state)
{
	auto_free char *body = xmalloc(LISTENER_BODY_MAX);
	struct tls_client c;
	struct bench *b = *state;

	memset(body, 'y', LISTENER_BODY_MAX);
	use(b);
	dial(b, &c, NULL);
	assert_int_equal(tls_client_handshake(&c), 0);
	assert_int_equal(tls_client_post(&c, "/validate", body, LISTENER_BODY_MAX), 200);
	assert_non_null(strstr(c.answer.buf, "/validate 3145728 yyyyyyyyyyyyyyyy"));
	tls_client_close(&c);
}

/* The client's first words come, and nothing after our answer to them. */
static void a_handshake_that_stalls_holds_up_nobody(void **state)
{
	struct tls_client stalled;
	struct tls_client c;
	struct bench *b = *state;

	use(b);
	dial(b, &stalled, NULL);
	assert_int_equal(gnutls_handshake(stalled.session), GNUTLS_E_AGAIN);
	for (int i = 0; i < 100; i++)
		uv_run(&b->loop, UV_RUN_NOWAIT);
	dial(b, &c, NULL);
	assert_int_equal(tls_client_handshake(&c), 0);
	assert_int_equal(tls_client_post(&c, "/validate", "", 0), 200);
	/* It was not waited for until it was given up, either. */
	assert_int_equal(tls_client_handshake(&stalled), 0);
	tls_client_close(&c);
	tls_client_close(&stalled);
}

/* As on a busy node, where a client reckons for seconds between our certificate and its last
 * words. */
static void a_slow_client_is_waited_for_while_there_is_room(void **state)
{
	struct tls_client c;
	struct bench *b = *state;

	use(b);
	dial(b, &c, NULL);
	assert_int_equal(gnutls_handshake(c.session), GNUTLS_E_AGAIN);
	for (int i = 0; i < 100; i++)
		uv_run(&b->loop, UV_RUN_NOWAIT);
	usleep(3000 * 1000);
	for (int i = 0; i < 100; i++)
		uv_run(&b->loop, UV_RUN_NOWAIT);
	assert_int_equal(tls_client_handshake(&c), 0);
	assert_int_equal(tls_client_post(&c, "/validate", "x", 1), 200);
	tls_client_close(&c);
}

/* A connection that says nothing; the caller closes it. */
static int dial_silently(struct bench *b)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((uint16_t)listener_port(b->listener)),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0);
	for (int i = 0; i < 10; i++)
		uv_run(&b->loop, UV_RUN_NOWAIT);
	return fd;
}

static bool has_ended(int fd)
{
	char c;

	return recv(fd, &c, 1, MSG_DONTWAIT) == 0;
}

static void of_those_without_a_handshake_the_oldest_goes(void **state)
{
	enum { MANY = LISTENER_CONNECTIONS_MAX + LISTENER_PENDING_MAX };
	int silent[MANY];
	struct tls_client kept;
	struct tls_client late;
	struct bench *b = *state;

	use(b);
	dial(b, &kept, "NORMAL:-VERS-ALL:+VERS-TLS1.2");
	assert_int_equal(tls_client_handshake(&kept), 0);
	for (size_t i = 0; i < MANY; i++)
		silent[i] = dial_silently(b);
	dial(b, &late, NULL);
	assert_int_equal(tls_client_handshake(&late), 0);
	assert_int_equal(tls_client_post(&late, "/validate", "x", 1), 200);
	assert_int_equal(tls_client_post(&kept, "/validate", "x", 1), 200);
	assert_true(has_ended(silent[0]));
	assert_true(has_ended(silent[MANY - LISTENER_PENDING_MAX - 1]));
	assert_false(has_ended(silent[MANY - LISTENER_PENDING_MAX + 1]));
	assert_false(has_ended(silent[MANY - 1]));
	for (size_t i = 0; i < MANY; i++)
		close(silent[i]);
	tls_client_close(&kept);
	tls_client_close(&late);
}

static void of_those_with_one_the_one_goes_that_is_silent_the_longest(void **state)
{
	struct tls_client clients[LISTENER_ESTABLISHED_MAX + 1];
	struct bench *b = *state;

	use(b);
	for (size_t i = 0; i < LISTENER_ESTABLISHED_MAX; i++) {
		dial(b, &clients[i], NULL);
		assert_int_equal(tls_client_handshake(&clients[i]), 0);
	}
	assert_int_equal(tls_client_post(&clients[0], "/validate", "x", 1), 200);
	dial(b, &clients[LISTENER_ESTABLISHED_MAX], NULL);
	assert_int_equal(tls_client_handshake(&clients[LISTENER_ESTABLISHED_MAX]), 0);
	assert_true(tls_client_ended(&clients[1], 1000));
	assert_false(tls_client_ended(&clients[2], 10));
	assert_int_equal(tls_client_post(&clients[0], "/validate", "x", 1), 200);
	assert_int_equal(tls_client_post(&clients[LISTENER_ESTABLISHED_MAX], "/validate", "x", 1),
			 200);
	for (size_t i = 0; i <= LISTENER_ESTABLISHED_MAX; i++)
		tls_client_close(&clients[i]);
}

static const char slow_head[] =
	"POST /validate HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n";

static void a_body_that_trickles_in_is_given_up(void **state)
{
	struct tls_client c;
	struct bench *b = *state;

	use(b);
	dial(b, &c, NULL);
	assert_int_equal(tls_client_handshake(&c), 0);
	assert_true(tls_client_send(&c, slow_head, strlen(slow_head)));
	assert_true(tls_client_send(&c, "x", 1));
	fake_clock_jump(b->clock, LISTENER_ARRIVAL_S * 1000 + 1);
	assert_true(tls_client_send(&c, "x", 1));
	assert_false(tls_client_receive(&c));
	tls_client_close(&c);
}

static void all_bodies_together_have_a_limit(void **state)
{
	enum { PART = 2900 * 1000, FIT = LISTENER_BODIES_MAX / PART };
	auto_free char *body = xcalloc(1, PART);
	struct tls_client clients[FIT + 1];
	struct tls_client last;
	struct bench *b = *state;

	use(b);
	for (size_t i = 0; i <= FIT; i++) {
		dial(b, &clients[i], NULL);
		assert_int_equal(tls_client_handshake(&clients[i]), 0);
		assert_true(tls_client_send(&clients[i], slow_head, strlen(slow_head)));
		(void)tls_client_send(&clients[i], body, PART);
	}
	/* Whoever holds what there is keeps nobody out: the one goes that has taken the longest. */
	assert_true(tls_client_ended(&clients[0], TLS_CLIENT_TURNS));
	for (size_t i = 1; i <= FIT; i++)
		assert_false(tls_client_ended(&clients[i], 10));
	dial(b, &last, NULL);
	assert_int_equal(tls_client_handshake(&last), 0);
	assert_int_equal(tls_client_post(&last, "/validate", body, PART), 200);
	assert_true(tls_client_ended(&clients[1], TLS_CLIENT_TURNS));
	assert_false(tls_client_ended(&clients[2], 10));
	tls_client_close(&last);

	/* What the others hold is free again when they are gone. */
	for (size_t i = 0; i <= FIT; i++)
		tls_client_close(&clients[i]);
	for (int i = 0; i < 1000; i++)
		uv_run(&b->loop, UV_RUN_NOWAIT);
	dial(b, &last, NULL);
	assert_int_equal(tls_client_handshake(&last), 0);
	assert_int_equal(tls_client_post(&last, "/validate", body, PART), 200);
	tls_client_close(&last);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "no other version is spoken", no_other_version_is_spoken, NULL);
	suite_add(&suite, "what is no certificate is no CA of clients",
		  no_certificate_is_no_ca_of_clients, NULL);
	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "reviews are answered", reviews_are_answered, NULL);
	suite_rows(&suite, suites, suite_is_agreed_on);
	suite_add(&suite, "before the end each answer is the last of its connection",
		  before_the_end_each_answer_is_the_last_of_its_connection, NULL);
	suite_add(&suite, "without a certificate there is no handshake",
		  without_a_certificate_there_is_no_handshake, NULL);
	suite_add(&suite, "a new certificate drops no connection",
		  a_new_certificate_drops_no_connection, NULL);
	suite_add(&suite, "a wrong certificate leaves the old one",
		  a_wrong_certificate_leaves_the_old_one, NULL);
	suite_add(&suite, "who has to show a certificate and does not is refused",
		  who_has_to_show_a_certificate_and_does_not_is_refused, NULL);
	suite_rows(&suite, refusals, head_is_refused);
	suite_add(&suite, "the largest body comes through", the_largest_body_comes_through, NULL);
	suite_add(&suite, "a handshake that stalls holds up nobody",
		  a_handshake_that_stalls_holds_up_nobody, NULL);
	suite_add(&suite, "a slow client is waited for while there is room",
		  a_slow_client_is_waited_for_while_there_is_room, NULL);
	suite_add(&suite,
		  "of those without a handshake the oldest goes, and nobody else is kept out",
		  of_those_without_a_handshake_the_oldest_goes, NULL);
	suite_add(&suite, "of those with one the one goes that is silent the longest",
		  of_those_with_one_the_one_goes_that_is_silent_the_longest, NULL);
	suite_add(&suite, "a body that trickles in is given up",
		  a_body_that_trickles_in_is_given_up, NULL);
	suite_add(&suite, "all bodies together have a limit", all_bodies_together_have_a_limit,
		  NULL);
	return suite_run(&suite, "listener");
}
