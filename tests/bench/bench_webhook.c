/*
 * bench_webhook: how long the webhook takes to answer an admission review.
 *
 *	bench_webhook PORT REVIEW-FILE RATE SECONDS CONNECTIONS
 *
 * Posts the review to /validate on 127.0.0.1, RATE times a second, over so many connections in
 * turn, and says for each how many us went by until its answer was read: since it was sent, and
 * since it was due, two numbers a line.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <gnutls/gnutls.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

enum { CONNECTIONS_MAX = 64, REVIEW_MAX = 3 * 1024 * 1024, ANSWER_MAX = 64 * 1024 };

struct bench {
	uint64_t port, rate, seconds, connections;
	struct str request;
	gnutls_session_t sessions[CONNECTIONS_MAX];
	gnutls_certificate_credentials_t trust;
};

static _Noreturn void stop(const char *what, const char *why)
{
	(void)fprintf(stderr, "bench_webhook: %s: %s\n", what, why);
	exit(1);
}

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void sleep_until_us(uint64_t at_us)
{
	struct timespec at = { .tv_sec = (time_t)(at_us / 1000000),
			       .tv_nsec = (long)(at_us % 1000000) * 1000 };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

static int dial_port(uint64_t port)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons((uint16_t)port),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		stop("connect", strerror(errno));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return fd;
}

/* Whose certificate it is does not matter here. */
static void dial(struct bench *bench, size_t i)
{
	int fd = dial_port(bench->port);
	gnutls_session_t session;
	int r;

	gnutls_init(&session, GNUTLS_CLIENT);
	gnutls_set_default_priority(session);
	gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, bench->trust);
	gnutls_transport_set_int(session, fd); /* a macro that reads it twice */
	do
		r = gnutls_handshake(session);
	while (r < 0 && !gnutls_error_is_fatal(r));
	if (r < 0)
		stop("handshake", gnutls_strerror(r));
	bench->sessions[i] = session;
}

static void send_all(gnutls_session_t session, const char *data, size_t len)
{
	while (len > 0) {
		ssize_t n = gnutls_record_send(session, data, len);

		if (n < 0 && gnutls_error_is_fatal((int)n))
			stop("send", gnutls_strerror((int)n));
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
	}
}

/* True once @answer is a whole one. */
static bool is_whole(const char *answer)
{
	const char *end = strstr(answer, "\r\n\r\n");
	const char *length = strstr(answer, "Content-Length: ");
	auto_free char *digits = NULL;
	uint64_t len;

	if (!end || !length)
		return false;
	length += strlen("Content-Length: ");
	digits = xstrndup(length, strcspn(length, "\r"));
	return str_to_u64(digits, &len) && strlen(end + 4) == len;
}

static void receive(gnutls_session_t session)
{
	static char answer[ANSWER_MAX];
	size_t len = 0;

	do {
		ssize_t n = gnutls_record_recv(session, answer + len, sizeof(answer) - 1 - len);

		if (n == 0 || (n < 0 && gnutls_error_is_fatal((int)n)))
			stop("receive", n == 0 ? "closed" : gnutls_strerror((int)n));
		len += n > 0 ? (size_t)n : 0;
		answer[len] = '\0';
	} while (!is_whole(answer));
	if (strncmp(answer, "HTTP/1.1 200", 12) != 0)
		stop("answer", answer);
}

static void load(struct bench *bench, const char *path)
{
	auto_free char *body = NULL;
	size_t len;

	if (file_read(AT_FDCWD, path, REVIEW_MAX, &body, &len, NULL) < 0)
		stop("read", path);
	str_addf(&bench->request,
		 "POST /validate?timeout=3s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
		 "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
		 len);
	str_add_mem(&bench->request, body, len);
}

static void run(struct bench *bench)
{
	uint64_t begin_us = now_us();
	size_t turn = 0; /* whose it is */

	for (uint64_t i = 0; i < bench->rate * bench->seconds; i++) {
		gnutls_session_t session = bench->sessions[turn];
		uint64_t due_us = begin_us + i * 1000000 / bench->rate;
		uint64_t sent_us;
		uint64_t end_us;

		turn = turn + 1 < bench->connections ? turn + 1 : 0;
		sleep_until_us(due_us);
		sent_us = now_us();
		send_all(session, bench->request.buf, bench->request.len);
		receive(session);
		end_us = now_us();
		(void)printf("%" PRIu64 " %" PRIu64 "\n", end_us - sent_us, end_us - due_us);
	}
}

int main(int argc, char **argv)
{
	struct bench bench = { 0 };

	if (argc != 6 || !str_to_u64(argv[1], &bench.port) || !str_to_u64(argv[3], &bench.rate) ||
	    !str_to_u64(argv[4], &bench.seconds) || !str_to_u64(argv[5], &bench.connections) ||
	    bench.rate == 0 || bench.connections == 0 || bench.connections > CONNECTIONS_MAX)
		stop("usage", "PORT REVIEW-FILE RATE SECONDS CONNECTIONS");
	load(&bench, argv[2]);
	gnutls_certificate_allocate_credentials(&bench.trust);
	for (size_t i = 0; i < bench.connections; i++)
		dial(&bench, i);
	run(&bench);
	for (size_t i = 0; i < bench.connections; i++)
		gnutls_deinit(bench.sessions[i]);
	gnutls_certificate_free_credentials(bench.trust);
	str_done(&bench.request);
	return 0;
}
