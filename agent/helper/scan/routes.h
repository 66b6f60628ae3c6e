/*
 * routes: reads the text of /proc/net/route, /proc/net/ipv6_route and /proc/net/fib_trie, and finds
 * the interface that leads to an address. No I/O.
 *
 * /proc/net/route shows only the main table, and only the first next hop of a route
 * (fib_route_seq_show() of the kernel's net/ipv4/fib_trie.c). fib_trie shows the other tables,
 * without interfaces. ipv6_route shows all tables. So an interface that is up and connected may
 * carry routes that are not visible without a capability in its network namespace.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INTERFACE_NAME_SIZE = 16 };

struct route {
	int family; /* AF_INET or AF_INET6 */
	uint8_t destination[16];
	unsigned prefix; /* bits of it that count; 0 is a default route */
	bool local;      /* IPv6: the address is the interface's own */
	char interface[INTERFACE_NAME_SIZE];
};

struct routes {
	struct route *items;
	size_t len;
	size_t cap;
};

/* Append the usable routes in @text; returns how many lines had another form and were left out. */
size_t routes_parse_v4(const char *text, size_t len, struct routes *routes);
size_t routes_parse_v6(const char *text, size_t len, struct routes *routes);

/* The first routing table but main in the text of fib_trie that has a default route ("100"); NULL
 * if none has. The caller frees. */
char *routes_other_default(const char *text, size_t len);

/* The most specific route to @address (text of an IPv4 or IPv6 address); NULL if there is none. */
const struct route *routes_find(const struct routes *routes, const char *address);

/* Does the interface have an address of its own, link-local ones apart? */
bool routes_interface_has_address(const struct routes *routes, const char *interface);

void routes_done(struct routes *routes);
