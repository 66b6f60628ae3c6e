/*
 * mdev_record: the durable word that hostdev makes, or has made, one mediated device. One file,
 * mdevs/<uuid>.json in the state directory, written before the instance and removed after it.
 *
 * What it does not name, hostdev does not remove. It holds for one boot: no instance outlives that.
 */
#pragma once

#include <stdbool.h>

#include "agent/helper/record/mdev.h"

struct err;
struct report;

enum { MDEV_RECORDS_MAX = 8192 }; /* more fail the scan */

/* "" where it is not known. */
struct mdev_record {
	char uuid[37];
	char parent[MDEV_NAME_SIZE];
	char type[MDEV_NAME_SIZE];
	char owner[64]; /* on whose behalf: "types", ... */
	char boot[64];  /* boot id of the kernel that has the instance */
};

/* What mdev_record_read() finds besides a record. */
enum { MDEV_RECORD_ABSENT = 1 };

/* The record of @uuid: 0, MDEV_RECORD_ABSENT, or < 0: ERR_INVALID with -EBADMSG if the file is no record
 * of this instance. */
int mdev_record_read(int state_fd, const char *uuid, struct mdev_record *ret_record,
		     struct err *err);

/* Make the file say what @record says, and last. */
int mdev_record_write(int state_fd, const struct mdev_record *record, struct err *err);

/* Remove it for good; that there is none is fine. */
int mdev_record_remove(int state_fd, const char *uuid, struct err *err);

/* The running kernel's boot id; "" if @proc_fd (-1: none) does not tell. */
void mdev_record_boot(int proc_fd, char ret_boot[64]);

/* Is the instance @seen the one that @record is about, under the kernel @boot? */
bool mdev_record_owns(const struct mdev_record *record, const struct mdev_seen *seen,
		      const char *boot);

/* Append one line for each record to @report, by UUID. A record that cannot be read is a problem there,
 * and hurts no other. */
void mdev_records_write_lines(int state_fd, int proc_fd, struct report *report);
