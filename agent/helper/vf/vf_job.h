/*
 * vf_job: what one run of the verb vfs is about: one physical function and what is wanted of its
 * virtual ones, from the words of the command line. No I/O.
 */
#pragma once

#include <stddef.h>

#include "agent/helper/vf/vf_setting.h"

struct err;

enum { VF_JOB_MAX = 1024 }; /* virtual functions with settings */

/* The texts point into the words. */
struct vf_job {
	const char *address;         /* of the physical function              */
	const char *id;              /* "8086:10c9"                           */
	const char *serial;          /* NULL: not known                       */
	int count;                   /* -1: as many as there are              */
	int autoprobe;               /* 1: drivers take them as they are made */
	struct vf_settings settings; /* by rising index               */
};

/*
 * Read @words (key=value, ends in NULL); "vf=" begins the settings of one virtual function, the
 * words behind it are about it. The words are borrowed for the life of the job. address and id must
 * be there. Errors (ERR_INVALID, -EINVAL) name the word, and leave @ret_job alone.
 */
int vf_job_parse(char **words, struct vf_job *ret_job, struct err *err);
void vf_job_done(struct vf_job *job);
