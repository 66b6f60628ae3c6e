/*
 * map_view: `kubectl hostdev map`: a page on 127.0.0.1 that shows the devices of the cluster as they are.
 *
 * Ties the watch of the cluster to the server of the page: what has changed is told to the pages four
 * times a second at most. Reads of the cluster only, with the caller's own rights.
 */
#pragma once

struct clock;
struct err;
struct kube_client;
struct map_view;
struct uv_loop_s;

/* Borrowed: all of it outlives the view, but for the text. */
struct map_view_options {
	struct uv_loop_s *loop;
	struct clock *clock;
	struct kube_client *client;
	const char *cluster;           /* what the page calls the cluster */
	unsigned port;                 /* 0: any that is free             */
	void (*say)(const char *line); /* on standard error: what cannot be read */
};

/* Begin to listen and to watch. Errors name the address. */
int map_view_new(const struct map_view_options *options, struct map_view **ret_view,
		 struct err *err);
/* Takes NULL, returns NULL. The loop must run once more. */
struct map_view *map_view_free(struct map_view *view);

/* The page's address, with its token. */
const char *map_view_address(const struct map_view *view);
