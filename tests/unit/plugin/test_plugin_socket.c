/* Names of sockets, and the removal of those that dead processes left. */
#include "agent/plugin/plugin_socket.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "agent/plugin/socket_sweep.h"
#include "base/err.h"
#include "unit/folder.h"
#include "unit/suite.h"

#define KUBELET_DIR "/var/lib/kubelet/device-plugins"

static struct name_case {
	const char *name;
	const char *folder;
	const char *resource;
	const char *path;
} names[] = {
	{ "a resource like most", "/d", "intel.com/82574L_GIGABIT",
	  "/d/hostdev-7-0000beef-0-intel.com_82574L_GIGABIT.sock" },
	{ "a name that wants to leave the folder", "/d", "../../etc/passwd",
	  "/d/hostdev-7-0000beef-0-.._.._etc_passwd.sock" },
	{ "blanks, quotes, controls and what is not ASCII", "/d", "a b\"\n\xc3\xbc",
	  "/d/hostdev-7-0000beef-0-a_b____.sock" },
	{ "escapes for a terminal and a shell", "/d", "\x1b[2J;`x`$(y)",
	  "/d/hostdev-7-0000beef-0-__2J__x___y_.sock" },
	{ "an empty name", "/d", "", "/d/hostdev-7-0000beef-0-.sock" },
	{ "the longest that fits in the kubelet's folder", KUBELET_DIR,
	  "example.com/3456789012345678901234567890123456789",
	  KUBELET_DIR
	  "/hostdev-7-0000beef-0-example.com_3456789012345678901234567890123456789.sock" },
};

static void name_matches_table(void **state)
{
	const struct name_case *c = *state;
	struct plugin_socket_maker maker = { .folder = c->folder, .pid = 7, .random = 0xbeef };
	auto_free char *path = NULL;

	assert_int_equal(plugin_socket_path(&maker, c->resource, &path, NULL), 0);
	assert_string_equal(path, c->path);
}

static char *path_of(struct plugin_socket_maker *maker, const char *resource)
{
	char *path = NULL;

	assert_int_equal(plugin_socket_path(maker, resource, &path, NULL), 0);
	return path;
}

/* Whatever the resource is called, the path fits and two resources have two. */
static void long_names_end_in_a_hash(void **state)
{
	struct plugin_socket_maker maker = { .folder = KUBELET_DIR, .pid = 1 << 22 };
	char resource[320];

	memset(resource, 'x', sizeof(resource) - 1);
	for (size_t len = 0; len < sizeof(resource) - 2; len++) {
		auto_free char *one = NULL;
		auto_free char *other = NULL;

		memcpy(resource + len, "a", 2);
		maker.made = 0;
		one = path_of(&maker, resource);
		resource[len] = 'b';
		maker.made = 0;
		other = path_of(&maker, resource);
		resource[len] = resource[len + 1] = 'x';
		assert_true(strlen(one) <= PLUGIN_SOCKET_PATH_MAX);
		assert_string_not_equal(one, other);
		assert_int_equal(strncmp(one, KUBELET_DIR "/hostdev-4194304-",
					 strlen(KUBELET_DIR "/hostdev-4194304-")),
				 0);
		assert_string_equal(one + strlen(one) - 5, ".sock");
	}
}

static void no_name_comes_twice(void **state)
{
	struct plugin_socket_maker maker = { .folder = "/d", .pid = 7, .random = 1 };
	struct plugin_socket_maker later = { .folder = "/d", .pid = 7, .random = 2 };
	auto_free char *first = path_of(&maker, "a/b");
	auto_free char *second = path_of(&maker, "a/b");
	auto_free char *third = path_of(&later, "a/b");

	assert_string_not_equal(first, second);
	assert_string_not_equal(first, third);
}

static void folder_leaves_no_room(void **state)
{
	char folder[] = "/56789012345678901234567890123456789012345678901234567890"
			"12345678901234567890";
	struct plugin_socket_maker maker = { .folder = folder, .pid = 1 << 22 };
	char *path = NULL;
	struct err err = { 0 };

	assert_int_equal(plugin_socket_path(&maker, "a/b", &path, &err), -ENAMETOOLONG);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_null(path);
}

/* --- what is left over ------------------------------------------------------------------------ */

