/*
 * map_trouble: errors of the watches, printed once for each change. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The error of one kind. */
struct map_trouble {
	const char *kind;  /* plural                                           */
	const char *error; /* the current error; "": none. Valid during the call */
	char *said;        /* what was printed last; NULL: nothing */
	bool news;
};

/* The error without its prefix "list KIND: ", so that kinds with the same error share a line. */
const char *map_trouble_text(const char *kind, const char *error);

/* Print what has changed: one line for all kinds with the same error, and one when all errors
 * are gone. Errors that differ only in numbers count as the same, because some contain a
 * duration. */
void map_troubles_say(struct map_trouble *troubles, size_t len, void (*say)(const char *line));

void map_troubles_done(struct map_trouble *troubles, size_t len);
