/*
 * host_state: what the host's mounts and routes were when they were last read, so that a change
 * that no scan would show is not taken for one that matters.
 *
 * It has no rules of its own: mounts and routes are read by the parsers of the helper
 * (agent/helper/scan), and the result is compared by a checksum. In doubt they differ: text that
 * cannot be read, or is beyond its limit, has changed.
 */
#pragma once

#include <stdbool.h>

struct host_state;

/* Read both for the first time: below <proc_root>/1, and whose interfaces they are below
 * <sysfs_root>/class/net. */
struct host_state *host_state_new(const char *proc_root, const char *sysfs_root);
struct host_state *host_state_free(struct host_state *state); /* takes NULL, returns NULL */

/* Read the mounts of process 1 again: may a scan find other disks in use than at the last reading
 * (host_mounts_sum())? */
bool host_state_mounts_differ(struct host_state *state);

/*
 * Read the routes again: may a scan find other interfaces in use?
 *
 * They are those that the helper sees, in an order that does not matter. Through an interface that
 * is on no hardware and on no other interface, such as the host's end of a pod's veth pair, some do
 * not count:
 *
 * - the link-local and the multicast ones of IPv6, which each interface that is up has. The helper
 *   ignores these routes; on hardware they count, because they appear when it comes up.
 * - those to a single address, but for its own. Only a disk on a server in that pod would follow
 *   such a route; it is found at the next scan.
 *
 * Addresses are in them as far as the helper sees addresses.
 */
bool host_state_routes_differ(struct host_state *state);
