/*
 * standby: has an agent wait for its turn while another one works with the same kubelet, as in a
 * roll-out.
 *
 * In the meantime it tries what its own work will begin with: it looks at the devices and reads the
 * claims, and changes nothing. So an agent that could not take over is not ready, and a roll-out
 * stops at it with the old one at work.
 */
#pragma once

#include <stdbool.h>

struct err;
struct inventory;
struct kube_client;
struct monitor;
struct monitor_options;
struct metrics;
struct standby;
struct str;
struct uv_loop_s;

enum {
	KUBELET_LOCK_NONE = 1, /* of kubelet_lock_open(): there is no kubelet */
	KUBELET_LOCK_BUSY = 1, /* of kubelet_lock_try(): another agent has it */
};

/* Borrowed: all of it outlives the stand-by, but for @monitor (copied, its texts borrowed). */
struct standby_deps {
	struct uv_loop_s *loop;
	struct kube_client *client;
	const char *kubelet_dir;
	const struct monitor_options *monitor;
	struct metrics *metrics;
	void (*on_turn)(void *arg);
	void *arg;
};

/* @on_turn runs once, from the loop: soon where no other agent has the lock of the kubelet's folder
 * (kubelet_lock), or it cannot be told; else when that one has ended and this one could take
 * over. */
struct standby *standby_new(const struct standby_deps *deps);

/*
 * What it has seen by its turn, so that the work need not begin with a scan: the monitor goes on,
 * and *@ret_inventory is what it found last, NULL if more has been heard of since. Both are the
 * caller's from now on; NULL if it never waited. To be called by @on_turn.
 */
void standby_take(struct standby *standby, struct monitor **ret_look,
		  struct inventory **ret_inventory);

/* Lets go of the lock. Takes NULL, returns NULL; handles close on the loop's next turn. */
struct standby *standby_free(struct standby *standby);

/* Could it take over? It waits, has looked at the devices and has read the claims. When not, the
 * reason is appended to @reason. Once its turn has come, the work says for itself whether it is
 * ready. */
bool standby_ready(struct standby *standby, struct str *reason);

/* False where it cannot be told whether another agent works with the kubelet, which is then
 * appended to @reason (may be NULL): no device can be offered from such a folder, and a rollout
 * must not continue. */
bool standby_locked(const struct standby *standby, struct str *reason);

/* Open plugins/hostdev/agent.lock, made if need be, below @kubelet_dir into *@ret_fd, which no
 * program that is started inherits: 0, KUBELET_LOCK_NONE, or < 0 with @err. */
int kubelet_lock_open(const char *kubelet_dir, int *ret_fd, struct err *err);

/* Take the lock of the file @fd, until it is closed, without waiting: 0, KUBELET_LOCK_BUSY, or < 0
 * with @err. */
int kubelet_lock_try(int fd, struct err *err);
