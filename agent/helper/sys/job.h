/*
 * job: what one run of a transition is about: the functions of an IOMMU group, from the words of
 * the command line. No I/O.
 */
#pragma once

#include <stddef.h>

struct err;

enum { JOB_FUNCTIONS_MAX = 1024 };

/* All texts point into the words. NULL: the word is not there. */
struct job_function {
	const char *address;  /* valid, in the kernel's lower case             */
	const char *id;       /* "8086:10d3"                                   */
	const char *serial;   /* "00-11-22-33-44-55-66-77"                     */
	const char *identity; /* base/device_identity.h                        */
	const char *native;   /* "": it had no driver; NULL: that is not known */
	const char *driver;   /* the passthrough driver                        */
	const char *claim;    /* the claim's name                              */
	const char *uid;      /* the claim's uid                               */
	const char *release;  /* "none": a release leaves it without driver    */
	/* "1": also where the agent cannot see whether the host uses it */
	const char *allow_unknown;
};

struct job {
	const char *group; /* a number, or "-": no group */
	struct job_function *items;
	size_t len;
	size_t cap;
};

/*
 * Read @words (key=value, ends in NULL); "address=" begins a function, the words behind it are
 * about it. @group and the words are borrowed for the life of the job. id, driver, claim and uid
 * must be there. Errors (ERR_INVALID, -EINVAL) name the word, and leave @ret_job alone.
 */
int job_parse(const char *group, char **words, struct job *ret_job, struct err *err);
void job_done(struct job *job);
