/* pick_text: says what a resource has to claim, and what hinders the other devices. Pure. */
#pragma once

#include <stddef.h>

struct cluster;
struct pick_want;
struct str;

enum { PICK_TEXT_WIDTH = 100, PICK_TEXT_LINES = 10 };

/*
 * Append a first line, and after line breaks one line for each cause:
 *
 *	2 wanted on one node, 1 free
 *	  1 free on node1: node1-000001002
 *	  1 claimed by 'bob': node1-000001001
 *
 * @selector is that of the command line, or NULL: the cluster has only devices with these labels.
 * @hidden is a line about the devices that the caller may not list, or NULL: all are known.
 */
void pick_text(struct cluster *cluster, const struct pick_want *want, const char *selector,
	       const char *hidden, struct str *to);

/* Append a line break and "  LEAD: NAME, NAME and 7 more": as many names as fit into the width, but
 * at least one. */
void pick_text_names(struct str *to, const char *lead, const char *const *names, size_t len);
