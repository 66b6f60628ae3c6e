/*
 * proof: tracks whether the provider's credentials are still valid or must be requested again. Used
 * only by client.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct kube_provider;

/* Zeroed: there is no provider, and no credentials are needed. */
struct proof {
	struct kube_provider *provider;
	uint64_t number; /* of the newest credentials; 0: none yet */
	int64_t expires_ms;
	uint64_t refused; /* number of the newest credentials that the server refused; 0: none */
	bool coming;
};

/* True if new credentials are needed before the next request. @wall_ms is the wall clock. */
bool proof_is_needed(const struct proof *proof, int64_t wall_ms);

/* The server refused the credentials @number. Newer ones are still considered valid. Returns
 * false if the newer ones were refused as well, so that requesting new credentials would not
 * help this call. */
bool proof_refuse(struct proof *proof, uint64_t number);

/* True if the server is known to refuse the credentials @number; false for 0. */
bool proof_is_refused(const struct proof *proof, uint64_t number);

/* New credentials arrived; they expire at @expires_ms. */
void proof_set(struct proof *proof, int64_t expires_ms);
