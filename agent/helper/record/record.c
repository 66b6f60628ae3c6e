#include "agent/helper/record/record.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/helper/sys/devpath.h"
#include "agent/helper/sys/mdev.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/sys/sysfs.h"
#include "agent/helper/sys/value.h"
#include "base/device_identity.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/str.h"

enum { FOLDER_MODE = 0700, FILE_MODE = 0600, MEMBERS_MAX = 12 };

typedef bool value_fn(const char *text, size_t len);

enum member_flags {
	NEEDED = 1,
	REPORTED = 2, /* in the line of the scan */
};

struct record_member {
	const char *key;
	size_t offset; /* of a text of the record's own */
	value_fn *is_valid;
	unsigned flags;
};

struct record_kind {
	const char *folder;
	const char *suffix;                  /* of a file's name, behind that of the device  */
	const char *name_text;               /* what that is, for messages                   */
	const struct record_member *members; /* the first is the device's name               */
	size_t len;
	size_t max;
	bool is_plain; /* the file has the values behind the name, one blank between, and no JSON */
	bool is_of_boot;  /* what is not of this boot, or is broken, is as good as none  */
	const char *line; /* the kind of its lines */
	const char *(*boot_of)(
		const void *record); /* under which the record was written; NULL: not known */
};

/* --- the kinds: no valid value holds a character that JSON escapes ---------------------------- */

static bool is_switch(const char *text, size_t len)
{
	return (len == 2 && memcmp(text, "on", len) == 0) ||
	       (len == 3 && memcmp(text, "off", len) == 0);
}

static bool is_boot_or_none(const char *text, size_t len)
{
	return len == 0 || value_is_name(text, len);
}

static const char *device_boot(const void *record)
{
	const struct device_record *device = record;

	return device->bound ? device->bound : device->boot;
}

static const char *mdev_boot(const void *record)
{
	return ((const struct mdev_record *)record)->boot;
}

static const char *autoprobe_boot(const void *record)
{
	return ((const struct autoprobe_record *)record)->boot;
}

/* clang-format off */
#define MEMBER(type, name, is_valid, flags) { #name, offsetof(struct type, name), is_valid, flags }

static const struct record_member device_members[] = {
	MEMBER(device_record, address,  pci_address_valid,     NEEDED | REPORTED),
	MEMBER(device_record, claim,    value_is_name,         NEEDED | REPORTED),
	MEMBER(device_record, uid,      value_is_name,         NEEDED | REPORTED),
	MEMBER(device_record, driver,   value_is_driver,       NEEDED | REPORTED),
	MEMBER(device_record, native,   value_is_native,       REPORTED),
	MEMBER(device_record, override, value_is_driver,       REPORTED),
	MEMBER(device_record, id,       value_is_id,           NEEDED | REPORTED),
	MEMBER(device_record, serial,   value_is_serial,       REPORTED),
	MEMBER(device_record, release,  value_is_release,      REPORTED),
	MEMBER(device_record, identity, device_identity_valid, REPORTED),
	MEMBER(device_record, boot,     value_is_name,         REPORTED),
	MEMBER(device_record, bound,    value_is_name,         REPORTED),
};

static const struct record_member mdev_members[] = {
	MEMBER(mdev_record, uuid,   mdev_uuid_valid, NEEDED | REPORTED),
	MEMBER(mdev_record, parent, mdev_name_valid, NEEDED | REPORTED),
	MEMBER(mdev_record, type,   mdev_name_valid, NEEDED | REPORTED),
	MEMBER(mdev_record, owner,  value_is_name,   NEEDED | REPORTED),
	MEMBER(mdev_record, boot,   value_is_name,   0),
};

static const struct record_member autoprobe_members[] = {
	MEMBER(autoprobe_record, address, pci_address_valid, NEEDED | REPORTED),
	MEMBER(autoprobe_record, was,     is_switch,         NEEDED),
	MEMBER(autoprobe_record, boot,    is_boot_or_none,   NEEDED),
};

