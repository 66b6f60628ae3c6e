/*
 * hack/vm's hands on the host.
 *
 *     client exec CHANNEL DIRECTORY COMMAND…   run COMMAND in the guest
 *     client qmp SOCKET JSON [EVENT [DEVICE]]  one QMP command; then wait for an event
 *
 * CHANNEL is a file with the port and the token. exec ends with the command's exit
 * status, with 255 where the guest cannot be reached; dying gives the command up.
 * qmp prints the answer and ends with 1 where it is an error.
 */
#define _GNU_SOURCE

#include "wire.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/un.h>

enum { UNREACHABLE = 255, EVENT_WAIT_S = 30 };

static _Noreturn void fail(const char *what, const char *why)
{
	fprintf(stderr, "hack/vm: %s: %s\n", what, why);
	exit(UNREACHABLE);
}

/* --- exec ------------------------------------------------------------------- */

static int connect_to_guest(const char *channel, char *ret_token)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	FILE *file = fopen(channel, "re");
	unsigned port;
	int fd;

	if (!file || fscanf(file, "%u %32s", &port, ret_token) != 2)
		fail(channel, "no running guest has left its port here");
	fclose(file);
	address.sin_port = htons((uint16_t)port);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		fail("no guest takes commands, start one with hack/vm start", strerror(errno));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
	return fd;
}

static void send_request(int fd, const char *token, char **words)
{
	static char request[WIRE_TOKEN + sizeof(uint32_t) + WIRE_REQUEST_MAX];
	char *at = request + WIRE_TOKEN + sizeof(uint32_t);
	uint32_t length;

	for (; *words; words++) {
		size_t size = strlen(*words) + 1;

		if (size > (size_t)(request + sizeof(request) - at))
			fail("send the command", "its arguments are longer than 1 MiB");
		memcpy(at, *words, size);
		at += size;
	}
	length = htonl((uint32_t)(at - request - WIRE_TOKEN - (long)sizeof(uint32_t)));
	memcpy(request, token, WIRE_TOKEN);
	memcpy(request + WIRE_TOKEN, &length, sizeof(length));
	if (write_all(fd, request, (size_t)(at - request)) < 0)
		fail("send the command", "the guest closed the connection");
}

/* One frame from the guest; the exit status once that is known, -1 before. */
static int take_frame(int fd)
{
	char data[WIRE_FRAME_MAX];
	size_t length;
	uint32_t code;

	switch (read_frame(fd, data, &length)) {
	case FRAME_STDOUT:
		if (write_all(STDOUT_FILENO, data, length) < 0)
			exit(UNREACHABLE);
		return -1;
	case FRAME_STDERR:
		write_all(STDERR_FILENO, data, length);
		return -1;
	case FRAME_EXIT:
		memcpy(&code, data, sizeof(code));
		return (int)ntohl(code);
	default:
		fail("run the command", "the guest closed the connection before the command ended");
	}
}

/* False at the end of stdin. The guest may be gone: reading from it will tell. */
static bool pass_stdin(int fd)
{
	char data[WIRE_FRAME_MAX];
	ssize_t n = read(STDIN_FILENO, data, sizeof(data));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return true;
	send_frame(fd, FRAME_STDIN, data, n > 0 ? (size_t)n : 0);
	return n > 0;
}

static int run_in_guest(const char *channel, char **words)
{
	char token[WIRE_TOKEN + 1];
	int fd = connect_to_guest(channel, token);
	struct pollfd fds[] = { { .fd = fd, .events = POLLIN },
				{ .fd = STDIN_FILENO, .events = POLLIN } };
	int status = -1;

	send_request(fd, token, words);
	while (status < 0) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents && !pass_stdin(fd))
			fds[1].fd = -1;
		if (fds[0].revents)
			status = take_frame(fd);
	}
	return status;
}

/* --- qmp -------------------------------------------------------------------- */

static FILE *connect_to_monitor(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(address.sun_path))
		fail(path, "longer than a socket's name may be; give a relative path");
	strcpy(address.sun_path, path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		fail(path, strerror(errno));
	/* A guest that hangs must not hang the caller. */
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){ .tv_sec = EVENT_WAIT_S },
		   sizeof(struct timeval));
	return fdopen(fd, "r+");
}

static bool starts_with(const char *line, const char *start)
{
	return strncmp(line, start, strlen(start)) == 0;
}

static char *read_line(FILE *monitor)
{
	static char *line;
	static size_t size;

	errno = 0;
	if (getline(&line, &size, monitor) < 0)
		fail("read from QEMU's monitor", errno == EAGAIN ? "nothing for 30 s"
						 : errno         ? strerror(errno)
								 : "QEMU closed it");
	return line;
}

/* The answer to a command: the first line that is neither greeting nor event. */
static char *ask(FILE *monitor, const char *json)
{
	char *line;

	fprintf(monitor, "%s\n", json);
	fflush(monitor);
	do
		line = read_line(monitor);
	while (!starts_with(line, "{\"return\"") && !starts_with(line, "{\"error\"") &&
	       !strstr(line, "\"error\": {\"class\""));
	return line;
}

static void await_event(FILE *monitor, const char *event, const char *device)
{
	char wanted[128], about[128];
	const char *line;

	snprintf(wanted, sizeof(wanted), "\"event\": \"%s\"", event);
	snprintf(about, sizeof(about), "\"device\": \"%s\"", device ? device : "");
	do
		line = read_line(monitor);
	while (!strstr(line, wanted) || (device && !strstr(line, about)));
}

static int qmp(const char *path, const char *json, const char *event, const char *device)
{
	FILE *monitor = connect_to_monitor(path);
	const char *answer;
	bool bad;

	ask(monitor, "{\"execute\": \"qmp_capabilities\"}");
	answer = ask(monitor, json);
	fputs(answer, stdout);
	fflush(stdout);
	bad = !starts_with(answer, "{\"return\"");
	if (!bad && event)
		await_event(monitor, event, device);
	return bad;
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	if (argc >= 5 && strcmp(argv[1], "exec") == 0)
		return run_in_guest(argv[2], argv + 3);
	if (argc >= 4 && argc <= 6 && strcmp(argv[1], "qmp") == 0)
		return qmp(argv[2], argv[3], argv[4], argc == 6 ? argv[5] : NULL);
	fprintf(stderr, "usage: client exec CHANNEL DIRECTORY COMMAND...\n"
			"       client qmp SOCKET JSON [EVENT [DEVICE]]\n");
	return 2;
}
