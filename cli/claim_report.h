/* claim_report: what `claim` and `release` print of each claim in the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/claim_wait.h"
#include "cli/command.h"

struct out;

struct claim_report {
	enum claim_goal goal;
	enum command_dry_run dry_run;
	bool waited; /* only what has reached the goal is printed */
	const struct claim_wait *waits;
	size_t len;
};

/* Lines, names or objects, as @out says, to standard output. False: that failed, and was told. */
bool claim_report_print(const struct claim_report *report, struct out *out);