/* A record is its texts and nothing else, the name first. */
#define IS_TEXTS(type, members)                                                                 \
	_Static_assert(sizeof(struct type) == sizeof(char *) * ARRAY_LEN(members) &&            \
			       ARRAY_LEN(members) <= MEMBERS_MAX,                               \
		       #type " has a member that its table lacks")

IS_TEXTS(device_record, device_members);
IS_TEXTS(mdev_record, mdev_members);
IS_TEXTS(autoprobe_record, autoprobe_members);

#define MEMBERS(table) .members = (table), .len = ARRAY_LEN(table)

const struct record_kind device_records = {
	.folder = "devices", .suffix = ".json", .name_text = "PCI address", MEMBERS(device_members),
	.max = RECORDS_MAX, .line = "record", .boot_of = device_boot,
};

const struct record_kind mdev_records = {
	.folder = "mdevs", .suffix = ".json", .name_text = "UUID", MEMBERS(mdev_members),
	.max = MDEV_RECORDS_MAX, .line = "mdevRecord", .boot_of = mdev_boot,
};

const struct record_kind autoprobe_records = {
	.folder = "autoprobe", .suffix = "", .name_text = "PCI address", MEMBERS(autoprobe_members),
	.max = RECORDS_MAX, .is_plain = true, .is_of_boot = true, .line = "autoprobe",
	.boot_of = autoprobe_boot,
};
/* clang-format on */

void device_record_done(struct device_record *record)
{
	record_done(&device_records, record);
}

void mdev_record_done(struct mdev_record *record)
{
	record_done(&mdev_records, record);
}

void autoprobe_record_done(struct autoprobe_record *record)
{
	record_done(&autoprobe_records, record);
}

/* --- members ---------------------------------------------------------------------------------- */

static char **field(void *record, const struct record_member *member)
{
	return (char **)(void *)((char *)record + member->offset);
}

static const char *value_of(const void *record, const struct record_member *member)
{
	return *(char *const *)(const void *)((const char *)record + member->offset);
}

void record_done(const struct record_kind *kind, void *record)
{
	for (size_t i = 0; i < kind->len; i++) {
		char **place = field(record, &kind->members[i]);

		free(*place);
		*place = NULL;
	}
}

static int set_member(void *record, const struct record_member *member,
		      const struct json_text *text, struct err *err)
{
	char **place = field(record, member);

	if (*place)
		return err_set(err, ERR_INVALID, -EBADMSG, "'%s' is there twice", member->key);
	if (!text || !member->is_valid(text->text, text->len))
		return err_set(err, ERR_INVALID, -EBADMSG, "'%s' has not the form of one",
			       member->key);
	*place = xstrndup(text->text, text->len);
	return 0;
}

/* Is everything there that must be? */
static const struct record_member *find_missing(const struct record_kind *kind, const void *record)
{
	for (size_t i = 0; i < kind->len; i++) {
		if ((kind->members[i].flags & NEEDED) && !value_of(record, &kind->members[i]))
			return &kind->members[i];
	}
	return NULL;
}

/* --- text ------------------------------------------------------------------------------------- */

static const struct record_member *find_member(const struct record_kind *kind,
					       const struct json_text *key)
{
	for (size_t i = 0; i < kind->len; i++) {
		if (json_text_is(key, kind->members[i].key))
			return &kind->members[i];
	}
	return NULL;
}

/* An escape in a text is one too many: the value is none. */
static int parse_json(const struct record_kind *kind, const char *text, size_t len, void *record,
		      struct err *err)
{
	struct json_read r = json_read_start(text, len);
	struct json_text key;

	json_read_open(&r, '{');
	while (json_read_member(&r, &key)) {
		const struct record_member *member = find_member(kind, &key);
		struct json_text value = { "", 0 };

		if (!member)
			json_read_value(&r, NULL);
		else if (set_member(record, member, json_read_string(&r, &value) ? &value : NULL,
				    err) < 0)
			return -EBADMSG;
	}
	if (!json_read_end(&r))
		return err_set(err, ERR_INVALID, -EBADMSG, "no JSON object");
	return 0;
}

/* The last value goes to the end of the text. */
static int parse_plain(const struct record_kind *kind, const char *text, size_t len, void *record,
		       struct err *err)
{
	for (size_t i = 1; i < kind->len && text; i++) {
		const char *blank = i + 1 < kind->len ? memchr(text, ' ', len) : NULL;
		struct json_text value = { text, blank ? (size_t)(blank - text) : len };

		if (set_member(record, &kind->members[i], &value, err) < 0)
			return -EBADMSG;
		len -= blank ? value.len + 1 : len;
		text = blank ? blank + 1 : NULL;
	}
	return 0;
}

/* Into the zeroed @record. */
static int parse_members(const struct record_kind *kind, const char *text, size_t len, void *record,
			 struct err *err)
{
	const struct record_member *missing;
	int r = (kind->is_plain ? parse_plain : parse_json)(kind, text, len, record, err);

	if (r < 0)
		return r;
	missing = find_missing(kind, record);
	if (missing)
		return err_set(err, ERR_INVALID, -EBADMSG, "'%s' is missing", missing->key);
	return 0;
}

int record_parse(const struct record_kind *kind, const char *name, const char *text, size_t len,
		 void *ret_record, struct err *err)
{
	char *record[MEMBERS_MAX] = { NULL };

	assert(name || !kind->is_plain);
	if (kind->is_plain)
		*field(record, &kind->members[0]) = xstrdup(name);
	if (parse_members(kind, text, len, record, err) < 0) {
		record_done(kind, record);
		return name && !kind->is_plain ? err_wrap(err, "'%s%s'", name, kind->suffix)
					       : -EBADMSG;
	}
	if (name && strcmp(record[0], name) != 0) {
		(void)err_set(err, ERR_INVALID, -EBADMSG, "'%s%s' is about '%s'", name,
			      kind->suffix, record[0]);
		record_done(kind, record);
		return -EBADMSG;
	}
	memcpy(ret_record, record, kind->len * sizeof(record[0]));
	return 0;
}

int record_check(const struct record_kind *kind, const void *record, struct err *err)
{
	const struct record_member *missing = find_missing(kind, record);

	if (missing)
		return err_set(err, ERR_INVALID, -EINVAL, "a record needs '%s'", missing->key);
	for (size_t i = 0; i < kind->len; i++) {
		const char *value = value_of(record, &kind->members[i]);

		if (value && !kind->members[i].is_valid(value, strlen(value)))
			return err_set(err, ERR_INVALID, -EINVAL, "'%s' of a record cannot be '%s'",
				       kind->members[i].key, value);
	}
	return 0;
}

static void format_plain(const struct record_kind *kind, const void *record, struct str *out)
{
	for (size_t i = 1; i < kind->len; i++)
		str_addf(out, "%s%s", i > 1 ? " " : "", value_of(record, &kind->members[i]));
}

/* Those that have one of @flags. */
static void add_members(const struct record_kind *kind, const void *record, unsigned flags,
			struct str *out)
{
	for (size_t i = 0; i < kind->len; i++) {
		const char *value = value_of(record, &kind->members[i]);

		if (value && (kind->members[i].flags & flags) == flags)
			json_write_str(out, kind->members[i].key, value);
	}
}

void record_format(const struct record_kind *kind, const void *record, struct str *out)
{
	if (kind->is_plain) {
		format_plain(kind, record, out);
	} else {
		json_write_open(out, NULL, '{');
		add_members(kind, record, 0, out);
		json_write_close(out, '}');
	}
	str_add_char(out, '\n');
}

/* --- files ------------------------------------------------------------------------------------ */

/* Names of devices become names of files: nothing else may. */
static int check_name(const struct record_kind *kind, const char *name, struct err *err)
{
	if (kind->members[0].is_valid(name, strlen(name)))
		return 0;
	return err_set(err, ERR_INVALID, -EINVAL, "'%s' is no %s", name, kind->name_text);
}

/* 0, RECORD_ABSENT, or < 0 with @err. */
static int open_folder(const struct record_kind *kind, int state_fd, int *ret_fd, struct err *err)
{
	int fd = openat(state_fd, kind->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return RECORD_ABSENT;
	if (fd < 0)
		return err_set(err, ERR_RETRY, -errno, "open the folder '%s': %s", kind->folder,
			       strerror(errno));
	*ret_fd = fd;
	return 0;
}

/* The same, made if it is not there yet. */
static int make_folder(const struct record_kind *kind, int state_fd, int *ret_fd, struct err *err)
{
	int r = open_folder(kind, state_fd, ret_fd, err);

	if (r != RECORD_ABSENT)
		return r;
	if (mkdirat(state_fd, kind->folder, FOLDER_MODE) < 0 && errno != EEXIST)
		return err_set(err, ERR_RETRY, -errno, "create the folder '%s': %s", kind->folder,
			       strerror(errno));
	if (file_sync_names(state_fd, err) < 0)
		return err_wrap(err, "the state folder");
	r = open_folder(kind, state_fd, ret_fd, err);
	if (r == RECORD_ABSENT)
		return err_set(err, ERR_RETRY, -ENOENT, "open the folder '%s': %s", kind->folder,
			       strerror(ENOENT));
	return r;
}

/* A part of a list must not be taken for the whole. */
static int list_folder(const struct record_kind *kind, int state_fd, int *ret_fd,
		       struct sysfs_names *ret_names, struct err *err)
{
	auto_close int fd = -1;
	int r = open_folder(kind, state_fd, &fd, err);

	if (r != 0)
		return r;
	r = sysfs_list(fd, ".", ret_names, err);
	if (r < 0)
		return err_wrap(err, "the folder '%s'", kind->folder);
	if (ret_names->len > kind->max) {
		sysfs_names_done(ret_names);
		return err_set(err, ERR_INVALID, -E2BIG, "the folder '%s' has more than %zu files",
			       kind->folder, kind->max);
	}
	*ret_fd = take_fd(fd);
	return 0;
}

/* A pipe or a device of that name would make the reader wait. */
static int read_file(int folder_fd, const char *file, char **ret_text, size_t *ret_len,
		     struct err *err)
{
	struct stat st;

	if (fstatat(folder_fd, file, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? RECORD_ABSENT
				       : err_set(err, ERR_RETRY, -errno, "read '%s': %s", file,
						 strerror(errno));
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_INVALID, -EBADMSG, "'%s' is no file", file);
	return file_read(folder_fd, file, RECORD_FILE_MAX, ret_text, ret_len, err);
}

static int read_at(const struct record_kind *kind, int folder_fd, const char *name,
		   void *ret_record, struct err *err)
{
	auto_free char *file = xasprintf("%s%s", name, kind->suffix);
	auto_free char *text = NULL;
	size_t len = 0;
	int r = read_file(folder_fd, file, &text, &len, err);

	return r == 0 ? record_parse(kind, name, text, len, ret_record, err) : r;
}

int record_read(const struct record_kind *kind, int state_fd, const char *name, void *ret_record,
		struct err *err)
{
	auto_close int fd = -1;
	int r;

	if (check_name(kind, name, err) < 0)
		return -EINVAL;
	r = open_folder(kind, state_fd, &fd, err);
	return r == 0 ? read_at(kind, fd, name, ret_record, err) : r;
}

/* Remove the temporary files of @file (file_replace_at()) that killed writers have left. The caller
 * holds the lock of the device, so none of them belongs to a running writer. One that cannot be
 * removed does no harm. */
static void remove_stale(int folder_fd, const char *file)
{
	static const char suffix[] = ".new";
	auto_free char *prefix = xasprintf("%s.", file);
	auto_names struct sysfs_names names = { 0 };

	if (sysfs_list_prefix(folder_fd, ".", prefix, &names, NULL) != 0)
		return;
	for (size_t i = 0; i < names.len; i++) {
		const char *pid = names.items[i] + strlen(prefix);
		size_t digits = strspn(pid, "0123456789");

		if (digits > 0 && strcmp(pid + digits, suffix) == 0)
			(void)unlinkat(folder_fd, names.items[i], 0);
	}
}

/* Is @text the content of the file? */
static bool has_text(int folder_fd, const char *file, const struct str *text)
{
	auto_free char *old = NULL;
	size_t len = 0;

	if (read_file(folder_fd, file, &old, &len, NULL) != 0 || !old)
		return false;
	return len + 1 == text->len && memcmp(old, text->buf, len) == 0;
}

int record_write(const struct record_kind *kind, int state_fd, const void *record, struct err *err)
{
	auto_str struct str text = STR_INIT;
	auto_free char *file = NULL;
	auto_close int fd = -1;

	if (record_check(kind, record, err) < 0 || make_folder(kind, state_fd, &fd, err) < 0)
		return err->code;
	file = xasprintf("%s%s", value_of(record, &kind->members[0]), kind->suffix);
	record_format(kind, record, &text);
	remove_stale(fd, file);
	/* The process that wrote the same text may have died before it reached the disk. */
	if (has_text(fd, file, &text))
		return file_sync_names(fd, err);
	return file_replace_at(fd, file, str_cstr(&text), text.len, FILE_MODE, err);
}

int record_remove(const struct record_kind *kind, int state_fd, const char *name, struct err *err)
{
	auto_free char *file = xasprintf("%s%s", name, kind->suffix);
	auto_close int fd = -1;
	int r;

	if (check_name(kind, name, err) < 0)
		return -EINVAL;
	r = open_folder(kind, state_fd, &fd, err);
	if (r != 0)
		return r == RECORD_ABSENT ? 0 : r;
	remove_stale(fd, file);
	return file_remove_at(fd, file, err);
}

/* --- the report ------------------------------------------------------------------------------- */

void record_boot(int proc_fd, char ret_boot[RECORD_BOOT_SIZE])
{
	struct sysfs_attr attr;

	ret_boot[0] = '\0';
	if (proc_fd < 0 || sysfs_read(proc_fd, "sys/kernel/random/boot_id", &attr, NULL) != 0 ||
	    attr.len >= RECORD_BOOT_SIZE || !value_is_name(attr.text, attr.len))
		return;
	memcpy(ret_boot, attr.text, attr.len + 1);
}

static void write_members(const struct record_kind *kind, const void *record, const char *boot,
			  struct str *lines)
{
	const char *known = kind->boot_of(record);

	if (kind->is_of_boot && strcmp(known, boot) != 0)
		return;
	report_open(lines, kind->line);
	add_members(kind, record, REPORTED, lines);
	if (!kind->is_of_boot)
		json_write_bool(lines, "thisBoot", boot[0] && known && strcmp(known, boot) == 0);
	report_close(lines);
}

static void write_line(const struct record_kind *kind, int folder_fd, const char *name,
		       const char *boot, struct report *report)
{
	char *record[MEMBERS_MAX] = { NULL };
	struct err err = { 0 };
	int r = check_name(kind, name, &err);

	if (r == 0)
		r = read_at(kind, folder_fd, name, record, &err);
	if (r == 0)
		write_members(kind, record, boot, &report->lines);
	else if (r < 0 && !kind->is_of_boot)
		report_problem(report, name, "record", "%s; repair the file or remove it", err.msg);
	record_done(kind, record);
}

/* The device that the record file is named after, NULL if @file is not a record. */
static char *name_of(const struct record_kind *kind, const char *file)
{
	size_t len = strlen(file);
	size_t suffix = strlen(kind->suffix);

	if (len < suffix || strcmp(file + len - suffix, kind->suffix) != 0)
		return NULL;
	return xstrndup(file, len - suffix);
}

void records_write_lines(const struct record_kind *kind, int state_fd, int proc_fd,
			 struct report *report)
{
	auto_names struct sysfs_names names = { 0 };
	char boot[RECORD_BOOT_SIZE];
	auto_close int fd = -1;
	struct err err = { 0 };

	if (list_folder(kind, state_fd, &fd, &names, &err) < 0)
		report_fail(report, &err);
	record_boot(proc_fd, boot);
	for (size_t i = 0; i < names.len; i++) {
		auto_free char *name = name_of(kind, names.items[i]);

		if (name)
			write_line(kind, fd, name, boot, report);
	}
}
