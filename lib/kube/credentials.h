/*
 * credentials: what a struct kube_config names, as it is on disk now.
 *
 * Owns the memory files that hold inline certificates: the TLS library wants paths, and secrets are
 * not written to a disk for that. Files are looked at no more than once a second.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct credentials;
struct err;
struct kube_config;
struct kube_proof;

/* @config is borrowed and outlives the object. */
struct credentials *credentials_new(const struct kube_config *config);
/* Takes NULL, returns NULL. */
struct credentials *credentials_free(struct credentials *c);

/* Paths for the TLS library, NULL for what is not configured; valid until the object is freed. */
struct credential_files {
	const char *ca;
	const char *cert;
	const char *key;
};

/*
 * Look again at what may have changed. *@ret_changed (also at the first call) says that connections made before
 * are not for requests from now on: a certificate file is not what it was at the last call, or another token
 * stands in for one that was rejected. With each 401 the API server ends the HTTP/2 connection that it came on.
 * Errors (ERR_RETRY): an inline certificate that cannot be put into memory, or a token file that
 * cannot be read and never could. One that could keeps its last token.
 */
int credentials_refresh(struct credentials *c, uint64_t now_ms, struct credential_files *ret_files,
			bool *ret_changed, struct err *err);

/* The token as of the last refresh, NULL without one. Not for any log. */
const char *credentials_token(const struct credentials *c);

/* The server said 401: the next refresh reads the token's file, whatever its stamp says. */
void credentials_reject(struct credentials *c);

/* From now on @proof counts (copied): its token over the configured one; its certificate, if it has one, where
 * none is configured. */
void credentials_give(struct credentials *c, const struct kube_proof *proof);

/* Can @token stand in a header? No blanks, line breaks or control characters. */
bool credentials_is_token(const char *token);
