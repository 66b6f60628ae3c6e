/*
 * What hack/vm's client on the host and its agent in the guest say to each other,
 * over one TCP connection per command (QEMU forwards a port of the loopback address).
 *
 * The client begins: the token (WIRE_TOKEN hex digits), a length (32 bit, network
 * order) and so many bytes: the working directory, then the arguments, each ended
 * by a NUL. After that both sides send frames. A client that closes the connection
 * gives the command up.
 */
#pragma once

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	WIRE_TOKEN = 32,
	WIRE_REQUEST_MAX = 1 << 20,
	WIRE_FRAME_MAX = 1 << 16,
};

enum frame_type {
	FRAME_STDIN = 1, /* to the guest; empty: end of file */
	FRAME_STDOUT,    /* to the host */
	FRAME_STDERR,
	FRAME_EXIT, /* 32 bit, network order: exit status as a shell has it; the last frame */
};

struct frame_header {
	uint32_t type;
	uint32_t length;
};

static inline int write_all(int fd, const void *data, size_t length)
{
	const char *at = data;

	while (length > 0) {
		ssize_t n = send(fd, at, length, MSG_NOSIGNAL);

		if (n < 0 && errno == ENOTSOCK)
			n = write(fd, at, length);
		if (n < 0 && errno == EAGAIN) {
			poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		at += n;
		length -= (size_t)n;
	}
	return 0;
}

/* 0, or negative: the peer closed the connection or it broke. */
static inline int read_all(int fd, void *data, size_t length)
{
	char *at = data;

	while (length > 0) {
		ssize_t n = read(fd, at, length);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ECONNRESET;
		at += n;
		length -= (size_t)n;
	}
	return 0;
}

static inline int send_frame(int fd, enum frame_type type, const void *data, size_t length)
{
	char buffer[sizeof(struct frame_header) + WIRE_FRAME_MAX];
	struct frame_header header = { htonl(type), htonl((uint32_t)length) };

	/* One write: header and data must not become two small packets. */
	memcpy(buffer, &header, sizeof(header));
	if (length > 0)
		memcpy(buffer + sizeof(header), data, length);
	return write_all(fd, buffer, sizeof(header) + length);
}

/* Reads one frame into @data (WIRE_FRAME_MAX bytes); its type, or negative. */
static inline int read_frame(int fd, void *data, size_t *ret_length)
{
	struct frame_header header;
	int r = read_all(fd, &header, sizeof(header));

	if (r < 0)
		return r;
	*ret_length = ntohl(header.length);
	if (*ret_length > WIRE_FRAME_MAX)
		return -EPROTO;
	r = read_all(fd, data, *ret_length);
	return r < 0 ? r : (int)ntohl(header.type);
}
