#include "agent/plugin/plugin_socket.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/plugin/socket_sweep.h"
#include "base/ascii.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

/* "-" and sixteen hex digits. */
enum { HASH_SIZE = 17, SHOWN_MIN = 4 };

enum { FOLDER_MODE = 0750 }; /* as the kubelet's own */

#define SUFFIX ".sock"

/* --- names ------------------------------------------------------------------------------------ */

/* FNV-1a. */
static uint64_t hash_of(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325ULL;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ULL;
	return hash;
}

static bool is_plain(char c)
{
	return ascii_is_alnum(c) || c == '.' || c == '-' || c == '_';
}

static void add_resource(struct str *path, const char *resource, size_t room)
{
	size_t len = strlen(resource);
	size_t shown = len <= room ? len : room - HASH_SIZE;

	for (size_t i = 0; i < shown; i++)
		str_add_char(path, is_plain(resource[i]) ? resource[i] : '_');
	if (shown < len)
		str_addf(path, "-%016" PRIx64, hash_of(resource));
}

/* With its parent, below which the kubelet expects plugins' folders. */
static int folder_make(const char *path, struct err *err)
{
	auto_free char *parent = xstrndup(path, (size_t)(strrchr(path, '/') - path));

	if (mkdir(path, FOLDER_MODE) == 0 || errno == EEXIST)
		return 0;
	if (errno == ENOENT && mkdir(parent, FOLDER_MODE) == 0 && mkdir(path, FOLDER_MODE) == 0)
		return 0;
	return err_set(err, ERR_RETRY, -errno, "make the folder '%s': %s", path, strerror(errno));
}

int plugin_socket_path(struct plugin_socket_maker *maker, const char *resource, char **ret_path,
		       struct err *err)
{
	auto_str struct str path = STR_INIT;
	size_t used;
	int r = maker->own_folder ? folder_make(maker->folder, err) : 0;

	if (r < 0)
		return r;

	str_addf(&path, "%s/" PLUGIN_SOCKET_PREFIX "%d-%08" PRIx32 "-%u-", maker->folder,
		 maker->pid, maker->random, maker->made);
	used = path.len + strlen(SUFFIX);
	if (used + HASH_SIZE + SHOWN_MIN > PLUGIN_SOCKET_PATH_MAX)
		return err_set(err, ERR_INVALID, -ENAMETOOLONG,
			       "no room for a socket's name in '%s': a path has at most %d bytes",
			       maker->folder, PLUGIN_SOCKET_PATH_MAX);
	add_resource(&path, resource, PLUGIN_SOCKET_PATH_MAX - used);
	str_add(&path, SUFFIX);
	maker->made++;
	*ret_path = str_detach(&path);
	return 0;
}

/* --- what is left over ------------------------------------------------------------------------ */

/* Cut the next part that ends in '-' off *@rest. */
static char *part_take(char **rest)
{
	return strsep(rest, "-");
}

/* Who made the socket @name, if that is a name of ours. */
static bool maker_parse(const char *name, int *ret_pid, uint32_t *ret_random)
{
	size_t prefix = strlen(PLUGIN_SOCKET_PREFIX);
	auto_free char *text = NULL;
	char *rest;
	uint64_t pid = 0;
	uint64_t random = 0;
	uint64_t number = 0;
	const char *digits;

	if (strncmp(name, PLUGIN_SOCKET_PREFIX, prefix) != 0)
		return false;
	text = xstrdup(name + prefix);
	rest = text;
	if (!str_to_u64(part_take(&rest), &pid) || pid == 0 || pid > INT32_MAX || !rest)
		return false;
	digits = part_take(&rest);
	if (strlen(digits) != 8 || !str_to_hex(digits, &random) || !rest)
		return false;
	if (!str_to_u64(part_take(&rest), &number) || !rest)
		return false;
	*ret_pid = (int)pid;
	*ret_random = (uint32_t)random;
	return true;
}

/* In a container the agent has the same pid after every start. */
static bool maker_is_gone(const struct plugin_socket_maker *us, int pid, uint32_t random)
{
	if (pid == us->pid)
		return random != us->random;
	return kill(pid, 0) < 0 && errno == ESRCH;
}

static bool is_leftover(const void *arg, const char *name)
{
	const struct plugin_socket_maker *us = arg;
	uint32_t random = 0;
	int pid = 0;

	return maker_parse(name, &pid, &random) && maker_is_gone(us, pid, random);
}

int plugin_socket_sweep(const struct plugin_socket_maker *maker, struct err *err)
{
	return socket_sweep(maker->folder, is_leftover, maker, err);
}
