/* list_page: reads one response to a list, object by object, without building a tree. */
#pragma once

#include <stddef.h>

#include "base/json_read.h"

struct err;

/* The metadata of a page; the caller frees the strings with list_page_done(). */
struct list_page {
	char *version;
	char *next_page; /* the continue token; NULL: last page */
};

/* @item is called with each object before this returns, even if a later part of the page is
 * broken and the result is < 0. */
int list_page_read(const char *text, size_t len,
		   void (*item)(void *arg, const struct json_text *object), void *arg,
		   struct list_page *ret_page, struct err *err);

void list_page_done(struct list_page *page);
