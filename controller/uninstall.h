/*
 * uninstall: gives back everything that is lent: deletes the HostDeviceConfig and all claims, and waits
 * until the agents have carried that out. Takes our finalizers off claims whose node is gone.
 *
 * The agents must still run: who else could bind a device to its driver? Says on standard output what it
 * waits for.
 */
#pragma once

#include <stdint.h>

struct program;

enum { UNINSTALL_LISTED = 8 }; /* claims that are named in one line */

/* Runs the loop. The status to end with: 0 when nothing is lent any more, 1 when @timeout_ms was over first
 * (0: never), or when it was interrupted. */
int uninstall_run(struct program *program, uint64_t timeout_ms);
