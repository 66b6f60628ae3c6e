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
#include <stdint.h>

#include "api/json_map.h"

#include "base/str.h"

struct err;

/* Append the word "KEY=VALUE" to a command line of the helper. */
void task_words_add(struct json_strs *words, const char *key, const char *value);

enum task_result {
	TASK_NONE,    /* none is known                                         */
	TASK_DONE,    /* all is as it was requested                            */
	TASK_HELD,    /* a device was not changed: somebody uses it            */
	TASK_REFUSED, /* a device was not changed, and trying again is no help */
	TASK_FAILED,  /* something may have been changed                       */
	TASK_BUSY,    /* nothing was changed: another helper changes it        */
	TASK_STUCK,   /* its helper is past the deadline; no helper says so    */
};

/* "Done", "Held", "Refused", "Failed", "Busy", "Stuck"; "None". */
const char *task_result_text(enum task_result result);

/* Texts are its own. */
struct task_outcome {
	enum task_result result;
	char *reason;       /* CamelCase, for a condition; NULL when done        */
	char *message;      /* for a person; never NULL but for TASK_NONE        */
	char *uuid;         /* of the device that the reason is about; NULL: not known */
	char *address;      /* of the PCI function that it is about; NULL: not known, or all */
	char *step;         /* where it ended; NULL when done, or before any     */
	char *error_name;   /* "EBUSY", as the kernel said; NULL: no such error  */
	char *holder;       /* "process 7 (qemu) of pod a/b and 2 more"; NULL: none */
	int holder_pid;     /* of the first holder; BUSY, STUCK: of the helper; 0: none */
	uint64_t kernel_us; /* inside the kernel, of all writes                */
	uint64_t helper_us; /* of the helper, from main to end                 */
	size_t count;       /* devices for which a "done" line came            */
	bool died;          /* the helper has ended without an "end" line      */
	char *exit;         /* "helper exited with status 2"; NULL: with 0, or it has not exited */
};

void task_outcome_done(struct task_outcome *outcome);

/* Make @to (uninitialised, or holding nothing) a deep copy of @from. */
void task_outcome_copy(struct task_outcome *to, const struct task_outcome *from);

/* The message, after the UUID if there is one: "11111111-...: no space". The caller frees. */
char *task_outcome_text(const struct task_outcome *outcome);

/* {0} is: no line was read. */
struct task_lines {
	char *step;    /* that the helper does now; NULL: before the first */
	char *address; /* of the function that the step is of; NULL: not known */
	struct task_outcome outcome;
	struct json_strs holders; /* each one once, in words                     */
	bool ended;               /* by an "end" line: what follows does not count */
	char *garbage;            /* the first line that cannot be read: why      */
	struct str text;          /* of a tool, cut and clean; its lines are separated by "; " */
};

void task_lines_done(struct task_lines *lines);
/* Does the helper, as far as it has said, only look at devices? */
bool task_lines_looks(const struct task_lines *lines);
/* One line; what cannot be read is passed over, and so is a kind that is not known. */
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
