#include "agent/helper/record/mdev_record.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "agent/helper/sys/report.h"
#include "agent/helper/sys/state_file.h"
#include "agent/helper/sys/sysfs.h"
#include "agent/helper/sys/value.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/str.h"

#define FOLDER "mdevs"
#define SUFFIX ".json"

typedef bool value_fn(const char *text, size_t len);

_Static_assert((int)MDEV_RECORD_ABSENT == (int)STATE_FILE_ABSENT, "what is read is handed on");

/* No valid value holds a character that JSON escapes. */
/* clang-format off */
static const struct member_row {
	const char *key;
	size_t offset;
	size_t size;
	value_fn *is_valid;
	bool needed;
} rows[] = {
	{ "uuid",   offsetof(struct mdev_record, uuid),   37,             mdev_uuid_valid, true },
	{ "parent", offsetof(struct mdev_record, parent), MDEV_NAME_SIZE, mdev_name_valid, true },
	{ "type",   offsetof(struct mdev_record, type),   MDEV_NAME_SIZE, mdev_name_valid, true },
	{ "owner",  offsetof(struct mdev_record, owner),  64,             value_is_name,   true },
	{ "boot",   offsetof(struct mdev_record, boot),   64,             value_is_name,   false },
};
/* clang-format on */

/* --- as text ------------------------------------------------------------------------- */

static const struct member_row *find_row(const struct json_text *key)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (json_text_is(key, rows[i].key))
			return &rows[i];
	}
	return NULL;
}

static bool read_member(struct json_read *r, const struct member_row *row,
			struct mdev_record *record)
{
	char *place = (char *)record + row->offset;
	struct json_text text = { "", 0 };

	if (*place || !json_read_string(r, &text) || !row->is_valid(text.text, text.len) ||
	    text.len >= row->size)
		return false;
	memcpy(place, text.text, text.len);
	place[text.len] = '\0';
	return true;
}

static const char *value_of(const struct mdev_record *record, const struct member_row *row)
{
	return (const char *)record + row->offset;
}

static int parse(const char *text, size_t len, struct mdev_record *record, struct err *err)
{
	struct json_read r = json_read_start(text, len);
	struct json_text key;

	json_read_open(&r, '{');
	while (json_read_member(&r, &key)) {
		const struct member_row *row = find_row(&key);

		if (!row)
			json_read_value(&r, NULL);
		else if (!read_member(&r, row, record))
			return err_set(err, ERR_INVALID, -EBADMSG, "'%s' has not the form of one",
				       row->key);
	}
	if (!json_read_end(&r))
		return err_set(err, ERR_INVALID, -EBADMSG, "no JSON object");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (rows[i].needed && !*value_of(record, &rows[i]))
			return err_set(err, ERR_INVALID, -EBADMSG, "'%s' is missing", rows[i].key);
	}
	return 0;
}

static void write_text(const struct mdev_record *record, struct str *out)
{
	json_write_open(out, NULL, '{');
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (*value_of(record, &rows[i]))
			json_write_str(out, rows[i].key, value_of(record, &rows[i]));
	}
	json_write_close(out, '}');
	str_add_char(out, '\n');
}

/* --- as files -------------------------------------------------------------------------- */

/* UUIDs become names of files: nothing else may. */
static int check_uuid(const char *uuid, struct err *err)
{
	if (mdev_uuid_valid(uuid, strlen(uuid)))
		return 0;
	return err_set(err, ERR_INVALID, -EINVAL, "'%s' is no UUID", uuid);
}

static int read_at(int folder_fd, const char *uuid, struct mdev_record *ret_record, struct err *err)
{
	auto_free char *name = xasprintf("%s" SUFFIX, uuid);
	struct mdev_record record = { 0 };
	auto_free char *text = NULL;
	size_t len = 0;
	int r = state_file_read(folder_fd, name, &text, &len, err);

	if (r != 0)
		return r;
	if (parse(text, len, &record, err) < 0)
		return err_wrap(err, "'%s'", name);
	if (strcmp(record.uuid, uuid) != 0)
		return err_set(err, ERR_INVALID, -EBADMSG, "'%s' is about '%s'", name, record.uuid);
	*ret_record = record;
	return 0;
}

