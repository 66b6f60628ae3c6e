#include "agent/helper/scan/routes.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/num.h"

enum {
	WORDS_MAX = 12,
	WORD_SIZE = 40,
	/* include/uapi/linux/route.h and ipv6_route.h */
	FLAG_UP = 0x0001,
	FLAG_REJECT = 0x0200,
	FLAG_ANYCAST = 0x00100000,
};

static const uint64_t flag_local = 0x80000000;

struct words {
	char items[WORDS_MAX][WORD_SIZE];
	size_t len;
};

/* Words of the next line; ones that are too long make it a line without words. */
static bool next_words(const char **at, const char *end, struct words *words)
{
	const char *stop;

	words->len = 0;
	if (*at >= end)
		return false;
	stop = memchr(*at, '\n', (size_t)(end - *at));
	if (!stop)
		stop = end;
	while (*at < stop && words->len < WORDS_MAX) {
		const char *start = *at;
		size_t len;

		while (*at < stop && **at != ' ' && **at != '\t')
			(*at)++;
		len = (size_t)(*at - start);
		if (len == 0) {
			(*at)++;
			continue;
		}
		if (len >= WORD_SIZE) {
			words->len = 0;
			break;
		}
		memcpy(words->items[words->len], start, len);
		words->items[words->len++][len] = '\0';
	}
	*at = stop + 1;
	return true;
}

static bool copy_name(const char *name, struct route *route)
{
	size_t len = strlen(name);

	if (len == 0 || len >= sizeof(route->interface))
		return false;
	memcpy(route->interface, name, len + 1);
	return true;
}

/* What one line is. */
enum line { LINE_BAD, LINE_ROUTE, LINE_UNUSED };

/* Iface Destination Gateway Flags RefCnt Use Metric Mask ... */
static enum line route_from_v4(const struct words *words, struct route *ret_route)
{
	struct route route = { .family = AF_INET };
	uint64_t destination;
	uint64_t flags;
	uint64_t mask;
	uint32_t word;

	if (words->len > 0 && strcmp(words->items[0], "Iface") == 0)
		return LINE_UNUSED;
	if (words->len < 8 || !copy_name(words->items[0], &route) ||
	    !str_to_hex(words->items[1], &destination) || destination > UINT32_MAX ||
	    !str_to_hex(words->items[3], &flags) || !str_to_hex(words->items[7], &mask) ||
	    mask > UINT32_MAX)
		return LINE_BAD;
	if (!(flags & FLAG_UP) || flags & FLAG_REJECT)
		return LINE_UNUSED;
	/* The kernel prints the word as it lies in memory, which is in network order. */
	word = (uint32_t)destination;
	memcpy(route.destination, &word, sizeof(word));
	route.prefix = (unsigned)__builtin_popcountll(mask);
	*ret_route = route;
	return LINE_ROUTE;
}

static bool parse_bytes(const char *text, uint8_t *ret_bytes, size_t len)
{
	char pair[3] = "";

	if (strlen(text) != len * 2)
		return false;
	for (size_t i = 0; i < len; i++) {
		uint64_t byte;

		memcpy(pair, text + i * 2, 2);
		if (!str_to_hex(pair, &byte) || byte > 0xff)
			return false;
		ret_bytes[i] = (uint8_t)byte;
	}
	return true;
}

/* destination prefix source prefix next-hop metric refcount use flags interface */
static enum line route_from_v6(const struct words *words, struct route *ret_route)
{
	struct route route = { .family = AF_INET6 };
	uint64_t prefix;
	uint64_t flags;

	if (words->len < 10 || !parse_bytes(words->items[0], route.destination, 16) ||
	    !str_to_hex(words->items[1], &prefix) || prefix > 128 ||
	    !str_to_hex(words->items[8], &flags) || !copy_name(words->items[9], &route))
		return LINE_BAD;
	if (!(flags & FLAG_UP) || flags & (FLAG_REJECT | FLAG_ANYCAST))
		return LINE_UNUSED;
	route.prefix = (unsigned)prefix;
	route.local = (flags & flag_local) != 0;
	*ret_route = route;
	return LINE_ROUTE;
}

static size_t parse(const char *text, size_t len,
		    enum line (*from_words)(const struct words *words, struct route *ret_route),
		    struct routes *routes)
{
	const char *end = text + len;
	struct words words;
	size_t bad = 0;

	while (next_words(&text, end, &words)) {
		struct route route;
		enum line line = from_words(&words, &route);

		if (line == LINE_ROUTE)
			*array_add(routes) = route;
		bad += line == LINE_BAD;
	}
	return bad;
}

size_t routes_parse_v4(const char *text, size_t len, struct routes *routes)
{
	return parse(text, len, route_from_v4, routes);
}

size_t routes_parse_v6(const char *text, size_t len, struct routes *routes)
{
	return parse(text, len, route_from_v6, routes);
}

/* "Main:", "Local:" and "Id 100:" begin the tables; "/0 universe UNICAST", indented, is a default
 * route. */
char *routes_other_default(const char *text, size_t len)
{
	const char *end = text + len;
	char table[WORD_SIZE] = "";
	struct words words;

	while (text < end) {
		bool heading = *text != ' ' && *text != '\t';

		(void)next_words(&text, end, &words);
		if (heading)
			table[0] = '\0';
		if (heading && words.len == 2 && strcmp(words.items[0], "Id") == 0 &&
		    words.items[1][0] != ':')
			memcpy(table, words.items[1], sizeof(table));
		if (table[0] && words.len >= 3 && strcmp(words.items[0], "/0") == 0 &&
		    strcmp(words.items[2], "UNICAST") == 0)
			return xstrndup(table, strcspn(table, ":"));
	}
	return NULL;
}

static bool covers(const struct route *route, const uint8_t *address)
{
	unsigned bytes = route->prefix / 8;
	unsigned rest = route->prefix % 8;
	unsigned mask = 0xff00u >> rest & 0xff;

	if (memcmp(route->destination, address, bytes) != 0)
		return false;
	return rest == 0 || (route->destination[bytes] & mask) == (address[bytes] & mask);
}

const struct route *routes_find(const struct routes *routes, const char *address)
{
	uint8_t bytes[16] = { 0 };
	int family = strchr(address, ':') ? AF_INET6 : AF_INET;
	const struct route *best = NULL;

	if (inet_pton(family, address, bytes) != 1)
		return NULL;
	for (size_t i = 0; i < routes->len; i++) {
		const struct route *route = &routes->items[i];

		if (route->family == family && covers(route, bytes) &&
		    (!best || route->prefix > best->prefix))
			best = route;
	}
	return best;
}

/* fe80::/10 is on every interface that is up. */
static bool is_link_local(const struct route *route)
{
	return route->destination[0] == 0xfe && (route->destination[1] & 0xc0) == 0x80;
}

bool routes_interface_has_address(const struct routes *routes, const char *interface)
{
	for (size_t i = 0; i < routes->len; i++) {
		const struct route *route = &routes->items[i];

		if (strcmp(route->interface, interface) != 0)
			continue;
		if (route->family == AF_INET || (route->local && !is_link_local(route)))
			return true;
	}
	return false;
}

void routes_done(struct routes *routes)
{
	array_done(routes);
}
