/*
 * credentials: the current content of the files that a struct kube_config names.
 *
 * Owns memfds for inline certificates: the TLS library needs paths, and secrets must not be written
 * to disk. Files are checked at most once a second.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct credentials;
struct err;
struct kube_config;
struct kube_proof;

/* @config is borrowed and must outlive the object. */
struct credentials *credentials_new(const struct kube_config *config);
/* Takes NULL, returns NULL. */
struct credentials *credentials_free(struct credentials *c);

/* Paths for the TLS library, NULL if not configured; valid until the object is freed. */
struct credential_files {
	const char *ca;
	const char *cert;
	const char *key;
};

/*
 * Check the files for changes. *@ret_changed is true, also on the first call, if new requests must
 * not use existing connections: a certificate file has changed since the last call, or a rejected
 * token was replaced. (With each 401 the API server closes the HTTP/2 connection.) Errors
 * (ERR_RETRY): an inline certificate cannot be put into a memfd, or a token file has never been
 * readable. A token file that was readable before keeps its last token.
 */
int credentials_refresh(struct credentials *c, uint64_t now_ms, struct credential_files *ret_files,
			bool *ret_changed, struct err *err);

/* The token as of the last refresh, NULL if none. Never log it. */
const char *credentials_token(const struct credentials *c);

/* The server answered 401: the next refresh reads the token file even if it looks unchanged. */
void credentials_reject(struct credentials *c);

/* Use @proof (copied) from now on: its token replaces the configured one; its certificate, if
 * any, is used only if none is configured. */
void credentials_set(struct credentials *c, const struct kube_proof *proof);

/* True if @token can be sent in a header: no blanks, line breaks or control characters. */
bool credentials_is_token(const char *token);

/*
 * --- a provider of credentials ---
 *
 * It supplies credentials on demand, and again when they have expired or were refused.
 *
 * cli/login implements the interface with the kubeconfig's exec plugin. The client asks a struct
 * proof when to use it.
 */

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
