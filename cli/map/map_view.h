/*
 * map_view: `kubectl hostdev map`: a page on 127.0.0.1 that shows the devices of the cluster, live.
 *
 * Connects the watches to the page's server: changes are sent at most four times a second. Only
 * reads the cluster, with the caller's rights.
 */
#pragma once

struct clock;
struct err;
struct kube_client;
struct map_view;
struct uv_loop_s;

/* Borrowed, and outlives the view, except the text. */
struct map_view_options {
	struct uv_loop_s *loop;
	struct clock *clock;
	struct kube_client *client;
	const char *cluster;             /* the name of the cluster on the page */
	const char *user;                /* the caller's name; NULL: not known */
	unsigned port;                   /* 0: any free one */
	void (*print)(const char *line); /* print on standard error what cannot be read */
};

/* Start listening and watching. Errors name the address. */
int map_view_new(const struct map_view_options *options, struct map_view **ret_view,
		 struct err *err);
/* Takes NULL, returns NULL. The loop must run once more. */
struct map_view *map_view_free(struct map_view *view);

/* The page's address, with its token. */
const char *map_view_address(const struct map_view *view);
