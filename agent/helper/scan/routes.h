/*
 * routes: reads the text of /proc/net/route and /proc/net/ipv6_route, and says which interface
 * leads to an address. No I/O here.
 *
 * Knows the main table only, and of an IPv4 route with several next hops the first: /proc shows no
 * more. The other links of such a route are still seen as interfaces that are up.
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

/* Append the usable routes in @text; lines of another form are left out. */
void routes_parse_v4(const char *text, size_t len, struct routes *routes);
void routes_parse_v6(const char *text, size_t len, struct routes *routes);

/* The most specific route to @address (text of an IPv4 or IPv6 address); NULL if there is none. */
const struct route *routes_find(const struct routes *routes, const char *address);

/* Does the interface have an address of its own, link-local ones apart? */
bool routes_interface_has_address(const struct routes *routes, const char *interface);

void routes_done(struct routes *routes);
