/*
 * map_watch: the informers of the map, and the cards made from their objects.
 *
 * Only reads. Kinds that the cluster does not have, or that the caller may not read, are missing on
 * the page, which shows that.
 */
#pragma once

#include <stdbool.h>

struct informer_deps;
struct map_board;
struct map_watch;
struct str;

/* @user is the caller, which says whether a claim is another user's; NULL: not known. @changed is
 * called when cards have changed, but not before this function has returned. */
struct map_watch *map_watch_new(const struct informer_deps *deps, const char *user,
				void (*changed)(void *arg), void *arg);
/* Takes NULL, returns NULL. */
struct map_watch *map_watch_free(struct map_watch *watch);

/* A device is shown when its claims have been read, and a claim when its devices have been read,
 * so that nothing appears as claimable or missing only because it has not been read yet. After
 * this call they are shown anyway: a kind that cannot be read must not hide the rest. */
void map_watch_show_unread(struct map_watch *watch);

struct map_board *map_watch_board(struct map_watch *watch);

/* Print what cannot be read and why, once for each change (map_errors.h). */
void map_watch_print_errors(struct map_watch *watch, void (*print)(const char *line));

/* Append the member "kinds" of a JSON object: the state of the watch of each kind. */
void map_watch_write_kinds(const struct map_watch *watch, struct str *out);
