/*
 * scan: one read of this node's devices: runs the helper, learns the names it does not know yet by
 * hostdev-names, and makes the inventory.
 *
 * Owns the helper run under way and the cache of names. Decides nothing about when to scan (rescan)
 * or what to write (publish).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/inventory/inventory.h"

struct err;
struct facts;
struct metrics;
struct scan;
struct uv_loop_s;

/* Copied, the texts borrowed. */
struct scan_options {
	struct inventory_options inventory;
	const char *helper_path; /* hostdev-names lies beside it */
	const char *sysfs_root;  /* NULL: /sys  */
	const char *proc_root;   /* NULL: /proc */
	const char *dev_root;    /* NULL: /dev  */
	const char *state_dir;   /* NULL: no records are looked for */
	bool drm;                /* look at the GPUs of AMD and Intel */
	const char *pci_ids;     /* NULL: the usual places */
	const char *usb_ids;
	uint64_t deadline_ms;
	struct metrics *metrics; /* of the helpers; may be NULL */
};

/* The result of a scan. @inventory is the receiver's; NULL with @err if the scan failed. */
typedef void scan_done_fn(void *arg, struct inventory *inventory, const struct err *err);

struct scan *scan_new(struct uv_loop_s *loop, const struct scan_options *options,
		      scan_done_fn *done, void *arg);
/* Takes NULL, returns NULL. A helper under way is abandoned. */
struct scan *scan_free(struct scan *scan);

/* Call @read in each scan that has to look up names, before it does: for those that need none. What
 * it is given is valid during the call. */
void scan_listen(struct scan *scan, void (*read)(void *arg, const struct facts *facts), void *arg);

/* The address by which the node is known (its InternalIP), copied; NULL: not known. */
void scan_set_node_address(struct scan *scan, const char *address);

/* Start a scan; none may be under way. @done runs exactly once, never before this returns. */
void scan_start(struct scan *scan);
