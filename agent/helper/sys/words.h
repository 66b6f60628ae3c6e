/*
 * words: the words "key=value" of a command line, by a table of what a verb takes. No I/O.
 *
 * A verb may take a list: one word begins an item of it, and the words behind it are about that
 * item.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum word_flags {
	WORD_NEEDED = 1,
	WORD_BEGINS = 2,  /* an item of the list: take() adds it       */
	WORD_OF_ITEM = 4, /* it is about the item that was begun last  */
	WORD_MANY = 8,    /* it may be there more than once            */
};

struct word {
	const char *text;  /* "count=7" */
	const char *value; /* "7"       */
	int64_t number;    /* 7, of a row without is_valid() */
};

struct word_row {
	const char *key;
	unsigned flags;
	size_t offset; /* of a const char *, or of an int for a number, in the object or its item */
	bool (*is_valid)(const char *text, size_t len); /* NULL: it is a number from 0 to @max */
	const char *form;                               /* what it must be, for messages       */
	int64_t max;
	/* In place of @offset; NULL: it goes there. */
	int (*take)(void *object, const struct word *word, struct err *err);
};

struct words_table {
	const struct word_row *rows; /* at most 32 */
	size_t len;
	void *(*last_item)(void *object); /* NULL: no list                                        */
	const char *before; /* the message for a word about an item before the first item */
};

/* Read @words (ends in NULL) into @object, which borrows them. ERR_INVALID, -EINVAL, naming the
 * word; then a part may be read. */
int words_parse(const struct words_table *table, char **words, void *object, struct err *err);
