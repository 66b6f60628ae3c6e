/* sockets: folders and unix sockets below a test's folder. */
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include "unit/folder.h"

/* All folders of "a/b/c". */
static inline void make_folders(const struct folder *folder, const char *path)
{
	auto_free char *whole = folder_path(folder, path);

	for (char *slash = strchr(whole + strlen(folder->path) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(whole, 0700);
		*slash = '/';
	}
	assert_int_equal(mkdir(whole, 0700), 0);
}

/* A socket without a listener: only its file matters. */
static inline void make_socket(const struct folder *folder, const char *path)
{
	auto_free char *whole = folder_path(folder, path);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	auto_close int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(strlen(whole) < sizeof(address.sun_path));
	memcpy(address.sun_path, whole, strlen(whole));
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
}

static inline void make_link(const struct folder *folder, const char *target, const char *path)
{
	auto_free char *whole = folder_path(folder, path);

	assert_int_equal(symlink(target, whole), 0);
}

static inline void drop(const struct folder *folder, const char *path)
{
	auto_free char *whole = folder_path(folder, path);

	assert_int_equal(remove(whole), 0);
}
