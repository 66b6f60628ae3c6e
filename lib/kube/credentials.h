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
