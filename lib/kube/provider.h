/*
 * provider: supplies credentials on demand, and again when they have expired or were refused.
 *
 * cli/login implements the interface with the kubeconfig's exec plugin. The client asks a struct
 * proof when to use it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct err;

/* Credentials. Never log them. */
struct kube_proof {
	const char *token; /* NULL: none */
	const char *cert;  /* PEM; NULL: none; goes with @key */
	const char *key;
	int64_t expires_ms; /* wall clock; INT64_MAX: valid until refused */
};

/* The result: 0 with @proof, else < 0 with @err. All are valid during the call. */
typedef void kube_proof_fn(void *arg, int result, const struct kube_proof *proof,
			   const struct err *err);

struct kube_provider {
	/* Request credentials. @done runs exactly once, never before this returns, unless
	 * stopped. Only one request at a time. */
	void (*start)(struct kube_provider *provider, kube_proof_fn *done, void *arg);
	/* Cancel the request; @done does not run any more. Does nothing if there is no request. */
	void (*stop)(struct kube_provider *provider);
};

/* Whether the supplied credentials are still valid or must be requested again. Only for client.c.
 * Zeroed: there is no provider, and no credentials are needed. */
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
