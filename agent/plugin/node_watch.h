/*
 * node_watch: tells when one of some paths comes, goes or becomes another file, wherever on its way
 * that happens: its folders may be made anew.
 *
 * Owns one inotify descriptor with a watch on every folder on the way. Opens none of the paths.
 */
#pragma once

struct clock;
struct json_strs;
struct node_watch;
struct uv_loop_s;

enum {
	NODE_WATCH_POLL_MS = 60000, /* what inotify does not tell of is seen by then */
	NODE_WATCH_BLIND_MS = 2000, /* the same when inotify does not work           */
};

/* @changed: one of the paths is not what it was. Never runs before the function that was called has
 * returned. */
struct node_watch *node_watch_new(struct uv_loop_s *loop, struct clock *clock,
				  void (*changed)(void *arg), void *arg);
/* Takes NULL, returns NULL. The loop must run once more. */
struct node_watch *node_watch_free(struct node_watch *watch);

/* These are all paths now, absolute ones; copied. What they are at this moment is not told of. */
void node_watch_set(struct node_watch *watch, const struct json_strs *paths);
