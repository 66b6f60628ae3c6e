/*
 * host_watch: tells when the host's mounts, swaps, routes, links or addresses change, because these
 * decide which devices the host cannot spare.
 *
 * Of routes and addresses the kernel tells only who is in their network namespace. An agent in
 * another one, as in the shipped pods, reads them every HOST_WATCH_ROUTES_MS and compares: those of
 * process 1 are open to everybody.
 *
 * Owns a descriptor on <proc>/1/mountinfo and <proc>/swaps, which poll as exceptional on every
 * change (fs/proc_namespace.c, mm/swapfile.c), and one route netlink socket. Does not read them: a
 * scan does. A source that cannot be opened is left out with a log line; the periodic scan covers
 * it. Only the mounts are tried again, because an agent that cannot see them is not ready: the
 * first success counts as a change.
 */
#pragma once

enum { HOST_WATCH_RETRY_MS = 2000, HOST_WATCH_ROUTES_MS = 10000 };

struct host_watch;
struct uv_loop_s;

/* Something changed. Never runs before host_watch_new() has returned. */
typedef void host_watch_fn(void *arg);

struct host_watch *host_watch_new(struct uv_loop_s *loop, const char *proc_root, host_watch_fn *fn,
				  void *arg);

/* Takes NULL, returns NULL; the memory goes when the loop has run the close callbacks. */
struct host_watch *host_watch_free(struct host_watch *w);
