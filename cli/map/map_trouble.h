/*
 * map_trouble: why something cannot be read, told once for each change. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Of one kind. */
struct map_trouble {
	const char *kind;  /* plural                                           */
	const char *error; /* what is wrong now, "": nothing; during the call  */
	char *said;        /* what was said last; NULL: nothing                */
	bool news;
};

/* The error without its "list KIND: ", which all kinds would have in their own way. */
const char *map_trouble_text(const char *kind, const char *error);

/* Say what is new, one line for the kinds of one error, and when all of it is over. Errors that differ by
 * their numbers alone are one: some say how long they took. */
void map_troubles_say(struct map_trouble *troubles, size_t len, void (*say)(const char *line));

void map_troubles_done(struct map_trouble *troubles, size_t len);
