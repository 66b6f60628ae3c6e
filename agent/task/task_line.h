/*
 * task_line: the lines of one run of hostdev-helper, put together to its outcome. No I/O, and what
 * the helper prints is not trusted: texts are cleaned and cut.
 *
 * The "end" line has the result; without one the helper has failed. A helper that changes several
 * devices prints a "done" line for each one that is as requested.
 *
 * A vendor's command (a tool) prints text for people. Its exit status is the result, and the first
 * lines are the message if it has failed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct err;

enum task_result {
	TASK_NONE,    /* none is known                                         */
	TASK_DONE,    /* all is as it was requested                            */
	TASK_HELD,    /* a device was not changed: somebody uses it            */
	TASK_REFUSED, /* a device was not changed, and trying again is no help */
	TASK_FAILED,  /* something may have been changed                       */
	TASK_BUSY,    /* nothing was changed: another helper changes it        */
};

/* Texts are its own. */
struct task_outcome {
	enum task_result result;
	char *reason;  /* CamelCase, for a condition; NULL when done        */
	char *message; /* for a person; never NULL but for TASK_NONE        */
	char *uuid;    /* of the device that the reason is about; NULL: not known */
	size_t count;  /* devices for which a "done" line came              */
	char *exit;    /* "helper exited with status 2"; NULL: with 0, or it has not exited */
};

void task_outcome_done(struct task_outcome *outcome);

/* The message, after the UUID if there is one: "11111111-...: no space". The caller frees. */
char *task_outcome_text(const struct task_outcome *outcome);

/* {0} is: no line was read. */
struct task_lines {
	char *step; /* that the helper does now; NULL: before the first */
	struct task_outcome outcome;
	bool ended;      /* by an "end" line: what follows does not count */
	struct str text; /* of a tool, cut and clean; its lines are separated by "; " */
};

void task_lines_done(struct task_lines *lines);
/* Does the helper, as far as it has said, only look at devices? */
bool task_lines_looks(const struct task_lines *lines);
/* One line; what cannot be read is passed over. */
void task_lines_take(struct task_lines *lines, const char *line, size_t len);
/* One line of a tool. */
void task_lines_take_text(struct task_lines *lines, const char *line, size_t len);

/* The helper has ended as helper_run_start() says; @verb is what it was started for. The caller
 * releases *@ret_outcome. */
void task_lines_end(struct task_lines *lines, const char *verb, int result, const struct err *err,
		    struct task_outcome *ret_outcome);
/* Likewise, of @tool: TASK_DONE, or TASK_FAILED with ToolFailed. */
void task_lines_end_tool(struct task_lines *lines, const char *tool, int result,
			 const struct err *err, struct task_outcome *ret_outcome);

/* The program was not started: @err says why. TASK_REFUSED with HelperFailed, or of a @tool (NULL:
 * it is hostdev-helper) with ToolMissing or ToolFailed. The caller releases *@ret_outcome. */
void task_outcome_not_started(const char *tool, const struct err *err,
			      struct task_outcome *ret_outcome);
