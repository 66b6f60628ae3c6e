/* socket_sweep: removes the sockets that earlier processes of ours left behind. */
#pragma once

#include <stdbool.h>

struct err;

/* Nobody listens at @path, and nobody will: connecting is refused. False for what is no socket. */
bool socket_is_dead(const char *path);

/*
 * Remove the sockets in @folder to which nobody listens and of whose names @is_ours says so. How many
 * went; < 0 if the folder cannot be read.
 */
int socket_sweep(const char *folder, bool (*is_ours)(const void *arg, const char *name),
		 const void *arg, struct err *err);