static int listen_at(const struct folder *folder, const char *name)
{
	auto_free char *path = folder_path(folder, name);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(address.sun_path, path, strlen(path));
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

enum what { DEAD_SOCKET, LIVE_SOCKET, NO_SOCKET };

/* Our own pid is 7, our random number 0xbeef; %d stands for a living process. */
static struct sweep_case {
	const char *name;
	const char *file;
	enum what what;
	bool removed;
} sweeps[] = {
	{ "a dead process's socket goes", "hostdev-99999999-00000001-0-a_b.sock", DEAD_SOCKET,
	  true },
	{ "one of our pid, but of a process before, goes", "hostdev-7-00000001-0-a_b.sock",
	  DEAD_SOCKET, true },
	{ "a dash in the resource changes nothing", "hostdev-7-00000001-12-a-b-c.sock", DEAD_SOCKET,
	  true },
	{ "our own stays", "hostdev-7-0000beef-0-a_b.sock", DEAD_SOCKET, false },
	{ "a living process's stays", "hostdev-%d-00000001-0-a_b.sock", DEAD_SOCKET, false },
	{ "one that somebody listens to stays", "hostdev-99999999-00000001-0-a_b.sock", LIVE_SOCKET,
	  false },
	{ "one of our pid that somebody listens to stays", "hostdev-7-00000001-0-a_b.sock",
	  LIVE_SOCKET, false },
	{ "a file stays", "hostdev-99999999-00000001-0-a_b.sock", NO_SOCKET, false },
	{ "the kubelet's stays", "kubelet.sock", DEAD_SOCKET, false },
	{ "kubevirt-contract 1.6 (9): another plugin's stays",
	  "kubevirt-99999999-00000001-0-a_b.sock", DEAD_SOCKET, false },
	{ "no pid", "hostdev-x-00000001-0-a_b.sock", DEAD_SOCKET, false },
	{ "pid 0", "hostdev-0-00000001-0-a_b.sock", DEAD_SOCKET, false },
	{ "a pid that is none", "hostdev-99999999999-00000001-0-a_b.sock", DEAD_SOCKET, false },
	{ "the pid alone", "hostdev-99999999", DEAD_SOCKET, false },
	{ "no random number", "hostdev-99999999-0-a_b.sock", DEAD_SOCKET, false },
	{ "no count", "hostdev-99999999-00000001-a_b.sock", DEAD_SOCKET, false },
	{ "nothing behind the count", "hostdev-99999999-00000001-0", DEAD_SOCKET, false },
	{ "the prefix alone", "hostdev-", DEAD_SOCKET, false },
};

static void sweep_matches_table(void **state)
{
	const struct sweep_case *c = suite_row(state);
	struct folder *folder = *state;
	struct plugin_socket_maker maker = { .folder = folder->path, .pid = 7, .random = 0xbeef };
	char name[128];
	auto_free char *path = NULL;
	const char *pid = strstr(c->file, "%d");
	int fd = -1;

	(void)snprintf(name, sizeof(name), "%s", c->file);
	if (pid)
		(void)snprintf(name, sizeof(name), "%.*s%d%s", (int)(pid - c->file), c->file,
			       (int)getpid(), pid + 2);
	path = folder_path(folder, name);
	if (c->what == NO_SOCKET)
		folder_put(folder, name, "");
	else
		fd = listen_at(folder, name);
	if (c->what == DEAD_SOCKET)
		close(fd);
	assert_int_equal(plugin_socket_sweep(&maker, NULL), c->removed);
	assert_int_equal(access(path, F_OK), c->removed ? -1 : 0);
	if (c->what == LIVE_SOCKET)
		close(fd);
}

/* A clean-up of the kubelet's folder takes ours with it. */
static void own_folder_is_made_each_time(void **state)
{
	struct folder *folder = *state;
	auto_free char *parent = NULL;
	auto_free char *own = NULL;
	struct plugin_socket_maker maker = { .own_folder = true, .pid = 7 };

	parent = folder_path(folder, "plugins");
	own = folder_path(folder, "plugins/hostdev");
	maker.folder = own;
	for (int i = 0; i < 2; i++) {
		free(path_of(&maker, "a/b"));
		assert_int_equal(rmdir(own), 0);
		assert_int_equal(rmdir(parent), 0);
	}
	folder_put(folder, "plugins", "in the way");
	{
		char *path = NULL;
		struct err err = { 0 };

		assert_int_equal(plugin_socket_path(&maker, "a/b", &path, &err), -ENOTDIR);
		assert_int_equal(err.kind, ERR_RETRY);
		assert_null(path);
	}
}

static void another_plugins_socket_is_found_while_it_runs(void **state)
{
	struct folder *folder = *state;
	auto_free char *path = NULL;
	int fd = listen_at(folder, "amd.com_gpu");

	folder_put(folder, "amd.com_file", "");
	path = socket_find(folder->path, "amd.com_*");
	assert_string_equal(strrchr(path, '/'), "/amd.com_gpu");
	assert_null(socket_find(folder->path, "nvidia-*.sock"));
	assert_null(socket_find("/nonexistent/folder", "*"));
	(void)close(fd);
	assert_null(socket_find(folder->path, "amd.com_*"));
}

static void no_folder_to_sweep(void **state)
{
	struct plugin_socket_maker maker = { .folder = "/nonexistent/folder", .pid = 7 };
	struct err err = { 0 };

	assert_int_equal(plugin_socket_sweep(&maker, &err), -ENOENT);
	assert_int_equal(err.kind, ERR_RETRY);
}

int main(void)
{
	struct suite suite = { .len = 0 };

	suite_rows(&suite, names, name_matches_table);
	suite_add(&suite, "long names end in a hash", long_names_end_in_a_hash, NULL);
	suite_add(&suite, "kubevirt-contract 1.6 (9): no name comes twice", no_name_comes_twice,
		  NULL);
	suite_add(&suite, "a folder leaves no room", folder_leaves_no_room, NULL);
	suite_add(&suite, "there is no folder to sweep", no_folder_to_sweep, NULL);
	suite_fixture(&suite, &folder_fixture);
	suite_rows(&suite, sweeps, sweep_matches_table);
	suite_add(&suite, "another plugin's socket is found while it runs",
		  another_plugins_socket_is_found_while_it_runs, NULL);
	suite_add(&suite, "a folder of our own is made each time", own_folder_is_made_each_time,
		  NULL);
	return suite_run(&suite, "plugin_socket");
}
