/*
 * tls_pair: a certificate and its key as a handshake takes them. Shared by the listener and the
 * handshakes under way, so that it outlives its replacement for as long as one of these needs it.
 */
#pragma once

struct err;
struct gnutls_pcert_st;
struct gnutls_privkey_st;
struct tls_pair;

/* Of PEM: the certificate with what follows of its chain, and its key. Errors: -EINVAL. */
int tls_pair_new(const char *cert, const char *key, struct tls_pair **ret_pair, struct err *err);

struct tls_pair *tls_pair_ref(struct tls_pair *pair);
/* Takes NULL, returns NULL. */
struct tls_pair *tls_pair_unref(struct tls_pair *pair);

/* What GnuTLS asks for; it stays the pair's. */
struct gnutls_pcert_st *tls_pair_certs(struct tls_pair *pair, unsigned *ret_len);
struct gnutls_privkey_st *tls_pair_key(struct tls_pair *pair);
