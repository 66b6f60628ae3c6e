/* socket_sweep: sockets in a folder: removes those that earlier processes of ours left behind, and
 * finds those of other plugins. */
#pragma once

#include <stdbool.h>

struct err;

/* Is @path a socket without a listener (connecting is refused)? False if it is no socket. */
bool socket_is_dead(const char *path);

/*
 * Remove the sockets in @folder that have no listener and whose names @is_ours accepts. Returns how
 * many were removed; < 0 if the folder cannot be read.
 */
int socket_sweep(const char *folder, bool (*is_ours)(const void *arg, const char *name),
		 const void *arg, struct err *err);

/* The path of a socket in @folder that has a listener and whose name matches the shell pattern
 * @pattern; NULL: there is none. The caller frees. */
char *socket_find(const char *folder, const char *pattern);
