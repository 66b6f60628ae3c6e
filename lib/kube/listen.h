/* listen: parses the address to listen on and opens its socket. */
#pragma once

struct err;

struct listen_address {
	char host[64]; /* "": all interfaces */
	unsigned port; /* 0: any free port; also for "off" */
};

/* "ADDRESS:PORT" with an IPv6 address in brackets, ":PORT" for all addresses, or "off". */
int listen_address_parse(const char *text, struct listen_address *ret_address, struct err *err);

/* Open a listening socket, which the caller closes. Errors name the address; the message of
 * -EADDRINUSE says what to do. */
int listen_open(const struct listen_address *address, int *ret_fd, struct err *err);

/* The port that the socket @fd is bound to; 0 if none. */
unsigned listen_port(int fd);
