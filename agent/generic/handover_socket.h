/*
 * handover_socket: the files of the sockets of handovers: one that listens, and what a process before
 * has left.
 *
 * Whoever has mounted a socket has that very file, so that one that is made anew in its place is for
 * those who mount it later. The time of its first making stays with it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct json_strs;

/* Borrowed. */
struct handover_file {
	const char *folder;
	const char *name;
	const char *label; /* SELinux label; NULL: as it comes */
	int64_t born_ms;   /* when it was made first, since the epoch */
};

/* A socket that listens, open to all, made beside what is there and put in its place. Its inode in
 * *@ret_inode, its descriptor in *@ret_fd. The folder is made if it is missing. */
int handover_socket_make(const struct handover_file *file, int *ret_fd, uint64_t *ret_inode,
			 struct err *err);

/* Remove the file if it is still that inode: another process may have put its own there. */
void handover_socket_remove(const char *path, uint64_t inode);

/* Append the names of the sockets that are in the folder. */
void handover_sockets_find(const char *folder, struct json_strs *ret_names);

/* When it was made first; false: there is none. */
bool handover_socket_born(const char *path, int64_t *ret_ms);
