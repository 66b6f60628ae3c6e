/*
 * mdev_change: makes mediated devices on one parent, and removes those that hostdev has made.
 *
 * Looks before every step and remembers no progress. The record of an instance is written before it
 * is made, and goes after it: what was cut off anywhere is known as ours. Every write is read back.
 */
#pragma once

#include <stddef.h>

struct err;
struct run_options;

enum { MDEV_JOB_MAX = 1024 }; /* instances of one job */

/* What mdev-create and mdev-remove are asked for. The texts are the words'. */
struct mdev_job {
	const char *parent;
	const char *type; /* NULL: not set, as in a removal */
	const char *owner;
	const char **items; /* UUIDs, none twice */
	size_t len;
	size_t cap;
};

/* @words end in NULL. ERR_INVALID, -EINVAL, naming the word. The caller calls mdev_job_done() after
 * 0. */
int mdev_job_parse(char **words, struct mdev_job *ret_job, struct err *err);
void mdev_job_done(struct mdev_job *job);

/*
 * Create the missing instances of @job, and stop at the first failure. Returns 0 for every result,
 * which the last line reports; < 0 if lines could not be written.
 */
int mdev_create(const struct run_options *options, const struct mdev_job *job, struct err *err);

/*
 * Remove the instances of @job that its owner created and that have no holder. The others stay, and
 * the last line names the first of them. If the instance of a record is gone or has another
 * creator, only the record is removed.
 */
int mdev_remove(const struct run_options *options, const struct mdev_job *job, struct err *err);
