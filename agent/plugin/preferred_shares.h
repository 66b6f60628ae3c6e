/*
 * preferred_shares: which shares of cards a container had better get, if several containers can use
 * one card. Pure.
 *
 * First the ones that it must have. Then distributed: one share after the other, of the card with
 * the fewest shares given away, of these the card from which this container has got the fewest. Or
 * packed: of the card with the most shares given away, as long as it has some. Then the order of
 * the candidates.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct device_list;
struct json_strs;
struct preferred_candidate;

/* Append the IDs of at most @size of @candidates to @chosen, best first. A share of @list that is
 * no candidate, or that the container must have, is given away. */
void preferred_shares(const struct device_list *list, const struct preferred_candidate *candidates,
		      size_t len, size_t size, bool packed, struct json_strs *chosen);
