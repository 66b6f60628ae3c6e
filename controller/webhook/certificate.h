/*
 * certificate: creates keys and certificates for the webhook, ECDSA P-256, as PEM. Stateless; the
 * time is an argument, the randomness comes from GnuTLS.
 */
#pragma once

#include <stdint.h>

struct err;
struct json_strs;

enum {
	CERTIFICATE_CA_DAYS = 365,
	CERTIFICATE_SERVING_DAYS = 90,
	/* Valid from some time ago, for API servers whose clock is behind ours. */
	CERTIFICATE_BACKDATE_MS = 60 * 60 * 1000,
};

/* Owns its strings; "" or NULL if absent. */
struct certificate_pair {
	char *cert; /* PEM */
	char *key;  /* PEM, PKCS #8 */
};

void certificate_pair_done(struct certificate_pair *pair);

/* A new self-signed certificate authority. */
int certificate_make_ca(int64_t now_ms, struct certificate_pair *ret_pair, struct err *err);

/* A new serving certificate for the @hosts (DNS names and IP addresses, at least one), signed by
 * @ca and valid no longer than it. */
int certificate_make_serving(const struct certificate_pair *ca, const struct json_strs *hosts,
			     int64_t now_ms, struct certificate_pair *ret_pair, struct err *err);
