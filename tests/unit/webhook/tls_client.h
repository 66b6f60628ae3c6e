/*
 * tls_client: one TLS connection to a listener in the same process, over the loopback interface:
 * both sides take turns on the test's loop.
 */
#pragma once

#include <arpa/inet.h>
#include <assert.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <uv.h>

#include "base/str.h"
#include "controller/webhook/tls_datum.h"

enum { TLS_CLIENT_TURNS = 100 * 1000 };

struct tls_client {
	uv_loop_t *loop;
	int fd;
	gnutls_session_t session;
	gnutls_certificate_credentials_t trust;
	struct str answer;
};

static inline void tls_client_open(struct tls_client *c, uv_loop_t *loop, unsigned port,
				   const char *ca, const char *priorities)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((uint16_t)port),
	};
	gnutls_datum_t pem = tls_datum(ca);

	*c = (struct tls_client){ .loop = loop };
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert(c->fd >= 0 && connect(c->fd, (struct sockaddr *)&at, sizeof(at)) == 0);
	fcntl(c->fd, F_SETFL, O_NONBLOCK);
	/* Head and body are two records: the second would wait for the first's ACK, 40 ms if it is
	 * a late one. */
	assert(setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int)) == 0);
	gnutls_certificate_allocate_credentials(&c->trust);
	gnutls_certificate_set_x509_trust_mem(c->trust, &pem, GNUTLS_X509_FMT_PEM);
	gnutls_init(&c->session, GNUTLS_CLIENT | GNUTLS_NONBLOCK);
	gnutls_priority_set_direct(c->session, priorities ? priorities : "NORMAL", NULL);
	gnutls_credentials_set(c->session, GNUTLS_CRD_CERTIFICATE, c->trust);
	gnutls_session_set_verify_cert(c->session, "a.svc", 0);
	gnutls_transport_set_int(c->session, c->fd);
}

/* Before the handshake: it has this certificate and key. */
static inline void tls_client_show(struct tls_client *c, const char *cert, const char *key)
{
	gnutls_datum_t cert_text = tls_datum(cert);
	gnutls_datum_t key_text = tls_datum(key);
	int r = gnutls_certificate_set_x509_key_mem(c->trust, &cert_text, &key_text,
						    GNUTLS_X509_FMT_PEM);

	assert(r >= 0);
}

static inline void tls_client_close(struct tls_client *c)
{
	gnutls_deinit(c->session);
	gnutls_certificate_free_credentials(c->trust);
	close(c->fd);
	str_done(&c->answer);
}

/* 0, or GnuTLS's error. */
static inline int tls_client_handshake(struct tls_client *c)
{
	int r = GNUTLS_E_AGAIN;

	for (int i = 0; i < TLS_CLIENT_TURNS && r < 0 && !gnutls_error_is_fatal(r); i++) {
		r = gnutls_handshake(c->session);
		uv_run(c->loop, UV_RUN_NOWAIT);
	}
	return r;
}

/* False if the other side has closed meanwhile. */
static inline bool tls_client_send(struct tls_client *c, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = gnutls_record_send(c->session, data, len);

		uv_run(c->loop, UV_RUN_NOWAIT);
		if (n == GNUTLS_E_AGAIN || n == GNUTLS_E_INTERRUPTED)
			continue;
		if (n < 0)
			return false;
		data += n;
		len -= (size_t)n;
	}
	return true;
}

/* True once the answer is there, head and body; false if the connection has ended before. */
static inline bool tls_client_receive(struct tls_client *c)
{
	char data[4096];

	str_clear(&c->answer);
	for (int i = 0; i < TLS_CLIENT_TURNS; i++) {
		ssize_t n = gnutls_record_recv(c->session, data, sizeof(data));
		const char *head_end;
		const char *length;

		uv_run(c->loop, UV_RUN_NOWAIT);
		if (n == 0 || (n < 0 && gnutls_error_is_fatal((int)n)))
			return false;
		if (n > 0)
			str_add_mem(&c->answer, data, (size_t)n);
		head_end = strstr(str_cstr(&c->answer), "\r\n\r\n");
		length = strstr(str_cstr(&c->answer), "Content-Length: ");
		if (head_end && length && strlen(head_end + 4) == strtoul(length + 16, NULL, 10))
			return true;
	}
	return false;
}

/* Has the other side ended the connection, within so many turns? */
static inline bool tls_client_ended(struct tls_client *c, int turns)
{
	char data[4096];

	for (int i = 0; i < turns; i++) {
		ssize_t n = gnutls_record_recv(c->session, data, sizeof(data));

		if (n == 0 || (n < 0 && gnutls_error_is_fatal((int)n)))
			return true;
		uv_run(c->loop, UV_RUN_NOWAIT);
	}
	return false;
}

/* The status of the answer to a POST of @len bytes; 0 if the connection has ended. */
static inline int tls_client_post(struct tls_client *c, const char *path, const char *body,
				  size_t len)
{
	auto_str struct str head = STR_INIT;

	str_addf(&head, "POST %s HTTP/1.1\r\nHost: a.svc\r\nContent-Length: %zu\r\n\r\n", path,
		 len);
	if (!tls_client_send(c, head.buf, head.len))
		return 0;
	/* The refusal of a body may come before all of it was sent. */
	(void)tls_client_send(c, body, len);
	if (!tls_client_receive(c))
		return 0;
	return (int)strtol(c->answer.buf + strlen("HTTP/1.1 "), NULL, 10);
}
