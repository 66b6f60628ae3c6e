/*
 * record: the durable intent for one PCI function: who claimed it, and which driver it goes back to.
 * One file, devices/<address>.json in the state directory, written before the first write to sysfs.
 */
#pragma once

struct err;
struct report;

enum {
	RECORDS_MAX = 4096, /* more fail the scan */
};

/* Owns its texts. */
struct record {
	char *address;
	char *claim;
	char *uid;
	char *driver; /* the passthrough driver                        */
	char *native; /* "": it had no driver; NULL: that is not known; @driver: somebody had put it there before */
	char *override; /* driver_override before the first write; NULL: none */
	char *id;       /* "8086:10d3"                                   */
	char *serial;   /* NULL: it has none                             */
	char *release;  /* "none": a release leaves it without driver; NULL: it goes back */
	char *identity; /* base/device_identity.h; NULL: nothing is known */
	char *boot; /* as earlier versions wrote it, of the first writing; NULL: not known or not theirs */
	char *bound; /* boot id of the kernel under which it was bound last; NULL: not known */
};

/* What record_read() finds besides a record. */
enum { RECORD_ABSENT = 1 };

/*
 * Read the record of the function @address below @state_fd. 0, RECORD_ABSENT, or < 0: ERR_INVALID
 * with -EBADMSG if the file is no record of this function. The caller calls record_done() after 0.
 */
int record_read(int state_fd, const char *address, struct record *ret_record, struct err *err);

/* Make the file say what @record says, and last through a power cut. Nothing is written if it says
 * so already. */
int record_write(int state_fd, const struct record *record, struct err *err);

/* Remove the record of @address for good; that there is none is fine. */
int record_remove(int state_fd, const char *address, struct err *err);

void record_done(struct record *record);

#define auto_record __attribute__((cleanup(record_done)))

/* Append one line for each record to @report, by address. A record that cannot be read is a problem
 * there, and hurts no other. No folder is no records. */
void records_write_lines(int state_fd, int proc_fd, struct report *report);
