/*
 * netlinks: the network interfaces of a PCI function or USB device, and those on top of them:
 * bonds, teams, bridges, VLANs, MACVLANs and Open vSwitch.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/helper/sys/devpath.h"

struct netlinks;

/* Look at the interfaces below @sysfs_fd, which is borrowed for the call. One that the kernel is
 * taking away is none any more. */
struct netlinks *netlinks_new(int sysfs_fd);
struct netlinks *netlinks_free(struct netlinks *links); /* takes NULL, returns NULL */

/* The first malformed text: an interface that seems to be down may be up. NULL: none. */
const char *netlinks_malformed(const struct netlinks *links);

/* There is no interface at all. A kernel with networking always has the loopback. */
bool netlinks_is_empty(const struct netlinks *links);

/* The interfaces of hardware, by number. */
size_t netlinks_len(const struct netlinks *links);
const char *netlinks_name(const struct netlinks *links, size_t link);
const struct devpath *netlinks_device(const struct netlinks *links, size_t link);

/* An interface on top of @link, NULL if there is none. */
const char *netlinks_upper(const struct netlinks *links, size_t link);
bool netlinks_is_up(const struct netlinks *links, size_t link);
/* Up, and its cable or radio is not known to be unconnected. */
bool netlinks_is_connected(const struct netlinks *links, size_t link);
/* Up, and connected now or at some time since its driver has it. */
bool netlinks_was_connected(const struct netlinks *links, size_t link);

/* Does the traffic of the interface @name go through this hardware? True for its own interfaces and
 * all on top of them. */
bool netlinks_carries(const struct netlinks *links, size_t link, const char *name);
