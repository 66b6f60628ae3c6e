/*
 * provider: supplies credentials on demand, and again when they have expired or were refused.
 *
 * Only the interface; cli/login implements it with the kubeconfig's exec plugin.
 */
#pragma once

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
