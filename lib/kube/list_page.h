/* list_page: one answer to a list, read object by object without building a tree of it. */
#pragma once

#include <stddef.h>

#include "base/json_read.h"

struct err;

/* What a page says beside its objects; the strings are the caller's, by list_page_done(). */
struct list_page {
	char *version;
	char *next_page; /* the continue token; NULL: this was the last */
};

/* @item is called with each object in turn, before this returns; also when the rest of the page turns
 * out to be broken and the result is < 0. */
int list_page_read(const char *text, size_t len,
		   void (*item)(void *arg, const struct json_text *object), void *arg,
		   struct list_page *ret_page, struct err *err);

void list_page_done(struct list_page *page);
