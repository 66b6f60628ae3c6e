/*
 * proof: whether what a provider has made still holds, or is to be made anew. A part of client.c, for nobody
 * else.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct kube_provider;

/* Zeroed: there is no provider, and nothing is ever needed. */
struct proof {
	struct kube_provider *provider;
	uint64_t number; /* of the newest; 0: there is none yet */
	int64_t expires_ms;
	uint64_t refused; /* the newest that the server did not take; 0: none */
	bool coming;
};

/* Has it to be made before the next request? @wall_ms is the wall clock. */
bool proof_is_needed(const struct proof *proof, int64_t wall_ms);

/* The server did not take the one called @number. What is newer is not doubted for that. False: what is newer was
 * refused as well, and making another one is of no use to who went with @number. */
bool proof_refuse(struct proof *proof, uint64_t number);

/* Is the one called @number known not to be taken? 0: no. */
bool proof_is_refused(const struct proof *proof, uint64_t number);

/* It came, good until @expires_ms. */
void proof_came(struct proof *proof, int64_t expires_ms);
