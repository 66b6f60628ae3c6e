/*
 * monitor: keeps the inventory up to date: it follows changes in the kernel, decides when to scan,
 * and scans. Connects rescan, uevent, host_watch and scan. Does not use the API server.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/monitor/scan.h"

struct facts;
struct monitor;
struct metrics;
struct str;
struct uv_loop_s;

struct monitor_options {
	struct scan_options scan;
	uint64_t interval_ms; /* a scan at least this often, also without changes; 0: never */
};

/* What a scan found; @inventory is the receiver's. NULL with @err: the last scan failed, and
 * another will follow. Never runs before monitor_new() has returned. */
typedef void monitor_fn(void *arg, struct inventory *inventory, const struct err *err);

/* The first scan starts at once. @options is copied, its texts are borrowed; so is @metrics, which
 * may be NULL. */
struct monitor *monitor_new(struct uv_loop_s *loop, const struct monitor_options *options,
			    struct metrics *metrics, monitor_fn *fn, void *arg);
/* Takes NULL, returns NULL. */
struct monitor *monitor_free(struct monitor *monitor);

/* Call @fn with the results of scans from now on. For a part that takes over a monitor from another
 * one. */
void monitor_give(struct monitor *monitor, monitor_fn *fn, void *arg);

/* Did the last scan begin after all changes that are known? */
bool monitor_is_settled(const struct monitor *monitor);

/* Could the last scan see what the host uses? False: @reason (may be NULL) says what hides it.
 * Devices are listed nevertheless, and those that the host may use are refused. */
bool monitor_sees_host(const struct monitor *monitor, struct str *reason);

/* Devices are on other drivers now: scan soon, whether or not a uevent reports it. */
void monitor_scan_again(struct monitor *monitor);

/* As scan_listen(). */
void monitor_listen_early(struct monitor *monitor,
			  void (*read)(void *arg, const struct facts *facts), void *arg);

/* Call @heard at each uevent of a device, before the scan that follows. */
void monitor_listen(struct monitor *monitor, void (*heard)(void *arg), void *arg);

/* Set the node's address; a new one causes a scan. */
void monitor_set_node_address(struct monitor *monitor, const char *address);
