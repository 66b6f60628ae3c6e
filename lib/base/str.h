/* str: a growable string. After the first append or str_cstr(), @buf is never NULL and always
 * NUL-terminated; @len does not count the terminator. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct str {
	char *buf;
	size_t len;
	size_t cap;
};

#define STR_INIT ((struct str){ 0 })

void str_add(struct str *s, const char *text);
void str_add_mem(struct str *s, const void *data, size_t len);
void str_add_char(struct str *s, char c);
void str_addf(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Append @len bytes. Bytes that are not UTF-8 and control characters (C0, DEL, C1) become
 * "\xNN", so that the result is safe in JSON, YAML, log lines and terminals. */
void str_add_clean(struct str *s, const char *data, size_t len);

/* Cut text (UTF-8) longer than @max bytes (at least 3) at a character boundary and end it in
 * "...". */
void str_cut(struct str *s, size_t max);

/* Empty the string but keep its memory. */
void str_clear(struct str *s);

/* The text; "" if nothing was appended. Valid until the next call. */
const char *str_cstr(struct str *s);

/* Return the text (never NULL), which the caller frees; the string is empty again. */
char *str_detach(struct str *s);

/* Release; a released string may be used again. */
void str_done(struct str *s);

#define auto_str __attribute__((cleanup(str_done)))

/* @text with str_add_clean() and str_cut(), for the caller to free; NULL for NULL. */
char *str_clean(const char *text, size_t max);

/* Are both the same text, or both NULL? */
bool str_equal(const char *a, const char *b);
/* Is each of them there, and are they the same text? */
bool str_match(const char *a, const char *b);

/* Is @end the end of @text? */
bool str_ends_in(const char *text, const char *end);

/* @text, "" for NULL. */
const char *str_or_empty(const char *text);

/* strcmp(), with NULL as "". */
int str_compare(const char *a, const char *b);

/* The part of @path after its last '/'; all of it if there is none. Borrowed. */
const char *str_base_name(const char *path);

/* Replace *@member by a copy of @text, NULL for NULL. */
void str_set(char **member, const char *text);
/* The same, and NULL for "". */
void str_set_nonempty(char **member, const char *text);

/* How many letters must change to make @b of @a; SIZE_MAX if one of them is longer than a name
 * is. */
size_t str_distance(const char *a, const char *b);
/* At this distance, another name is no longer what somebody meant who typed @name. */
size_t str_far(const char *name);
