/* record_text: a record as JSON. No I/O. */
#pragma once

#include <stddef.h>

struct err;
struct record;
struct str;

/* Read a record; what is not known in it is passed over. ERR_INVALID, -EBADMSG, naming the member
 * that is missing or has another form. */
int record_text_parse(const char *text, size_t len, struct record *ret_record, struct err *err);

/* May @record be written? ERR_INVALID, -EINVAL, naming the member. */
int record_text_check(const struct record *record, struct err *err);

/* Append the record as a line. */
void record_text_write(const struct record *record, struct str *out);

/* Append its members to an open object. */
void record_text_members(const struct record *record, struct str *out);
