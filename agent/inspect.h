/* inspect: `hostdev-agent inspect`: prints the objects that the agent would apply, without a
 * cluster. */
#pragma once

#include "agent/monitor/scan.h"
#include "text/out.h"

struct err;

/* Scan once and print to standard output. Runs a loop of its own until it is done. */
int inspect_run(const struct scan_options *options, enum out_format format, struct err *err);
