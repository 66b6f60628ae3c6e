/*
 * uninstall: releases all devices: deletes the HostDeviceConfig and all claims, and waits until the
 * agents have finished. Removes our finalizer from claims whose node is gone.
 *
 * The agents must still run, because only they can bind devices back to their drivers. Prints what
 * it waits for on standard output.
 */
#pragma once

#include <stdint.h>

struct clock;
struct err;
struct kube_client;
struct program;
struct uninstall;

enum { UNINSTALL_LISTED = 8 }; /* claims listed in one line */

/* Borrowed; must outlive the object. */
struct uninstall_deps {
	struct kube_client *client;
	struct clock *clock;
	uint64_t timeout_ms; /* 0: none */
	/* One or more lines for people, without the last newline. */
	void (*on_line)(void *arg, const char *line);
	/* It has ended, called once: 0 when all devices are released, 1 if the time has passed or,
	 * with the cause in @err (else NULL), the HostDeviceConfig could not be deleted. Must not
	 * free the object. */
	void (*on_end)(void *arg, int status, const struct err *err);
	void *arg;
};

/* No callback runs before this has returned. */
struct uninstall *uninstall_new(const struct uninstall_deps *deps);
/* Takes NULL, returns NULL. */
struct uninstall *uninstall_free(struct uninstall *un);

/* Do it as a program: prints on standard output, runs the loop, and returns the exit status: that
 * of on_end(), or 1 if it was interrupted. */
int uninstall_run(struct program *program, uint64_t timeout_ms);
