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
	USE_CONSOLE,         /* the machine's console is on its screen or its serial port        */
	USE_MOUNTED,         /* another filesystem on it is mounted                              */
	USE_BLOCK_HOLDER,    /* part of a volume or array that is not mounted                    */
	USE_INTERFACE_UP,    /* its interface is up and has an address, or is part of a bond ... */
	USE_INTERFACE_MOVED, /* its interface is in another network namespace, such as a pod's   */
	USE_UNKNOWN,         /* it may be in use, and nothing readable shows more */
};

/* What a device's use follows from. Without an answer, devices of the classes in question are not
 * free: a check that cannot read refuses. */
enum use_question {
	USE_ASK_MOUNTS,       /* what is mounted?                                        */
	USE_ASK_SWAPS,        /* what does the kernel swap to?                           */
	USE_ASK_DISKS,        /* which block devices are there, on which others?         */
	USE_ASK_HOST_FOLDER,  /* which device holds a folder that the node needs?        */
	USE_ASK_MEMBERS,      /* which disks is a pool or a virtual disk made of?        */
	USE_ASK_ROUTES,       /* where do routes lead?                                   */
	USE_ASK_INTERFACES,   /* which interfaces are there, on which others?            */
	USE_ASK_NODE_ADDRESS, /* which interface has the node's address?                 */
	USE_ASK_SERVER,       /* which interface leads to the server of a filesystem?    */
	USE_ASK_CONSOLE,      /* which screen and which port is the console on?          */
	USE_QUESTIONS,
};
/* clang-format on */

/* One fact: a device, a reason, and one sentence for people. */
struct use {
	struct devpath device;
	enum use_reason reason;
	char *subject; /* the disk or interface concerned */
	char *detail;
};

/* A question without an answer, and why. */
struct use_unknown {
	enum use_question question;
	char *detail;
};

struct uses {
	struct use *items;
	size_t len;
	size_t cap;
	struct {
		struct use_unknown *items;
		size_t len;
		size_t cap;
	} unknown;
};

/* Add a fact; the first one about the same device, reason and subject stays. Takes @detail. */
void uses_add(struct uses *uses, const struct devpath *device, enum use_reason reason,
	      const char *subject, char *detail);

/* Is there a fact about @subject of @device for this reason? @subject NULL: any. */
bool uses_has(const struct uses *uses, const struct devpath *device, enum use_reason reason,
	      const char *subject);

/* Note that @question has no answer, for @detail, which is taken. The first one with the same text
 * stays. */
void uses_add_unknown(struct uses *uses, enum use_question question, char *detail);

/* Why it is not known whether the host uses a function of class @class_id (six digits, -1: it could
 * not be read, so nothing is known); NULL: all that has to do with such functions is known. */
const char *uses_unknown_for(const struct uses *uses, int class_id);

/* Append one line per fact and per question without an answer to @lines, in an order that depends
 * on these only. */
void uses_write(struct uses *uses, struct str *lines);
void uses_done(struct uses *uses);
