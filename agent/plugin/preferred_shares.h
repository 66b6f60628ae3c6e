/*
 * preferred_shares: which shares of cards a container should get, if several containers can use one
 * card. Pure.
 *
 * First those that it must have. Then distributed: one share at a time, of the card with the fewest
 * allocated shares, and among these the card of which this container has the fewest. Or packed: of
 * the card with the most allocated shares, as long as it has free ones. Then the order of the
 * candidates.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct device_list;
struct json_strs;
struct preferred_candidate;

/* Append the IDs of at most @size of @candidates to @chosen, best first. A share of @list that is
 * no candidate, or that the container must have, counts as allocated. */
void preferred_shares(const struct device_list *list, const struct preferred_candidate *candidates,
		      size_t len, size_t size, bool packed, struct json_strs *chosen);
