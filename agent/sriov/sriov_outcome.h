/*
 * sriov_outcome: what a run of hostdev-helper vfs says, put together to one outcome. No I/O, and
 * nothing that the helper prints is believed unseen: texts are cleaned and cut.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct err;

/* Texts are its own. */
struct sriov_outcome {
	bool done;     /* all is as it was wanted                              */
	bool refused;  /* nothing was changed, and by itself it will not go on */
	bool held;     /* somebody uses a virtual function                     */
	char *reason;  /* CamelCase, for a condition; NULL when done           */
	char *message; /* for a person; never NULL                             */
};

struct sriov_lines {
	char *step; /* under way, as told last; NULL: before the first */
	struct sriov_outcome outcome;
	bool ended; /* by an "end" line */
};

void sriov_lines_done(struct sriov_lines *lines);
void sriov_lines_take(struct sriov_lines *lines, const char *line, size_t len);

/* No more lines come: the helper has ended as helper_run says. *@ret_outcome is the caller's. */
void sriov_lines_end(struct sriov_lines *lines, int result, const struct err *err,
		     struct sriov_outcome *ret_outcome);
void sriov_outcome_done(struct sriov_outcome *outcome);
