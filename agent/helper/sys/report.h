/*
 * report: the output of one run, as JSON lines kept in memory until the end.
 *
 * Facts and problems are kept apart, so that facts come out in the order of the devices whatever
 * fails in between, and a device that turns out to be gone takes its problems with it.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "base/str.h"

struct report {
	struct str lines;
	struct str problems;
	struct err failure; /* why the run as a whole found nothing out; code 0: it did */
};

/* Begin a line {"kind":"@kind" and end it; members are written between the two with json_write. */
void report_open(struct str *lines, const char *kind);
void report_close(struct str *lines);

/*
 * Note that @attribute of @device (a PCI address, a USB port name, or a path where no device is
 * concerned) is wrong or cannot be read, and what a person should know about it.
 */
void report_problem(struct report *report, const char *device, const char *attribute,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Note that the run as a whole has failed because of @err; the first cause stays. For lists that
 * could not be read, which are not empty lists. */
void report_fail(struct report *report, const struct err *err);

/* Forget the problems noted since problems.len was @mark. */
void report_rewind(struct report *report, size_t mark);

/* Write all lines to @fd, the problems behind the facts; of a run that has failed one line instead,
 * {"kind":"failed","message":...}. After an error a part may be written. */
int report_print(struct report *report, int fd, struct err *err);

void report_done(struct report *report);
