/*
 * record: what hostdev must know about a device after a crash or a power failure: one small file
 * for each device, in a folder of the state directory. It is written before the first change, and
 * removed after the last change is undone.
 *
 * One store for all kinds of records: a kind is a table of members. Members that the table does not
 * have are skipped, so that a newer version may write more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;
struct report;
struct str;

enum {
	RECORD_FILE_MAX = 64 << 10, /* bytes; a longer file is no record         */
	RECORD_BOOT_SIZE = 64,      /* of a boot id with its end                 */
	RECORDS_MAX = 4096,         /* of one kind; more fail the scan           */
	MDEV_RECORDS_MAX = 8192,    /* of mdev_records                           */
};

/* A kind of records, see below. All functions take its struct as the record. */
struct record_kind;

/* What record_read() finds besides a record. */
enum { RECORD_ABSENT = 1 };

/*
 * Read the record of the device @name below @state_fd. 0, RECORD_ABSENT, or < 0: ERR_INVALID with
 * -EBADMSG if the file is no record of this device, and -EINVAL if @name is not a device name. The
 * caller calls record_done() after 0.
 */
int record_read(const struct record_kind *kind, int state_fd, const char *name, void *ret_record,
		struct err *err);

/* Write @record to its file, so that it survives a power failure. An equal file is not written
 * again. ERR_INVALID, -EINVAL, naming the member, if it could not be read back. */
int record_write(const struct record_kind *kind, int state_fd, const void *record, struct err *err);

/* Remove the record of the device @name for good; that there is none is fine. */
int record_remove(const struct record_kind *kind, int state_fd, const char *name, struct err *err);

void record_done(const struct record_kind *kind, void *record);

/* Append one line for each record to @report, by name. A record that cannot be read is a problem
 * there, and hurts no other. No folder is no records. */
void records_write_lines(const struct record_kind *kind, int state_fd, int proc_fd,
			 struct report *report);

/* The running kernel's boot id; "" if @proc_fd (-1: none) does not show it. */
void record_boot(int proc_fd, char ret_boot[RECORD_BOOT_SIZE]);

/* The same without a file. Read the text of the record of @name; NULL: of the name in the text,
 * which autoprobe_records do not have. ERR_INVALID, -EBADMSG, naming the member that is missing or
 * malformed. */
int record_parse(const struct record_kind *kind, const char *name, const char *text, size_t len,
		 void *ret_record, struct err *err);

/* May @record be written? ERR_INVALID, -EINVAL, naming the member. */
int record_check(const struct record_kind *kind, const void *record, struct err *err);

/* Append its text, with a newline. */
void record_format(const struct record_kind *kind, const void *record, struct str *out);

/* --- the kinds -------------------------------------------------------------------------------- */

/* Who has claimed a PCI function, and which driver it returns to: devices/<address>.json. */
extern const struct record_kind device_records;

struct device_record {
	char *address;
	char *claim;
	char *uid;
	char *driver; /* the passthrough driver                        */
	char *native; /* "": it had no driver; NULL: that is not known; @driver: somebody had put it
			 there before */
	char *override; /* driver_override before the first write; NULL: none */
	char *id;       /* "8086:10d3"                                   */
	char *serial;   /* NULL: it has none                             */
	char *release;  /* "none": a release leaves it without driver; NULL: it goes back */
	char *identity; /* base/device_identity.h; NULL: nothing is known */
	char *boot;  /* as earlier versions wrote it, of the first writing; NULL: not known or not
			theirs */
	char *bound; /* boot id of the kernel under which it was bound last; NULL: not known */
};

void device_record_done(struct device_record *record);

#define auto_device_record __attribute__((cleanup(device_record_done)))

/*
 * That hostdev creates, or has created, a mediated device: mdevs/<uuid>.json. What has none,
 * hostdev does not remove. It holds for one boot: no instance outlives that.
 */
extern const struct record_kind mdev_records;

struct mdev_record {
	char *uuid;
	char *parent;
	char *type;
	char *owner; /* the part that created it: "types", ... */
	char *boot;  /* boot id of the kernel that has the instance; NULL: not known      */
};

void mdev_record_done(struct mdev_record *record);

#define auto_mdev_record __attribute__((cleanup(mdev_record_done)))

/*
 * That sriov_drivers_autoprobe of a physical function was switched for its virtual functions, and
 * what it was: autoprobe/<address>. Removed after it was put back, when the last of them is gone.
 * It holds for one boot, which begins with autoprobe on.
 */
extern const struct record_kind autoprobe_records;

struct autoprobe_record {
	char *address;
	char *was;  /* "on", "off"         */
	char *boot; /* "": it was not known */
};

void autoprobe_record_done(struct autoprobe_record *record);

#define auto_autoprobe_record __attribute__((cleanup(autoprobe_record_done)))
