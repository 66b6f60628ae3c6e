/* claim_report: prints the results of `claim` and `release`. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "cli/claim_wait.h"
#include "cli/command.h"

struct out;

struct claim_report {
	enum claim_goal goal;
	enum command_dry_run dry_run;
	bool waited; /* only claims that have reached the goal are printed */
	const struct claim_wait *waits;
	size_t len;
};

/* Print lines, names or objects, as @out says. False: writing failed, which has been reported. */
bool claim_report_print(const struct claim_report *report, struct out *out);
