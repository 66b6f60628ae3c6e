/* socket_owner: gives a socket of the host and its folder an owner and an SELinux label, following
 * no link on the way: who can make links there could have anything of the host given away. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct err;

/* What socket_owner_set() returns if there is no socket (yet). */
enum { SOCKET_ABSENT = 1 };

/* Zero: nothing is set, and a place only checked. */
struct socket_owner {
	bool has_owner;
	uid_t uid;
	gid_t gid;
	const char *selinux_label; /* NULL: left as it is */
};

/*
 * Set both on the folder @folder (absolute) below @root (NULL: "/"), and on the socket @file in it
 * if it is there. "/var/run" may be a link to "/run", as it is by custom. Returns 0, or
 * SOCKET_ABSENT: the folder is set, and empty. Neither is set if @file is something else. Errors:
 * -ENOENT (no folder), -ELOOP (a link), -ENOTSOCK, and those of chown and setxattr.
 */
int socket_owner_set(const char *root, const char *folder, const char *file,
		     const struct socket_owner *owner, struct err *err);
