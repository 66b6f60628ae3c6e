/*
 * json_write: writes JSON text into a string, for the helper, which does not link a JSON library.
 *
 * Commas are added automatically: a member or element is preceded by one unless the text before it
 * ends in an opening bracket. The caller must open and close objects and arrays in pairs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct str;

/* @key is NULL for an array element or the outermost value. */
void json_write_open(struct str *out, const char *key, char bracket); /* '{' or '[' */
void json_write_close(struct str *out, char bracket);                 /* '}' or ']' */
/* Text that is not UTF-8 is sanitized as by str_add_clean(). NULL is written as null. */
void json_write_str(struct str *out, const char *key, const char *value);
void json_write_int(struct str *out, const char *key, int64_t value);
void json_write_bool(struct str *out, const char *key, bool value);
