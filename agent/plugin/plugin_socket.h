/*
 * plugin_socket: the names of our sockets, and which of their makers are gone.
 *
 *	hostdev-<pid>-<random>-<number>-<resource>.sock
 *
 * The pid belongs to the maker's own pid namespace, so it does not identify a process of another
 * container. Each process has a random number, and the other number counts its sockets, so no name
 * repeats.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum { PLUGIN_SOCKET_PATH_MAX = 107 };

#define PLUGIN_SOCKET_PREFIX "hostdev-"

/* Who names sockets. */
struct plugin_socket_maker {
	const char *folder; /* borrowed */
	bool own_folder;    /* ours to make, each time that it is not there */
	int pid;
	uint32_t random; /* another one after every start */
	unsigned made;
};

/*
 * A path for the next socket, which the caller frees. Of the resource's name, what is no letter,
 * digit, '.', '-' or '_' becomes '_'; a name that is too long for a path of PLUGIN_SOCKET_PATH_MAX
 * bytes is cut and ends in a hash of the whole. -ENAMETOOLONG: the folder's path leaves no room for
 * that; or the errno of making the folder.
 */
int plugin_socket_path(struct plugin_socket_maker *maker, const char *resource, char **ret_path,
		       struct err *err);

/*
 * Remove sockets that earlier agents left in the folder: their name has our form, their process is
 * gone or had our pid before us, and no process listens on them (ECONNREFUSED). Returns how many
 * were removed; < 0 if the folder cannot be read.
 */
int plugin_socket_sweep(const struct plugin_socket_maker *maker, struct err *err);
