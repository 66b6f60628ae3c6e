/*
 * uevent_file: reads the text of a device's `uevent` attribute, "KEY=VALUE" on each line.
 *
 * One read of it replaces a dozen single attributes. No I/O here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A place in the text; start with { text, text + len }. */
struct uevent_cursor {
	const char *at;
	const char *end;
};

/* One line; both parts point into the text and are not terminated. */
struct uevent_field {
	const char *key;
	size_t key_len;
	const char *value;
	size_t value_len;
};

/* The next line that has the form; false at the end. Other lines are passed over. */
bool uevent_next(struct uevent_cursor *cursor, struct uevent_field *ret_field);

bool uevent_is(const struct uevent_field *field, const char *key);

/*
 * Read the value as @count numbers of base @base (10 or 16) with @separator between them, none
 * above @max. False, and nothing is written, if it is anything else.
 */
struct uevent_numbers {
	unsigned base;
	char separator;
	size_t count;
	unsigned max;
};
bool uevent_numbers(const struct uevent_field *field, const struct uevent_numbers *form,
		    int *ret_numbers);
