/*
 * certificate_set: all that the Secret of the webhook holds: CAs, newest first, the newest one's
 * key, and the serving certificate with its key.
 *
 * Rotation keeps at most two CAs: a new one is told to the API server first (ADD_CA), signs later
 * (RENEW), and the old one goes when nothing of it is served any more (DROP_CA).
 */
#pragma once

#include <stdint.h>

#include "controller/webhook/certificate.h"
#include "controller/webhook/certificate_plan.h"

struct err;
struct json_pairs;
struct json_strs;

/* Owned PEM; NULL where there is none. */
struct certificate_set {
	struct certificate_pair serving;
	char *ca_certs;
	char *ca_key;
};

void certificate_set_done(struct certificate_set *set);

/* Of a Secret's data, and to it: tls.crt, tls.key, ca.crt, ca.key in base64. What is no base64 is not
 * there. */
void certificate_set_decode(const struct json_pairs *data, struct certificate_set *ret_set);
void certificate_set_encode(const struct certificate_set *set, struct json_pairs *data);

/* The set after @step, which is not KEEP, at @now_ms; on an error it is as it was. */
int certificate_set_do(struct certificate_set *set, enum certificate_step step,
		       const struct json_strs *hosts, int64_t now_ms, struct err *err);
