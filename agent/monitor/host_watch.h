/*
 * host_watch: reports changes of the host's mounts, swaps, routes, links or addresses, because
 * these decide which devices the host cannot spare.
 *
 * On a node where pods come and go most changes are theirs: their mounts, their ends of links, and
 * routes to them. Changes are filtered as far as possible (host_state.h, route_message.h): a change
 * that no scan would show is reported as HOST_CHANGE_POSSIBLE at most.
 *
 * The kernel reports routes and addresses only within their network namespace. An agent in another
 * one, as in the shipped pods, reads them every HOST_WATCH_ROUTES_MS and compares: those of process
 * 1 can be read by everybody.
 *
 * Owns a descriptor on <proc>/1/mountinfo and <proc>/swaps, which poll as exceptional on every
 * change (fs/proc_namespace.c, mm/swapfile.c), and one route netlink socket. Mounts and routes are
 * read HOST_WATCH_CALM_MS after the first of several changes. A source that cannot be opened is
 * left out with a log line; the periodic scan covers it. Only the mounts are tried again, because
 * an agent that cannot see them is not ready: the first success counts as a change.
 */
#pragma once

enum { HOST_WATCH_RETRY_MS = 2000, HOST_WATCH_ROUTES_MS = 10000, HOST_WATCH_CALM_MS = 200 };

struct host_watch;
struct uv_loop_s;

enum host_change {
	/* Mounts have changed, but none that matters in process 1's namespace: a pod has started or
	 * ended. It may have mounted a disk in its own namespace, locked one, or moved an interface
	 * into its network namespace, and nothing else reports that. */
	HOST_CHANGE_POSSIBLE,
	HOST_CHANGE_SEEN, /* a scan may find something else than before */
};

/* Never runs before host_watch_new() has returned. */
typedef void host_watch_fn(void *arg, enum host_change change);

struct host_watch *host_watch_new(struct uv_loop_s *loop, const char *proc_root,
				  const char *sysfs_root, host_watch_fn *fn, void *arg);

/* Takes NULL, returns NULL; the memory goes when the loop has run the close callbacks. */
struct host_watch *host_watch_free(struct host_watch *w);
