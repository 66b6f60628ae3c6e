#include "controller/webhook/certificate_set.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/json_values.h"
#include "base/base64.h"
#include "base/mem.h"
#include "controller/webhook/certificate_facts.h"

/* The keys of a Secret of type kubernetes.io/tls, and the CA's. */
static const struct data_row {
	const char *key;
	size_t at;
} rows[] = {
	{ "tls.crt", offsetof(struct certificate_set, serving.cert) },
	{ "tls.key", offsetof(struct certificate_set, serving.key) },
	{ "ca.crt", offsetof(struct certificate_set, ca_certs) },
	{ "ca.key", offsetof(struct certificate_set, ca_key) },
};

static char **member_of(struct certificate_set *set, const struct data_row *row)
{
	return (void *)((char *)set + row->at);
}

static const char *text_of(const struct certificate_set *set, const struct data_row *row)
{
	const void *at = (const char *)set + row->at;

	return *(char *const *)at;
}

void certificate_set_done(struct certificate_set *set)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char *text = *member_of(set, &rows[i]);

		if (text)
			explicit_bzero(text, strlen(text));
		free(text);
	}
	*set = (struct certificate_set){ 0 };
}

void certificate_set_decode(const struct json_pairs *data, struct certificate_set *ret_set)
{
	*ret_set = (struct certificate_set){ 0 };
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *base64 = json_pairs_get(data, rows[i].key);
		char *text = NULL;
		size_t len;

		if (base64 && base64_decode(base64, strlen(base64), &text, &len))
			*member_of(ret_set, &rows[i]) = text;
	}
}

void certificate_set_encode(const struct certificate_set *set, struct json_pairs *data)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *text = text_of(set, &rows[i]);
		auto_free char *base64 = text ? base64_encode(text, strlen(text)) : NULL;

		if (base64)
			json_pairs_set(data, rows[i].key, base64);
	}
}

static void replace_secret(char **to, char *text)
{
	if (*to)
		explicit_bzero(*to, strlen(*to));
	free(*to);
	*to = text;
}

/* Put a new CA in front of @rest. */
static int put_ca(struct certificate_set *set, const char *rest, int64_t now_ms, struct err *err)
{
	struct certificate_pair ca = { 0 };
	int r = certificate_make_ca(now_ms, &ca, err);

	if (r < 0)
		return r;
	replace_secret(&set->ca_certs, xasprintf("%s%s", ca.cert, rest));
	replace_secret(&set->ca_key, take_ptr(ca.key));
	certificate_pair_done(&ca);
	return 0;
}

static int renew(struct certificate_set *set, const struct json_strs *hosts, int64_t now_ms,
		 struct err *err)
{
	struct certificate_pair ca = { .cert = set->ca_certs, .key = set->ca_key };
	struct certificate_pair made = { 0 };
	int r = certificate_make_serving(&ca, hosts, now_ms, &made, err);

	if (r < 0)
		return r;
	certificate_pair_done(&set->serving);
	set->serving = made;
	return 0;
}

/* All or nothing: a CA without a first certificate is useless. */
static int start_over(struct certificate_set *set, const struct json_strs *hosts, int64_t now_ms,
		      struct err *err)
{
	struct certificate_set made = { 0 };
	int r = put_ca(&made, "", now_ms, err);

	if (r == 0)
		r = renew(&made, hosts, now_ms, err);
	if (r < 0) {
		certificate_set_done(&made);
		return r;
	}
	certificate_set_done(set);
	*set = made;
	return 0;
}

int certificate_set_apply(struct certificate_set *set, enum certificate_step step,
			  const struct json_strs *hosts, int64_t now_ms, struct err *err)
{
	auto_free char *issuer = NULL;

	switch (step) {
	case CERTIFICATE_START_OVER:
		return start_over(set, hosts, now_ms, err);
	case CERTIFICATE_ADD_CA:
		issuer = certificate_facts_issuer(set);
		return put_ca(set, issuer, now_ms, err);
	case CERTIFICATE_RENEW:
		return renew(set, hosts, now_ms, err);
	case CERTIFICATE_DROP_CA:
		replace_secret(&set->ca_certs, certificate_facts_issuer(set));
		return 0;
	case CERTIFICATE_KEEP:
		break;
	}
	assert(false);
	return 0;
}
