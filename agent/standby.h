/*
 * standby: has an agent wait for its turn while another one works with the same kubelet, as in a roll-out.
 *
 * In the meantime it tries what its own work will begin with: it looks at the devices and reads the claims, and changes
 * nothing. So an agent that could not take over is not ready, and a roll-out stops at it with the old one at work.
 */
#pragma once

#include <stdbool.h>

struct kube_client;
struct look_options;
struct metrics;
struct standby;
struct str;
struct uv_loop_s;

/*
 * @on_turn runs once, from the loop: soon where no other agent has the lock of @kubelet_dir (kubelet_lock), or it cannot
 * be told; else when that one has ended. All arguments are borrowed and outlive the stand-by, but for @look (copied,
 * its texts borrowed).
 */
struct standby *standby_new(struct uv_loop_s *loop, struct kube_client *client,
			    const char *kubelet_dir, const struct look_options *look,
			    struct metrics *metrics, void (*on_turn)(void *arg), void *arg);

/* Lets go of the lock. Takes NULL, returns NULL; handles close on the loop's next turn. */
struct standby *standby_free(struct standby *standby);

/* Could it take over? It waits, has looked at the devices and has read the claims. When not, the reason is appended to
 * @reason. Once its turn has come, the work says for itself whether it is ready. */
bool standby_ready(struct standby *standby, struct str *reason);
