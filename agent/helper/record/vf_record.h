/*
 * vf_record: the durable word that sriov_drivers_autoprobe of one physical function was switched
 * for its virtual functions, and what it was. One file, autoprobe/<address> in the state directory,
 * written before the switch and removed after it was put back, when the last of them is gone. It
 * holds for one boot, which begins with autoprobe on.
 */
#pragma once

#include <stdbool.h>

struct err;
struct report;

/* What vf_record_read() finds besides a record. */
enum { VF_RECORD_ABSENT = 1 };

/* Was it on? 0, VF_RECORD_ABSENT (also for one of another boot, or that says nothing useful), or <
 * 0 with @err. @proc_fd -1: none. */
int vf_record_read(int state_fd, int proc_fd, const char *address, bool *ret_on, struct err *err);

int vf_record_write(int state_fd, int proc_fd, const char *address, bool on, struct err *err);

/* Remove it for good; that there is none is fine. */
int vf_record_remove(int state_fd, const char *address, struct err *err);

/* Append a line {"kind":"autoprobe","address":...} for each record of this boot to @report. */
void vf_records_write_lines(int state_fd, int proc_fd, struct report *report);
