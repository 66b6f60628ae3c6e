/*
 * use_scan: finds out what the host itself needs of its devices, from its mounts, swap areas,
 * routes and links: the rules of "host-critical" are computed, never configured.
 */
#pragma once

#include "agent/helper/scan/block.h"
#include "agent/helper/scan/mounts.h"
#include "agent/helper/scan/routes.h"
#include "agent/helper/scan/use.h"

struct netlinks;
struct pci_function;
struct pci_functions;
struct report;
struct scan_options;

/* What has been read of the host; the collectors below add to @uses. */
struct use_scanner {
	int sysfs_fd;
	int proc_fd;              /* -1: there is none */
	int dev_fd;               /* -1: there is none */
	const char *node_address; /* NULL if not known */
	struct mounts mounts;     /* of process 1 */
	struct mounts others; /* what other mount namespaces have besides, that may be on a disk */
	struct swaps swaps;
	struct routes routes;
	char *other_default; /* a routing table other than main with a default route, or NULL    */
	struct blocks *blocks;
	struct block_set mounted;  /* disks whose mounts were reported */
	struct block_set in_sight; /* disks whose filesystems are mounted in a visible place */
	struct block_set used;     /* all disks below mounts and swap, at all levels */
	struct netlinks *links;
	struct uses uses;
	struct report *report;
};

/* Why something is in use: "<disk> <why>", such as "dm-0 is mounted at /". */
struct use_cause {
	enum use_reason reason;
	const char *why;
};

/* Append what use_collect() needs to know of the function @address. */
void use_add_function(int sysfs_fd, const char *address, struct pci_functions *functions);

/* Find the facts about all devices; for @functions, also the console and interfaces in other
 * network namespaces. What could not be read is in @ret_uses too. Oddities that hide nothing become
 * problems in @report. The caller calls uses_done(). */
void use_collect(const struct scan_options *options, const struct pci_functions *functions,
		 struct report *report, struct uses *ret_uses);

/* Append the facts about all devices to @report. */
void use_scan(const struct scan_options *options, const struct pci_functions *functions,
	      struct report *report);

/* A file of the proc tree is not there: the kernel has no such thing, unless it shows a part of its
 * tree only. Then @question has no answer. */
void use_check_proc(struct use_scanner *scanner, enum use_question question);

typedef bool use_wants_fn(const struct use_scanner *scanner, const struct mount *mount);

/* use_namespaces.c: append to @scanner->others the mounts that @wants accepts of the mount
 * namespaces of all processes, such as those of containers, which process 1 does not have. A
 * namespace without a process is not visible. */
void use_namespaces_read(struct use_scanner *scanner, use_wants_fn *wants);

/* use_storage.c: filesystems, swap, volumes. */
void use_storage_collect(struct use_scanner *scanner);

/* use_locks.c: add to @ret_set the disks that a process holds a lock of. */
void use_locks_disks(struct use_scanner *scanner, struct block_set *ret_set);

/* use_network.c: routes, the node's address, interfaces that are up or in another namespace. */
void use_network_collect(struct use_scanner *scanner, const struct pci_functions *functions);

/* Add @reason to the interfaces that lead to the server @address, because of @what ("/ is mounted
 * from 10.0.0.5"). */
void use_network_add_server(struct use_scanner *scanner, const char *address,
			    enum use_reason reason, const char *what);

/* The kernel links a driver to its device before the driver's probe() registers an interface
 * (really_probe() of drivers/base/dd.c). Wait for an interface if @function is a network card whose
 * driver shows none. False: none after 3 s. */
bool use_network_await(int sysfs_fd, const struct pci_function *function);

/* Explain why the users of the network card @function are not visible; NULL: its driver shows an
 * interface, or what else uses it. Call it before an unbind only: a driver also shows nothing while
 * it binds a card. The caller frees. */
char *use_network_unseen(int sysfs_fd, const struct pci_function *function);

/* use_console.c: the console's screen, of @functions or another's, and its ports. */
void use_console_collect(struct use_scanner *scanner, const struct pci_functions *functions);

/* use_served.c: add the virtio devices that serve @mount, a 9p or virtiofs; false if there are
 * none. Virtiofs does not show its device, so all of them count. */
bool use_served_add(struct use_scanner *scanner, const struct mount *mount,
		    const struct use_cause *cause);

/* The layers of an overlay may be on a mount that is not visible any more, for example below the
 * root before switch_root: any device without a visible mount may hold them. False if @mount is no
 * overlay, or there is no such device. */
bool use_served_add_hidden(struct use_scanner *scanner, const struct mount *mount);
