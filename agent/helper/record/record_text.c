#include "agent/helper/record/record_text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/helper/record/record.h"
#include "agent/helper/sys/devpath.h"
#include "agent/helper/sys/value.h"
#include "base/device_identity.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/str.h"

typedef bool value_fn(const char *text, size_t len);

/* No valid value holds a character that JSON escapes, so an escape in the text is one too many. */
/* clang-format off */
static const struct member_row {
	const char *key;
	size_t offset;
	value_fn *is_valid;
	bool needed;
} rows[] = {
	{ "address", offsetof(struct record, address), pci_address_valid, true },
	{ "claim",   offsetof(struct record, claim),   value_is_name,     true },
	{ "uid",     offsetof(struct record, uid),     value_is_name,     true },
	{ "driver",  offsetof(struct record, driver),  value_is_driver,   true },
	{ "native",  offsetof(struct record, native),  value_is_native,     false },
	{ "override", offsetof(struct record, override), value_is_driver, false },
	{ "id",      offsetof(struct record, id),      value_is_id,       true },
	{ "serial",  offsetof(struct record, serial),  value_is_serial,   false },
	{ "release", offsetof(struct record, release), value_is_release,  false },
	{ "identity", offsetof(struct record, identity), device_identity_valid, false },
	{ "boot",    offsetof(struct record, boot),    value_is_name,     false },
	{ "bound",   offsetof(struct record, bound),   value_is_name,     false },
};
/* clang-format on */

static char **field(struct record *record, const struct member_row *row)
{
	return (char **)(void *)((char *)record + row->offset);
}

static const char *value_of(const struct record *record, const struct member_row *row)
{
	return *(char *const *)(const void *)((const char *)record + row->offset);
}

static const struct member_row *find_row(const struct json_text *key)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (json_text_is(key, rows[i].key))
			return &rows[i];
	}
	return NULL;
}

static int read_member(struct json_read *r, const struct member_row *row, struct record *record,
		       struct err *err)
{
	char **place = field(record, row);
	struct json_text text = { "", 0 };

	if (*place)
		return err_set(err, ERR_INVALID, -EBADMSG, "'%s' is there twice", row->key);
	if (!json_read_string(r, &text) || !row->is_valid(text.text, text.len))
		return err_set(err, ERR_INVALID, -EBADMSG, "'%s' has not the form of one",
			       row->key);
	*place = xstrndup(text.text, text.len);
	return 0;
}

static int read_members(struct json_read *r, struct record *record, struct err *err)
{
	struct json_text key;

	json_read_open(r, '{');
	while (json_read_member(r, &key)) {
		const struct member_row *row = find_row(&key);

		if (!row)
			json_read_value(r, NULL);
		else if (read_member(r, row, record, err) < 0)
			return -EBADMSG;
	}
	if (!json_read_end(r))
		return err_set(err, ERR_INVALID, -EBADMSG, "no JSON object");
	return 0;
}

/* Is everything there that must be? */
static const struct member_row *find_missing(const struct record *record)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].needed && !value_of(record, &rows[i]))
			return &rows[i];
	}
	return NULL;
}

int record_text_parse(const char *text, size_t len, struct record *ret_record, struct err *err)
{
	auto_record struct record record = { 0 };
	struct json_read r = json_read_start(text, len);
	const struct member_row *missing;

	if (read_members(&r, &record, err) < 0)
		return -EBADMSG;
	missing = find_missing(&record);
	if (missing)
		return err_set(err, ERR_INVALID, -EBADMSG, "'%s' is missing", missing->key);
	*ret_record = record;
	record = (struct record){ 0 };
	return 0;
}

int record_text_check(const struct record *record, struct err *err)
{
	const struct member_row *missing = find_missing(record);

	if (missing)
		return err_set(err, ERR_INVALID, -EINVAL, "a record needs '%s'", missing->key);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *value = value_of(record, &rows[i]);

		if (value && !rows[i].is_valid(value, strlen(value)))
			return err_set(err, ERR_INVALID, -EINVAL, "'%s' of a record cannot be '%s'",
				       rows[i].key, value);
	}
	return 0;
}

void record_text_members(const struct record *record, struct str *out)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *value = value_of(record, &rows[i]);

		if (value)
			json_write_str(out, rows[i].key, value);
	}
}

void record_text_write(const struct record *record, struct str *out)
{
	json_write_open(out, NULL, '{');
	record_text_members(record, out);
	json_write_close(out, '}');
	str_add_char(out, '\n');
}

void record_done(struct record *record)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char **place = field(record, &rows[i]);

		free(*place);
		*place = NULL;
	}
}
