/*
 * look: keeps a fresh inventory: hears of changes, decides when to look again, and looks.
 *
 * Ties rescan, uevents, host_watch and scan together. Knows nothing of the API server.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/look/scan.h"

struct look;
struct metrics;
struct str;
struct uv_loop_s;

struct look_options {
	struct scan_options scan;
	uint64_t interval_ms; /* a scan at least this often, whatever was heard; 0: never */
};

/* What a scan found; @inventory is the receiver's. NULL with @err: the last scan failed, and another
 * will follow. Never runs before look_new() has returned. */
typedef void look_fn(void *arg, struct inventory *inventory, const struct err *err);

/* The first scan starts at once. @options is copied, its texts are borrowed; so is @metrics, which
 * may be NULL. */
struct look *look_new(struct uv_loop_s *loop, const struct look_options *options,
		      struct metrics *metrics, look_fn *fn, void *arg);
/* Takes NULL, returns NULL. */
struct look *look_free(struct look *look);

/* Call @fn with the results of scans from now on. For a part that takes over a look from another one. */
void look_give(struct look *look, look_fn *fn, void *arg);

/* Was everything that has been heard of looked at by the last scan? */
bool look_is_settled(const struct look *look);

/* Could the last scan see what the host uses? False: @reason (may be NULL) gets what hides it. Devices are
 * listed all the same, and those that the host may use are refused. */
bool look_sees_host(const struct look *look, struct str *reason);

/* Devices are on other drivers now: look again soon, whether or not uevents tell of it. */
void look_again(struct look *look);

/* Call @heard at each uevent of a device, before the scan that follows. */
void look_listen(struct look *look, void (*heard)(void *arg), void *arg);

/* The address by which the node is known; looks again if it is a new one. */
void look_set_node_address(struct look *look, const char *address);
