/* str: a growable string to build with. @buf is never NULL after the first append or str_cstr(),
 * is always terminated, and holds @len bytes without the terminator. */
#pragma once

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

/* Append @len bytes with every byte of what is not UTF-8, and of every control character (C0, DEL,
 * C1), shown as "\xNN": what comes out can stand in JSON, YAML, a log line or a terminal. */
void str_add_clean(struct str *s, const char *data, size_t len);

/* Make text (UTF-8) that is longer than @max bytes (at least 3) end in "..." there, without cutting a
 * character in two. */
void str_cut(struct str *s, size_t max);

/* Empty the string, keep its memory. */
void str_clear(struct str *s);

/* The text, "" when nothing was appended. Valid until the next call. */
const char *str_cstr(struct str *s);

/* Give the text away (never NULL); the string is empty again. The caller frees. */
char *str_detach(struct str *s);

/* Release; a released string may be used again. */
void str_done(struct str *s);

#define auto_str __attribute__((cleanup(str_done)))

/* How many letters must change to make @b of @a; SIZE_MAX if one of them is longer than a name is. */
size_t str_distance(const char *a, const char *b);
/* At this distance, another name is no longer what somebody meant who typed @name. */
size_t str_far(const char *name);
