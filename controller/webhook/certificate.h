/*
 * certificate: the webhook's certificates, ECDSA P-256, as PEM: creates them, decides when to renew
 * them, and changes the content of their Secret.
 *
 * Stateless; the time is an argument, the randomness comes from GnuTLS.
 *
 * Rotation keeps at most two CAs: a new one is first published to the API server (ADD_CA), then
 * signs (RENEW), and the old one is dropped when nothing signed by it is served any more (DROP_CA).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct err;
struct json_pairs;
struct json_strs;

enum {
	CERTIFICATE_CA_DAYS = 365,
	CERTIFICATE_SERVING_DAYS = 90,
	/* Valid from some time ago, for API servers whose clock is behind ours. */
	CERTIFICATE_BACKDATE_MS = 60 * 60 * 1000,
};

/* --- creation --- */

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

/* --- the Secret's content --- */

/* CAs, newest first, the newest one's key, and the serving certificate with its key.
 * PEM, owned; NULL if absent. */
struct certificate_set {
	struct certificate_pair serving;
	char *ca_certs;
	char *ca_key;
};

void certificate_set_done(struct certificate_set *set);

/* Convert from and to a Secret's data: tls.crt, tls.key, ca.crt, ca.key in base64. Invalid
 * base64 counts as absent. */
void certificate_set_decode(const struct json_pairs *data, struct certificate_set *ret_set);
void certificate_set_encode(const struct certificate_set *set, struct json_pairs *data);

/* --- facts --- */

/* Limit for parsed PEM. */
enum { CERTIFICATE_PEM_MAX = 64 * 1024 };

/* Times since the epoch. */
struct certificate_life {
	int64_t made_ms; /* creation time: later than the start of its validity */
	int64_t end_ms;
};

struct certificate_facts {
	bool signs;     /* the newest CA is valid now, and its key is present */
	bool serves;    /* a serving certificate by one of the CAs, valid for all hosts, with key */
	bool by_newest; /* ... by the newest one */
	bool overlaps;  /* there are CAs besides the newest */
	struct certificate_life ca;
	struct certificate_life serving;
};

/* The facts of @set at @now_ms, if the certificate must be valid for all @hosts. */
struct certificate_facts certificate_facts_read(const struct certificate_set *set,
						const struct json_strs *hosts, int64_t now_ms);

/*
 * --- the next step ---
 *
 * Decided from the facts. Pure and stateless: completed steps show in the facts.
 */

enum certificate_step {
	CERTIFICATE_KEEP,
	CERTIFICATE_START_OVER, /* create a new CA and everything else */
	CERTIFICATE_ADD_CA,     /* add a new CA to the one that signed the serving certificate */
	CERTIFICATE_RENEW,      /* create a new serving certificate signed by the newest CA */
	CERTIFICATE_DROP_CA,    /* keep only the newest CA */
};

/* Both CAs are trusted for this long before the new one signs, and afterwards. */
enum { CERTIFICATE_OVERLAP_MS = 60 * 60 * 1000 };

/* For logs: "add-ca". */
const char *certificate_step_text(enum certificate_step step);

/*
 * The step to do at @now_ms. @trusted: the webhook configurations have all our CAs, so the newest
 * one may sign. With KEEP, *@ret_next_ms is when to plan again.
 */
enum certificate_step certificate_plan(const struct certificate_facts *facts, bool trusted,
				       int64_t now_ms, int64_t *ret_next_ms);

/* Apply @step, which is not KEEP, at @now_ms; on error the set is unchanged. */
int certificate_set_apply(struct certificate_set *set, enum certificate_step step,
			  const struct json_strs *hosts, int64_t now_ms, struct err *err);
