/*
 * provider: credentials that somebody makes when they are needed, and anew when they are over or refused.
 *
 * The client asks; who makes them is another matter (a program that the kubeconfig names: cli/login).
 */
#pragma once

#include <stdint.h>

struct err;

/* What proves who we are. Not for any log. */
struct kube_proof {
	const char *token; /* NULL: none */
	const char *cert;  /* PEM; NULL: none; goes with @key */
	const char *key;
	int64_t expires_ms; /* wall clock; INT64_MAX: when it is refused */
};

/* How it ended: @result 0 with @proof, else < 0 with @err; all are valid during the call. */
typedef void kube_proof_fn(void *arg, int result, const struct kube_proof *proof,
			   const struct err *err);

struct kube_provider {
	/* Begin. @done runs exactly once, never before this returns, unless stopped. One at a time. */
	void (*start)(struct kube_provider *provider, kube_proof_fn *done, void *arg);
	/* Give up what was begun: @done does not run any more. Nothing happens if there is nothing. */
	void (*stop)(struct kube_provider *provider);
};
