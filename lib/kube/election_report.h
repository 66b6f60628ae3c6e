/* election_report: what an election goes through, as metrics and lines in the log. */
#pragma once

#include <stdbool.h>

struct err;
struct metric;
struct metrics;

struct election_report {
	const char *lease; /* borrowed, as is the next */
	const char *identity;
	int told; /* the code of the trouble that the log told last; 0 while all is well */
	struct metric *leading;
	struct metric *changes;
};

void election_report_init(struct election_report *report, struct metrics *metrics,
			  const char *lease, const char *identity);

/* We begin or cease to lead. */
void election_report_leads(const struct election_report *report, bool leads);

/* Requests for the Lease ended: well if @err is NULL, else @what is the line to log. A trouble that stays is told once. That
 * another replica was quicker is none. */
void election_report_end(struct election_report *report, const char *what, const struct err *err);
