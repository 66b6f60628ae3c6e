/*
 * gpu_outcome: what an act came to, by what hostdev-helper or a vendor's command printed. No I/O, and
 * nothing that they print is believed unseen: texts are cleaned and cut.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/gpu/gpu_step.h"
#include "base/str.h"

struct err;

enum { GPU_MESSAGE_MAX = 400 };

/* Texts are its own. */
struct gpu_outcome {
	bool failed;
	bool busy;     /* somebody is in the way: soon again is not too soon         */
	char *reason;  /* CamelCase, of those that the kinds' schemas explain; NULL when done */
	char *message; /* NULL when done                                            */
};

struct gpu_lines {
	bool ended; /* by an "end" line of the helper */
	struct gpu_outcome outcome;
	char *holder;
	struct str text; /* the first lines of a command, clean */
};

void gpu_lines_done(struct gpu_lines *lines);

/* A line of hostdev-helper; of a vendor's command. */
void gpu_lines_take_helper(struct gpu_lines *lines, const char *line, size_t len);
void gpu_lines_take_tool(struct gpu_lines *lines, const char *line, size_t len);

/*
 * No more lines come: the program has ended as helper_run says. @tool: the vendor's command, NULL: it was the
 * helper. *@ret_outcome is the caller's.
 */
void gpu_lines_end(struct gpu_lines *lines, enum gpu_verb verb, const char *tool, int result,
		   const struct err *err, struct gpu_outcome *ret_outcome);
void gpu_outcome_done(struct gpu_outcome *outcome);
