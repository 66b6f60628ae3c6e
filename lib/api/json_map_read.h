/*
 * json_map_read: a fast version of json_map_parse() for large numbers of objects. It decodes
 * directly from the text, without a tree in memory, and gives the same results several times
 * faster.
 *
 * Handles what servers normally send. Everything else (an escape in a decoded string, a duplicate
 * field, a wrong type) and all errors are left to json_map_parse().
 */
#pragma once

#include <stddef.h>

struct err;
struct json_row;

/* See json_map_parse(). */
int json_map_read(const struct json_row *map, const char *text, size_t len, void *object,
		  struct err *err);
