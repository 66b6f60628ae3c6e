/*
 * socket_id: distinguishes a file from a later file of the same name.
 *
 * The inode number is not enough, because file systems reuse it immediately. So the birth time
 * counts too, or the time of the last status change on file systems without a birth time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Zero: there is no such file. */
struct socket_id {
	bool there;
	uint64_t dev;
	uint64_t ino;
	int64_t s;
	uint32_t ns;
};

/* Identify the file at @path. A file that cannot be read counts as absent. */
struct socket_id socket_id_of(const char *path);

bool socket_id_same(const struct socket_id *a, const struct socket_id *b);
