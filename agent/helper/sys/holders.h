/* holders: which processes use the functions of a job, read from /proc. Never waits for a
 * device. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct job;

enum {
	POD_UID_SIZE = 37
}; /* a UUID, or the 32 digits of a static pod's hash, and the terminator */

enum {
	HOLDERS_MAX = 256, /* enough to refuse                                  */
	HOLDERS_DESCRIPTORS_MAX = 4
				  << 20, /* read in total; further ones count as an unseen holder */
};

/* Owns its texts. */
struct holder {
	char *address; /* of the function                                               */
	char *command; /* as the kernel has it, at most 15 bytes; "" if not known       */
	char *pod;     /* "namespace/name", or the pod's uid; NULL: none, or not known  */
	char *detail;  /* "process 123 (qemu-system-x86) has /dev/vfio/12 open"         */
	int pid;       /* 0: a process that cannot be seen                              */
};

struct holders {
	struct holder *items;
	size_t len;
	size_t cap;
	bool hidden; /* descriptors of some process could not be read: there may be more holders */
};

/* Where to search; everything is borrowed. */
struct holders_query {
	int sysfs_fd;
	int proc_fd;            /* -1: none                                                */
	int dev_fd;             /* -1: none                                                */
	const char *group;      /* the kernel's number of the group, "-": no group         */
	bool confirm_by_open;   /* if no holder is found, check by opening the group       */
	size_t descriptors_max; /* read in total; 0: HOLDERS_DESCRIPTORS_MAX */
};

/*
 * Find the holders of the functions of @job (or of mediated devices, whose "addresses" are their
 * UUIDs): processes that have open the group's node, a device node of a function or below it, or
 * /dev/nvidia<minor> of a card. Sorted by pid, each process at most once per function. A process
 * with the group open is a holder of the job's first function; with the group "-" there is none.
 * The calling process is never a holder. A process that ends meanwhile is skipped. If something
 * cannot be read, ret_holders->hidden is set: without the capability SYS_PTRACE, those are the
 * descriptors of all processes that have one (proc_fd_permission() and proc_pid_readlink() of the
 * kernel's fs/proc).
 */
void holders_find(const struct holders_query *query, const struct job *job,
		  struct holders *ret_holders);
void holders_done(struct holders *holders);

#define auto_holders __attribute__((cleanup(holders_done)))

/*
 * Find a pod's UID in the text of /proc/PID/cgroup, in the forms of both of the kubelet's drivers:
 * ".../pod<uid>/<container>" and "...-pod<uid with _ for ->.slice/...". A cgroup namespace may hide
 * the outer part. The innermost pod counts. False if there is none. No I/O.
 */
bool pod_find_uid(const char *text, size_t len, char ret_uid[POD_UID_SIZE]);

/* Return "namespace/name" of the pod of the process @pid below @proc_fd, its UID if the name is not
 * known, NULL if it is in no pod. The caller frees. */
char *pod_of_process(int proc_fd, const char *pid);