int mdev_record_read(int state_fd, const char *uuid, struct mdev_record *ret_record,
		     struct err *err)
{
	auto_close int fd = -1;
	int r;

	if (check_uuid(uuid, err) < 0)
		return -EINVAL;
	r = state_folder_open(state_fd, FOLDER, &fd, err);
	return r == 0 ? read_at(fd, uuid, ret_record, err) : r;
}

int mdev_record_write(int state_fd, const struct mdev_record *record, struct err *err)
{
	auto_free char *name = xasprintf("%s" SUFFIX, record->uuid);
	auto_str struct str text = STR_INIT;

	if (check_uuid(record->uuid, err) < 0)
		return -EINVAL;
	write_text(record, &text);
	return state_file_write(state_fd, FOLDER, name, &text, err);
}

int mdev_record_remove(int state_fd, const char *uuid, struct err *err)
{
	auto_free char *name = xasprintf("%s" SUFFIX, uuid);

	if (check_uuid(uuid, err) < 0)
		return -EINVAL;
	return state_file_remove(state_fd, FOLDER, name, err);
}

/* --- whose is it? ------------------------------------------------------------------------ */

void mdev_record_boot(int proc_fd, char ret_boot[64])
{
	struct sysfs_attr attr;

	ret_boot[0] = '\0';
	if (proc_fd < 0 || sysfs_read(proc_fd, "sys/kernel/random/boot_id", &attr, NULL) != 0 ||
	    attr.len >= 64 || !value_is_name(attr.text, attr.len))
		return;
	memcpy(ret_boot, attr.text, attr.len + 1);
}

bool mdev_record_owns(const struct mdev_record *record, const struct mdev_seen *seen,
		      const char *boot)
{
	return seen->present && boot[0] && strcmp(record->boot, boot) == 0 &&
	       strcmp(record->parent, seen->parent) == 0 && strcmp(record->type, seen->type) == 0;
}

/* --- in the report ------------------------------------------------------------------------- */

static void write_line(int folder_fd, const char *uuid, const char *boot, struct report *report)
{
	struct mdev_record record;
	struct err err = { 0 };
	int r = check_uuid(uuid, &err) < 0 ? -EINVAL : read_at(folder_fd, uuid, &record, &err);

	if (r < 0)
		report_problem(report, uuid, "record", "%s; repair the file or remove it", err.msg);
	if (r != 0)
		return;
	report_open(&report->lines, "mdevRecord");
	json_write_str(&report->lines, "uuid", record.uuid);
	json_write_str(&report->lines, "parent", record.parent);
	json_write_str(&report->lines, "type", record.type);
	json_write_str(&report->lines, "owner", record.owner);
	json_write_bool(&report->lines, "thisBoot", boot[0] && strcmp(record.boot, boot) == 0);
	report_close(&report->lines);
}

/* The UUID that a record's file is named after, NULL if it is none of a record. */
static char *uuid_of(const char *name)
{
	size_t len = strlen(name);
	size_t suffix = strlen(SUFFIX);

	if (len < suffix || strcmp(name + len - suffix, SUFFIX) != 0)
		return NULL;
	return xstrndup(name, len - suffix);
}

void mdev_records_write_lines(int state_fd, int proc_fd, struct report *report)
{
	auto_names struct sysfs_names names = { 0 };
	auto_close int fd = -1;
	struct err err = { 0 };
	char boot[64];
	int r = state_folder_list(state_fd, FOLDER, MDEV_RECORDS_MAX, &fd, &names, &err);

	if (r < 0)
		report_fail(report, &err);
	if (r != 0)
		return;
	mdev_record_boot(proc_fd, boot);
	for (size_t i = 0; i < names.len; i++) {
		auto_free char *uuid = uuid_of(names.items[i]);

		if (uuid)
			write_line(fd, uuid, boot, report);
	}
}
