/* mdev_job: what mdev-create and mdev-remove are asked for, from the words of the command line. */
#pragma once

#include <stddef.h>

struct err;

enum { MDEV_JOB_MAX = 1024 }; /* instances of one job */

/* The texts are the words'. */
struct mdev_job {
	const char *parent;
	const char *type; /* NULL: not given, as in a removal */
	const char *owner;
	const char **items; /* UUIDs, none twice */
	size_t len;
	size_t cap;
};

/* @words end in NULL. ERR_INVALID, -EINVAL, naming the word. The caller calls mdev_job_done() after 0. */
int mdev_job_parse(char **words, struct mdev_job *ret_job, struct err *err);
void mdev_job_done(struct mdev_job *job);
