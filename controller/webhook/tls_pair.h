/*
 * tls_pair: a certificate and its key for handshakes. Reference-counted by the listener and running
 * handshakes, so that it outlives its replacement as long as needed.
 */
#pragma once

struct err;
struct gnutls_pcert_st;
struct gnutls_privkey_st;
struct tls_pair;

/* From PEM: the certificate with its chain, and its key. Errors: -EINVAL. */
int tls_pair_new(const char *cert, const char *key, struct tls_pair **ret_pair, struct err *err);

struct tls_pair *tls_pair_ref(struct tls_pair *pair);
/* Takes NULL, returns NULL. */
struct tls_pair *tls_pair_unref(struct tls_pair *pair);

/* As GnuTLS needs them; owned by the pair. */
struct gnutls_pcert_st *tls_pair_certs(struct tls_pair *pair, unsigned *ret_len);
struct gnutls_privkey_st *tls_pair_key(struct tls_pair *pair);
