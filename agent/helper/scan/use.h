/*
 * use: what the host itself uses a device for. The agent refuses or warns by the reason.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "agent/helper/sys/devpath.h"

struct str;

/* clang-format off */
enum use_reason {
	USE_HOST_FILESYSTEM, /* backs /, /boot, or a folder of the kubelet, the runtime or etcd  */
	USE_HOST_SWAP,       /* holds memory that was swapped out                                */
	USE_HOST_NETWORK,    /* the default route or the node's address goes through it          */
	USE_CONSOLE,         /* the kernel's console is on its screen                            */
	USE_MOUNTED,         /* another filesystem on it is mounted                              */
	USE_BLOCK_HOLDER,    /* part of a volume or array that is not mounted                    */
	USE_INTERFACE_UP,    /* its interface is up and has an address, or is part of a bond ... */
};
/* clang-format on */

/* One fact: this device, this reason, said for people in one sentence. */
struct use {
	struct devpath device;
	enum use_reason reason;
	char *subject; /* the disk or interface concerned */
	char *detail;
};

struct uses {
	struct use *items;
	size_t len;
	size_t cap;
};

/* Add a fact; the first one about the same device, reason and subject stays. Takes @detail. */
void uses_add(struct uses *uses, const struct devpath *device, enum use_reason reason,
	      const char *subject, char *detail);

/* Is there a fact about @subject of @device for this reason? @subject NULL: any. */
bool uses_has(const struct uses *uses, const struct devpath *device, enum use_reason reason,
	      const char *subject);

/* Append one line per fact to @lines, in an order that depends on the facts only. */
void uses_write(struct uses *uses, struct str *lines);
void uses_done(struct uses *uses);
