/*
 * json_write: JSON text straight into a string, for the helper, which links no JSON library.
 *
 * Commas come by themselves: a member or element writes one when the text before it does not end
 * in an opening bracket. The caller opens and closes objects and arrays in pairs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct str;

/* @key is NULL for an element of an array or for the outermost value. */
void json_write_open(struct str *out, const char *key, char bracket); /* '{' or '[' */
void json_write_close(struct str *out, char bracket);                 /* '}' or ']' */
/* Text that is not UTF-8 is cleaned as str_add_clean() does. NULL is written as null. */
void json_write_str(struct str *out, const char *key, const char *value);
void json_write_int(struct str *out, const char *key, int64_t value);
void json_write_bool(struct str *out, const char *key, bool value);
