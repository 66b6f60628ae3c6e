/*
 * mdev_line: what hostdev-helper says in the course of making or removing instances, put together to the
 * outcome.
 *
 * No I/O. A line that cannot be read is passed over; the "end" line alone says how it went, and without
 * one the helper has failed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;

/* Texts are NULL where there is nothing to say. */
struct mdev_outcome {
	bool done;     /* all that was asked for is as it should be */
	bool held;     /* somebody uses an instance; it was left alone, and the others are done */
	char *reason;  /* CamelCase */
	char *message; /* for a person */
	char *uuid;    /* of the instance concerned */
	size_t count;  /* instances that are as they should be */
	bool removes;  /* they were to be removed; else made */
};

struct mdev_lines {
	struct mdev_outcome outcome;
	char *step; /* under way, as told last */
	bool ended;
};

/* Take one line of the helper. */
void mdev_lines_take(struct mdev_lines *lines, const char *line, size_t len);

/* No more lines come: the helper @pid (0: it was not started) has ended as helper_run says; @err is looked
 * at if @result < 0. */
void mdev_lines_end(struct mdev_lines *lines, int pid, int result, const struct err *err);

void mdev_lines_done(struct mdev_lines *lines);
