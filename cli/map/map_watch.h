/*
 * map_watch: the informers of what the page shows, and the cards that come of them.
 *
 * Reads only. A kind that the cluster does not have, or that the caller may not read, is missing from
 * the page, which is told so.
 */
#pragma once

#include <stdbool.h>

struct informer_deps;
struct map_board;
struct map_watch;
struct str;

/* @changed is called when cards have to be made anew; not before this has returned. */
struct map_watch *map_watch_new(const struct informer_deps *deps, void (*changed)(void *arg),
				void *arg);
/* Takes NULL, returns NULL. */
struct map_watch *map_watch_free(struct map_watch *watch);

/* A device is shown once its claim would be known, too, and a claim once its device would, so that none
 * is taken for free, or for missing, which is only not read yet. After this they are not waited for: what
 * cannot be read would keep the rest from the page. */
void map_watch_hurry(struct map_watch *watch);

struct map_board *map_watch_board(struct map_watch *watch);

/* Say what cannot be read and why, once for each change (map_trouble.h). */
void map_watch_say(struct map_watch *watch, void (*say)(const char *line));

/* Append the member "kinds" of a JSON object: how far the watch of each kind is. */
void map_watch_tell(const struct map_watch *watch, struct str *out);
