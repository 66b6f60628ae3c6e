#include "kube/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"

enum { BACKLOG = 128 };

int listen_address_parse(const char *text, struct listen_address *ret_address, struct err *err)
{
	const char *colon = strrchr(text, ':');
	struct listen_address address = { 0 };
	const char *host = text;
	uint64_t port;
	size_t len;

	if (strcmp(text, "off") == 0) {
		*ret_address = address;
		return 0;
	}
	if (!colon || !str_to_u64(colon + 1, &port) || port > 65535)
		return err_set(err, ERR_INVALID, -EINVAL, "'%s' is not ADDRESS:PORT, :PORT or off",
			       text);
	len = (size_t)(colon - text);
	if (len >= 2 && host[0] == '[' && host[len - 1] == ']') {
		host++;
		len -= 2;
	} else if (memchr(host, ':', len)) {
		return err_set(err, ERR_INVALID, -EINVAL,
			       "'%s': an IPv6 address needs brackets, [ADDRESS]:PORT", text);
	}
	if (len >= sizeof(address.host))
		return err_set(err, ERR_INVALID, -EINVAL, "'%s': the address is too long", text);
	memcpy(address.host, host, len);
	address.port = (unsigned)port;
	*ret_address = address;
	return 0;
}

union socket_address {
	struct sockaddr any;
	struct sockaddr_in four;
	struct sockaddr_in6 six;
};

/* The socket address of @address; without a host, all IPv4 and IPv6 interfaces. */
static int to_socket_address(const struct listen_address *address, union socket_address *at,
			     struct err *err)
{
	*at = (union socket_address){ 0 };
	if (inet_pton(AF_INET, address->host, &at->four.sin_addr) == 1) {
		at->four.sin_family = AF_INET;
		at->four.sin_port = htons((uint16_t)address->port);
		return 0;
	}
	if (inet_pton(AF_INET6, *address->host ? address->host : "::", &at->six.sin6_addr) == 1) {
		at->six.sin6_family = AF_INET6;
		at->six.sin6_port = htons((uint16_t)address->port);
		return 0;
	}
	return err_set(err, ERR_INVALID, -EINVAL, "'%s' is not an IP address", address->host);
}

static int bind_error(const struct listen_address *address, struct err *err)
{
	int code = errno;

	if (code == EADDRINUSE)
		return err_set(err, ERR_RETRY, -code,
			       "port %u of '%s' is in use by another program: choose another "
			       "address, or off",
			       address->port, address->host);
	return err_set(err, ERR_INVALID, -code, "listen on port %u of '%s': %s", address->port,
		       address->host, strerror(code));
}

int listen_open(const struct listen_address *address, int *ret_fd, struct err *err)
{
	union socket_address at;
	auto_close int fd = -1;
	int on = 1;
	int r;

	r = to_socket_address(address, &at, err);
	if (r < 0)
		return r;
	fd = socket(at.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 && errno == EAFNOSUPPORT && !*address->host) {
		/* The kernel has no IPv6. */
		struct listen_address again = { .host = "0.0.0.0", .port = address->port };

		return listen_open(&again, ret_fd, err);
	}
	if (fd < 0)
		return bind_error(address, err);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, &at.any, sizeof(at)) < 0 || listen(fd, BACKLOG) < 0)
		return bind_error(address, err);
	*ret_fd = take_fd(fd);
	return 0;
}

unsigned listen_port(int fd)
{
	union socket_address at = { 0 };
	socklen_t len = sizeof(at);

	if (getsockname(fd, &at.any, &len) < 0)
		return 0;
	return ntohs(at.any.sa_family == AF_INET6 ? at.six.sin6_port : at.four.sin_port);
}
