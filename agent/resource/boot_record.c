#include "agent/resource/boot_record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/json_map.h"
#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

enum { BOOT_ID_MAX = 64, RECORD_MAX = 4 << 20, RECORD_MODE = 0600, FOLDER_MODE = 0700 };

static const char boot_id_path[] = "/proc/sys/kernel/random/boot_id"; /* of all containers, too */

struct boot_record {
	const char *state_dir;
	const char *file;
	const char *key;
	char *boot;  /* NULL: not known */
	char *kept;  /* the file's text, or that which could not be written */
	bool behind; /* it could not */
};

static json_t *recall(struct boot_record *record)
{
	auto_free char *path = xasprintf("%s/%s", record->state_dir, record->file);
	auto_free char *text = NULL;
	auto_json json_t *json = NULL;
	struct err err = { 0 };
	size_t len = 0;

	if (file_read(AT_FDCWD, path, RECORD_MAX, &text, &len, &err) < 0) {
		if (err.code != -ENOENT)
			log_warn("a record of the state directory cannot be read",
				 log_str("reason", err.msg));
		return NULL;
	}
	if (json_map_load(text, len, &json, &err) < 0) {
		log_warn("a record of the state directory is not understood", log_str("file", path),
			 log_str("reason", err.msg));
		return NULL;
	}
	if (!str_match(json_string_value(json_object_get(json, "boot")), record->boot))
		return NULL;
	record->kept = take_ptr(text);
	return json_incref(json_object_get(json, record->key));
}

static int write_text(const struct boot_record *record, const char *text)
{
	auto_free char *path = xasprintf("%s/%s", record->state_dir, record->file);
	auto_free char *fresh = xasprintf("%s.new", path);
	auto_close int fd = -1;

	(void)mkdir(record->state_dir, FOLDER_MODE);
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, RECORD_MODE);
	if (fd < 0 || file_write_all(fd, text, strlen(text)) < 0 || rename(fresh, path) < 0)
		return -errno;
	return 0;
}

void boot_record_keep(struct boot_record *record, json_t *value)
{
	bool empty = json_object_size(value) == 0;
	auto_json json_t *json = json_pack("{s:s*, s:o}", "boot", record->boot, record->key, value);
	auto_free char *text = json_map_text(json);
	int r;

	if (!record->state_dir || !record->boot || (!record->kept && empty) ||
	    (str_equal(text, record->kept) && !record->behind))
		return;
	r = write_text(record, text);
	if (r < 0 && !record->behind)
		log_warn("a record of the state directory cannot be written",
			 log_str("folder", record->state_dir), log_str("file", record->file),
			 log_str("reason", strerror(-r)));
	record->behind = r < 0;
	free(record->kept);
	record->kept = take_ptr(text);
}

bool boot_record_is_behind(const struct boot_record *record)
{
	return record->behind;
}

struct boot_record *boot_record_new(const char *state_dir, const char *file, const char *key,
				    json_t **ret_value)
{
	struct boot_record *record = xcalloc(1, sizeof(*record));

	record->state_dir = state_dir;
	record->file = file;
	record->key = key;
	*ret_value = NULL;
	if (file_read(AT_FDCWD, boot_id_path, BOOT_ID_MAX, &record->boot, NULL, NULL) == 0 &&
	    state_dir)
		*ret_value = recall(record);
	return record;
}

struct boot_record *boot_record_free(struct boot_record *record)
{
	if (!record)
		return NULL;
	free(record->boot);
	free(record->kept);
	free(record);
	return NULL;
}
