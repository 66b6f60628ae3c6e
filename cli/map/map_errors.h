/*
 * map_error: errors of the watches, printed once for each change. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The error of one kind. */
struct map_error {
	const char *kind;  /* plural                                           */
	const char *error; /* the current error; "": none. Valid during the call */
	char *printed;     /* what was printed last; NULL: nothing */
	bool is_new;       /* to be printed */
};

/* The error without its prefix "list KIND: ", so that kinds with the same error share a line. */
const char *map_error_text(const char *kind, const char *error);

/* Print what has changed: one line for all kinds with the same error, and one when all errors
 * are gone. Errors that differ only in numbers count as the same, because some contain a
 * duration. */
void map_errors_print(struct map_error *errors, size_t len, void (*print)(const char *line));

void map_errors_done(struct map_error *errors, size_t len);
