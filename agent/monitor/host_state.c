#include "agent/monitor/host_state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/helper/scan/host_mounts.h"
#include "agent/helper/scan/mounts.h"
#include "agent/helper/scan/routes.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/file.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/sum.h"

enum { PROC_FILE_MAX = 16 << 20 }; /* as in the helper */

struct host_state {
	char *process; /* "<proc_root>/1" */
	char *class_net;
	bool mounts_known;
	uint64_t mounts;
	uint64_t routes;
};

/* Text of a file of process 1, NULL if it cannot be read; *@ret_code is 0 or a negative errno. */
static char *read_file(const struct host_state *state, const char *name, size_t *ret_len,
		       int *ret_code)
{
	auto_free char *path = xasprintf("%s/%s", state->process, name);
	char *text = NULL;
	struct err err;

	*ret_len = 0;
	*ret_code = file_read(AT_FDCWD, path, PROC_FILE_MAX, &text, ret_len, &err);
	return text;
}

bool host_state_mounts_differ(struct host_state *state)
{
	bool known = state->mounts_known;
	uint64_t before = state->mounts;
	struct mounts mounts = { 0 };
	size_t bad;
	size_t len;
	int code;
	auto_free char *text = read_file(state, "mountinfo", &len, &code);

	state->mounts_known = text != NULL;
	if (!text)
		return true;
	/* A line that the helper cannot read hides something from it. */
	bad = mounts_parse(text, len, &mounts);
	state->mounts = host_mounts_sum(&mounts) + bad;
	mounts_done(&mounts);
	return !known || state->mounts != before;
}

/* --- routes ----------------------------------------------------------------------------------- */

/* Sets of the interfaces that were asked for: a table has many routes through the same. */
struct asked {
	struct map *alone;
	struct map *others;
};

/* Does the interface have no hardware and no lower interface? An interface has a link
 * "lower_<name>" to each lower one (netdev_adjacent_sysfs_add() of the kernel's net/core/dev.c). */
static bool stands_alone(const struct host_state *state, const char *interface)
{
	static const char lower[] = "lower_";
	auto_free char *path = xasprintf("%s/%s", state->class_net, interface);
	char target[PATH_MAX];
	const char *name;
	struct dir dir;
	ssize_t len;
	bool alone = true;

	if (strchr(interface, '/'))
		return false;
	len = readlink(path, target, sizeof(target) - 1);
	if (len < 0)
		return false;
	target[len] = '\0';
	if (!strstr(target, "/virtual/net/") || dir_open(&dir, AT_FDCWD, path) < 0)
		return false;
	while ((name = dir_next(&dir)) != NULL)
		alone = alone && strncmp(name, lower, sizeof(lower) - 1) != 0;
	alone = alone && dir.code == 0;
	dir_done(&dir);
	return alone;
}

/* fe80::/10 and ff00::/8 */
static bool is_of_every_link(const struct route *route)
{
	const uint8_t *to = route->destination;

	return route->family == AF_INET6 && route->prefix > 0 &&
	       (to[0] == 0xff || (to[0] == 0xfe && (to[1] & 0xc0) == 0x80));
}

static bool counts(const struct host_state *state, const struct route *route, struct asked *asked)
{
	unsigned bits = route->family == AF_INET ? 32 : 128;
	struct map *set;

	if (!is_of_every_link(route) && (route->local || route->prefix != bits))
		return true;
	if (map_get(asked->alone, route->interface))
		return false;
	if (map_get(asked->others, route->interface))
		return true;
	set = stands_alone(state, route->interface) ? asked->alone : asked->others;
	map_set(set, route->interface, set);
	return set == asked->others;
}

static uint64_t sum_route(const struct route *route)
{
	uint64_t sum = SUM_INIT;

	sum_add(&sum, &route->family, sizeof(route->family));
	sum_add(&sum, route->destination, sizeof(route->destination));
	sum_add(&sum, &route->prefix, sizeof(route->prefix));
	sum_add(&sum, &route->local, sizeof(route->local));
	sum_add_text(&sum, route->interface);
	return sum;
}

/* Of a table: the number of lines that the helper could not read, and why the table cannot be read
 * at all. */
static int64_t read_table(const struct host_state *state, const char *name,
			  size_t (*parse)(const char *text, size_t len, struct routes *routes),
			  struct routes *routes)
{
	size_t len;
	int code;
	auto_free char *text = read_file(state, name, &len, &code);

	return text ? (int64_t)parse(text, len, routes) : code;
}

static uint64_t sum_routes(const struct host_state *state)
{
	struct routes routes = { 0 };
	struct asked asked = { map_new(), map_new() };
	int64_t bad_v4 = read_table(state, "net/route", routes_parse_v4, &routes);
	int64_t bad_v6 = read_table(state, "net/ipv6_route", routes_parse_v6, &routes);
	size_t len;
	int code;
	auto_free char *trie = read_file(state, "net/fib_trie", &len, &code);
	auto_free char *table = trie ? routes_other_default(trie, len) : NULL;
	uint64_t sum = SUM_INIT;

	sum_add(&sum, &bad_v4, sizeof(bad_v4));
	sum_add(&sum, &bad_v6, sizeof(bad_v6));
	sum_add(&sum, &code, sizeof(code));
	sum_add_text(&sum, table ? table : "");
	for (size_t i = 0; i < routes.len; i++) {
		if (counts(state, &routes.items[i], &asked))
			sum += sum_route(&routes.items[i]);
	}
	map_free(asked.alone);
	map_free(asked.others);
	routes_done(&routes);
	return sum;
}

bool host_state_routes_differ(struct host_state *state)
{
	uint64_t before = state->routes;

	state->routes = sum_routes(state);
	return state->routes != before;
}

struct host_state *host_state_new(const char *proc_root, const char *sysfs_root)
{
	struct host_state *state = xcalloc(1, sizeof(*state));

	state->process = xasprintf("%s/1", proc_root);
	state->class_net = xasprintf("%s/class/net", sysfs_root);
	(void)host_state_mounts_differ(state);
	(void)host_state_routes_differ(state);
	return state;
}

struct host_state *host_state_free(struct host_state *state)
{
	if (!state)
		return NULL;
	free(state->process);
	free(state->class_net);
	free(state);
	return NULL;
}
