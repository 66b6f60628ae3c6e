/* node_ties: what the parts of nodes work with. All is borrowed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/views/view.h"

struct clock;
struct errands;
struct kube_client;
struct metrics;
struct node_book;
struct store;

struct node_ties {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics;           /* may be NULL                                     */
	const struct store *const *stores; /* by enum view_kind                               */
	struct node_book *book;
	struct errands *errands;  /* calls under way                                 */
	uint64_t gone_ms;         /* a node that is missing for so long is gone for good */
	bool (*leads)(void *arg); /* asked before each write                             */
	void *arg;
};

bool node_ties_is_claim(enum view_kind kind);

/* The node of the object @name as its view @view says, or, of a claim that does not say, its device; "": not
 * known. Valid until the stores change. */
const char *node_ties_node(const struct node_ties *ties, enum view_kind kind, const char *name,
			   const struct view *view);
