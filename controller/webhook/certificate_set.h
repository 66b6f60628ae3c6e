/*
 * certificate_set: the content of the webhook's Secret: CAs, newest first, the newest one's key,
 * and the serving certificate with its key.
 *
 * Rotation keeps at most two CAs: a new one is first published to the API server (ADD_CA), then
 * signs (RENEW), and the old one is dropped when nothing signed by it is served any more (DROP_CA).
 */
#pragma once

#include <stdint.h>

#include "controller/webhook/certificate.h"
#include "controller/webhook/certificate_plan.h"

struct err;
struct json_pairs;
struct json_strs;

/* PEM, owned; NULL if absent. */
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

/* Apply @step, which is not KEEP, at @now_ms; on error the set is unchanged. */
int certificate_set_apply(struct certificate_set *set, enum certificate_step step,
			  const struct json_strs *hosts, int64_t now_ms, struct err *err);
