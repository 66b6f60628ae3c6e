/*
 * binder_line: what a hostdev-helper says in the course of a transition, put together to the outcome.
 *
 * No I/O, and nothing that the helper prints is believed unseen: what is no text for a condition or a
 * log line is cleaned and cut, and a line that cannot be read is passed over. The "end" line alone
 * says how it went; without one, the helper has failed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/binder/binder.h"

struct err;

struct binder_lines {
	enum binder_verb verb;
	char *step;    /* under way, as told last; NULL: before the first */
	char *address; /* of that step                                    */

	struct binder_outcome outcome;
	struct json_strs holders; /* each one once, in words     */
	bool ended;               /* by an "end" line            */
	char *garbage;            /* the first thing not understood */
};

void binder_lines_init(struct binder_lines *lines, enum binder_verb verb);
void binder_lines_done(struct binder_lines *lines);

/* Take one line of the helper. */
void binder_lines_take(struct binder_lines *lines, const char *line, size_t len);

/* No helper was started, because the helper @pid moves the group already. */
void binder_lines_busy(struct binder_lines *lines, int pid);

/*
 * No more lines come: the helper (@pid, 0: it was not started) has ended as helper_run says (@err is
 * looked at if @result < 0), after @took_ms. *@ret_outcome is the caller's to release (binder_outcome_done); @lines keeps
 * the step.
 */
void binder_lines_end(struct binder_lines *lines, int pid, uint64_t took_ms, int result,
		      const struct err *err, struct binder_outcome *ret_outcome);
