/* socket_sweep: removes the sockets that earlier processes of ours left behind. */
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
