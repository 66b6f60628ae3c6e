/*
 * kubelet_lock: one agent at a time works with a kubelet.
 *
 * The lock is of a file in the folder of the agent's sockets, <kubelet's folder>/plugins/hostdev:
 * agents that do not share that folder want nothing of each other's. The kernel releases it when the
 * process has ended, however that was.
 */
#pragma once

struct err;

enum {
	KUBELET_LOCK_NONE = 1, /* of kubelet_lock_open(): there is no kubelet */
	KUBELET_LOCK_BUSY = 1, /* of kubelet_lock_try(): another agent has it */
};

/* Open plugins/hostdev/agent.lock, made if need be, below @kubelet_dir into *@ret_fd, which no program
 * that is started inherits: 0, KUBELET_LOCK_NONE, or < 0 with @err. */
int kubelet_lock_open(const char *kubelet_dir, int *ret_fd, struct err *err);

/* Take the lock of the file @fd, until it is closed, without waiting: 0, KUBELET_LOCK_BUSY, or < 0 with
 * @err. */
int kubelet_lock_try(int fd, struct err *err);
