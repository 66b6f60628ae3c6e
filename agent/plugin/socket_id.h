/*
 * socket_id: tells a file of a name from the one that takes its place later.
 *
 * A number alone does not: file systems give it to the next file at once. So the time of birth counts
 * too, or that of the last change of the file's attributes where there is none of birth.
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

/* What @path is now. What cannot be looked at counts as not there. */
struct socket_id socket_id_of(const char *path);

bool socket_id_same(const struct socket_id *a, const struct socket_id *b);
