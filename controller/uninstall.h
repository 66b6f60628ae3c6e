/*
 * uninstall: releases all devices: deletes the HostDeviceConfig and all claims, and waits until the
 * agents have finished. Removes our finalizer from claims whose node is gone.
 *
 * The agents must still run, because only they can bind devices back to their drivers. Prints what
 * it waits for on standard output.
 */
#pragma once

#include <stdint.h>

struct program;

enum { UNINSTALL_LISTED = 8 }; /* claims listed in one line */

/* Runs the loop and returns the exit status: 0 when all devices are released, 1 if @timeout_ms
 * (0: none) has passed or it was interrupted. */
int uninstall_run(struct program *program, uint64_t timeout_ms);
