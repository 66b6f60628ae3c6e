/*
 * node_watch: reports when one of some paths appears, disappears or becomes another file, also when
 * one of its parent folders is replaced.
 *
 * Owns one inotify descriptor with a watch on every folder on the way. Does not open the paths.
 */
#pragma once

struct clock;
struct json_strs;
struct node_watch;
struct uv_loop_s;

enum {
	NODE_WATCH_POLL_MS = 60000, /* finds what inotify does not report */
	NODE_WATCH_BLIND_MS = 2000, /* the same when inotify does not work           */
};

/* @changed is called when one of the paths changed, after the function that causes it has
 * returned. */
struct node_watch *node_watch_new(struct uv_loop_s *loop, struct clock *clock,
				  void (*changed)(void *arg), void *arg);
/* Takes NULL, returns NULL. The loop must run once more. */
struct node_watch *node_watch_free(struct node_watch *watch);

/* Set all paths, absolute; copied. Their current state is not reported. */
void node_watch_set(struct node_watch *watch, const struct json_strs *paths);
