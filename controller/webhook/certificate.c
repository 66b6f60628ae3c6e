#include "controller/webhook/certificate.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "api/json_values.h"
#include "base/base64.h"
#include "base/err.h"
#include "base/mem.h"
#include "controller/webhook/tls_datum.h"

/* --- GnuTLS: cleanup and errors --- */

static void auto_crt_(const gnutls_x509_crt_t *crt)
{
	if (*crt)
		gnutls_x509_crt_deinit(*crt);
}

static void auto_key_(const gnutls_x509_privkey_t *key)
{
	if (*key)
		gnutls_x509_privkey_deinit(*key);
}

#define auto_crt __attribute__((cleanup(auto_crt_)))
#define auto_key __attribute__((cleanup(auto_key_)))

/* Returns 0 on success, else fills @err with GnuTLS's message. */
static int certificate_check(int code, const char *what, struct err *err)
{
	if (code >= 0)
		return 0;
	return err_set(err, ERR_INVALID, -EINVAL, "%s: %s", what, gnutls_strerror(code));
}

/* --- creation --- */

enum { SERIAL_LEN = 16, KEY_ID_LEN = 20, IP_MAX = 16 };

static const int64_t day_ms = (int64_t)24 * 60 * 60 * 1000;

void certificate_pair_done(struct certificate_pair *pair)
{
	free(pair->cert);
	if (pair->key)
		explicit_bzero(pair->key, strlen(pair->key));
	free(pair->key);
	*pair = (struct certificate_pair){ 0 };
}

static char *take_text(gnutls_datum_t *data)
{
	char *text = xstrndup((const char *)data->data, data->size);

	gnutls_memset(data->data, 0, data->size);
	gnutls_free(data->data);
	return text;
}

static int make_key(gnutls_x509_privkey_t *ret_key, struct err *err)
{
	auto_key gnutls_x509_privkey_t key = NULL;
	int r = gnutls_x509_privkey_init(&key);

	if (r >= 0)
		r = gnutls_x509_privkey_generate(
			key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
	if (r < 0)
		return certificate_check(r, "make a key", err);
	*ret_key = take_ptr(key);
	return 0;
}

/* A random positive number, unique per certificate. */
static int set_serial(gnutls_x509_crt_t crt)
{
	unsigned char serial[SERIAL_LEN];
	int r = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof(serial));

	serial[0] = (unsigned char)((serial[0] & 0x7f) | 0x40);
	return r < 0 ? r : gnutls_x509_crt_set_serial(crt, serial, sizeof(serial));
}

/* Common to both types: key, name, serial number and validity. */
static int set_basics(gnutls_x509_crt_t crt, gnutls_x509_privkey_t key, const char *name,
		      int64_t now_ms, int64_t end_ms)
{
	unsigned char id[KEY_ID_LEN];
	size_t len = sizeof(id);
	int r = gnutls_x509_crt_set_version(crt, 3);

	if (r >= 0)
		r = gnutls_x509_crt_set_key(crt, key);
	if (r >= 0)
		r = set_serial(crt);
	if (r >= 0)
		r = gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, name,
						  (unsigned)strlen(name));
	if (r >= 0)
		r = gnutls_x509_crt_set_activation_time(
			crt, (time_t)((now_ms - CERTIFICATE_BACKDATE_MS) / 1000));
	if (r >= 0)
		r = gnutls_x509_crt_set_expiration_time(crt, (time_t)(end_ms / 1000));
	if (r >= 0)
		r = gnutls_x509_crt_get_key_id(crt, GNUTLS_KEYID_USE_SHA1, id, &len);
	if (r >= 0)
		r = gnutls_x509_crt_set_subject_key_id(crt, id, len);
	return r;
}

static int sign(gnutls_x509_crt_t crt, gnutls_x509_crt_t issuer, gnutls_x509_privkey_t issuer_key)
{
	unsigned char id[KEY_ID_LEN];
	size_t len = sizeof(id);
	int r = gnutls_x509_crt_get_subject_key_id(issuer, id, &len, NULL);

	if (r >= 0)
		r = gnutls_x509_crt_set_authority_key_id(crt, id, len);
	return r < 0 ? r : gnutls_x509_crt_sign2(crt, issuer, issuer_key, GNUTLS_DIG_SHA256, 0);
}

static int export(gnutls_x509_crt_t crt, gnutls_x509_privkey_t key,
		  struct certificate_pair *ret_pair, struct err *err)
{
	gnutls_datum_t cert_text = { 0 };
	gnutls_datum_t key_text = { 0 };
	int r = gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &cert_text);

	if (r < 0)
		return certificate_check(r, "write a certificate", err);
	r = gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN,
					      &key_text);
	if (r < 0) {
		gnutls_free(cert_text.data);
		return certificate_check(r, "write a key", err);
	}
	ret_pair->cert = take_text(&cert_text);
	ret_pair->key = take_text(&key_text);
	return 0;
}

int certificate_make_ca(int64_t now_ms, struct certificate_pair *ret_pair, struct err *err)
{
	auto_crt gnutls_x509_crt_t crt = NULL;
	auto_key gnutls_x509_privkey_t key = NULL;
	auto_free char *name = NULL;
	int r = make_key(&key, err);

	if (r < 0)
		return r;
	/* Overlapping CAs have different names, so that they can be told apart in a bundle. */
	name = xasprintf("hostdev-webhook-ca-%lld", (long long)(now_ms / 1000));
	r = gnutls_x509_crt_init(&crt);
	if (r >= 0)
		r = set_basics(crt, key, name, now_ms, now_ms + CERTIFICATE_CA_DAYS * day_ms);
	if (r >= 0)
		r = gnutls_x509_crt_set_basic_constraints(crt, 1, 0);
	if (r >= 0)
		r = gnutls_x509_crt_set_key_usage(crt, GNUTLS_KEY_KEY_CERT_SIGN);
	if (r >= 0)
		r = sign(crt, crt, key);
	if (r < 0)
		return certificate_check(r, "make a certificate authority", err);
	return export(crt, key, ret_pair, err);
}

static int add_host(gnutls_x509_crt_t crt, const char *host)
{
	unsigned char address[IP_MAX];

	if (inet_pton(AF_INET, host, address) == 1)
		return gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, address, 4,
							    GNUTLS_FSAN_APPEND);
	if (inet_pton(AF_INET6, host, address) == 1)
		return gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, address, 16,
							    GNUTLS_FSAN_APPEND);
	return gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, host,
						    (unsigned)strlen(host), GNUTLS_FSAN_APPEND);
}

static int set_server(gnutls_x509_crt_t crt, const struct json_strs *hosts)
{
	int r = gnutls_x509_crt_set_basic_constraints(crt, 0, -1);

	if (r >= 0)
		r = gnutls_x509_crt_set_key_usage(crt, GNUTLS_KEY_DIGITAL_SIGNATURE);
	if (r >= 0)
		r = gnutls_x509_crt_set_key_purpose_oid(crt, GNUTLS_KP_TLS_WWW_SERVER, 0);
	for (size_t i = 0; i < hosts->len && r >= 0; i++)
		r = add_host(crt, hosts->items[i]);
	return r;
}

static int import_pair(const struct certificate_pair *pair, gnutls_x509_crt_t *ret_crt,
		       gnutls_x509_privkey_t *ret_key, struct err *err)
{
	gnutls_datum_t cert_text = tls_datum(pair->cert);
	gnutls_datum_t key_text = tls_datum(pair->key);
	auto_crt gnutls_x509_crt_t crt = NULL;
	auto_key gnutls_x509_privkey_t key = NULL;
	int r = gnutls_x509_crt_init(&crt);

	if (r >= 0)
		r = gnutls_x509_privkey_init(&key);
	if (r >= 0)
		r = gnutls_x509_crt_import(crt, &cert_text, GNUTLS_X509_FMT_PEM);
	if (r >= 0)
		r = gnutls_x509_privkey_import2(key, &key_text, GNUTLS_X509_FMT_PEM, NULL, 0);
	if (r < 0)
		return certificate_check(r, "read the certificate authority", err);
	*ret_crt = take_ptr(crt);
	*ret_key = take_ptr(key);
	return 0;
}

int certificate_make_serving(const struct certificate_pair *ca, const struct json_strs *hosts,
			     int64_t now_ms, struct certificate_pair *ret_pair, struct err *err)
{
	auto_crt gnutls_x509_crt_t issuer = NULL;
	auto_key gnutls_x509_privkey_t issuer_key = NULL;
	auto_crt gnutls_x509_crt_t crt = NULL;
	auto_key gnutls_x509_privkey_t key = NULL;
	int64_t end_ms = now_ms + CERTIFICATE_SERVING_DAYS * day_ms;
	int64_t ca_end_ms;
	int r = import_pair(ca, &issuer, &issuer_key, err);

	if (r == 0)
		r = make_key(&key, err);
	if (r < 0)
		return r;
	ca_end_ms = (int64_t)gnutls_x509_crt_get_expiration_time(issuer) * 1000;
	r = gnutls_x509_crt_init(&crt);
	if (r >= 0)
		r = set_basics(crt, key, "hostdev-webhook", now_ms,
			       end_ms < ca_end_ms ? end_ms : ca_end_ms);
	if (r >= 0)
		r = set_server(crt, hosts);
	if (r >= 0)
		r = sign(crt, issuer, issuer_key);
	if (r < 0)
		return certificate_check(r, "make the webhook's certificate", err);
	return export(crt, key, ret_pair, err);
}

/* --- facts --- */

enum { KEY_ID_MAX = 64 };

/* The parsed parts of a set. */
struct parsed {
	gnutls_x509_crt_t *cas; /* newest first */
	unsigned ncas;
	gnutls_x509_crt_t serving; /* NULL: none */
};

static void parsed_done(struct parsed *parsed)
{
	for (unsigned i = 0; i < parsed->ncas; i++)
		gnutls_x509_crt_deinit(parsed->cas[i]);
	gnutls_free(parsed->cas);
	auto_crt_(&parsed->serving);
}

#define auto_parsed __attribute__((cleanup(parsed_done)))

static bool is_pem(const char *text)
{
	return text && strnlen(text, CERTIFICATE_PEM_MAX + 1) <= CERTIFICATE_PEM_MAX;
}

static void parse_cas(const char *text, struct parsed *parsed)
{
	gnutls_datum_t pem = tls_datum(text);
	gnutls_x509_crt_t *cas = NULL;
	unsigned n = 0;

	if (gnutls_x509_crt_list_import2(&cas, &n, &pem, GNUTLS_X509_FMT_PEM, 0) < 0)
		return;
	parsed->cas = cas;
	parsed->ncas = n;
}

static void parse_serving(const char *text, struct parsed *parsed)
{
	gnutls_datum_t pem = tls_datum(text);
	auto_crt gnutls_x509_crt_t crt = NULL;

	if (gnutls_x509_crt_init(&crt) >= 0 &&
	    gnutls_x509_crt_import(crt, &pem, GNUTLS_X509_FMT_PEM) >= 0)
		parsed->serving = take_ptr(crt);
}

static void parse(const struct certificate_set *set, struct parsed *ret_parsed)
{
	*ret_parsed = (struct parsed){ 0 };
	if (is_pem(set->ca_certs))
		parse_cas(set->ca_certs, ret_parsed);
	if (is_pem(set->serving.cert))
		parse_serving(set->serving.cert, ret_parsed);
}

static struct certificate_life life_of(gnutls_x509_crt_t crt)
{
	return (struct certificate_life){
		.made_ms = (int64_t)gnutls_x509_crt_get_activation_time(crt) * 1000 +
			   CERTIFICATE_BACKDATE_MS,
		.end_ms = (int64_t)gnutls_x509_crt_get_expiration_time(crt) * 1000,
	};
}

static bool is_good_at(gnutls_x509_crt_t crt, int64_t now_ms)
{
	struct certificate_life life = life_of(crt);

	return now_ms >= life.made_ms - CERTIFICATE_BACKDATE_MS && now_ms < life.end_ms;
}

/* True if @text is the key of @crt. */
static bool has_key(gnutls_x509_crt_t crt, const char *text)
{
	auto_key gnutls_x509_privkey_t key = NULL;
	unsigned char of_crt[KEY_ID_MAX];
	unsigned char of_key[KEY_ID_MAX];
	size_t crt_len = sizeof(of_crt);
	size_t key_len = sizeof(of_key);
	gnutls_datum_t pem;

	if (!is_pem(text))
		return false;
	pem = tls_datum(text);
	if (gnutls_x509_privkey_init(&key) < 0 ||
	    gnutls_x509_privkey_import2(key, &pem, GNUTLS_X509_FMT_PEM, NULL, 0) < 0)
		return false;
	if (gnutls_x509_crt_get_key_id(crt, GNUTLS_KEYID_USE_SHA256, of_crt, &crt_len) < 0 ||
	    gnutls_x509_privkey_get_key_id(key, GNUTLS_KEYID_USE_SHA256, of_key, &key_len) < 0)
		return false;
	return crt_len == key_len && memcmp(of_crt, of_key, crt_len) == 0;
}

/* The validity period is not checked here; is_good_at() does that for the caller's time. */
static bool is_by(gnutls_x509_crt_t crt, gnutls_x509_crt_t ca)
{
	unsigned status = 0;

	return gnutls_x509_crt_verify(crt, &ca, 1, GNUTLS_VERIFY_DISABLE_TIME_CHECKS, &status) >=
		       0 &&
	       status == 0;
}

/* The index of the CA that signed the serving certificate; ncas if none did. */
static unsigned issuer_of(const struct parsed *parsed)
{
	unsigned i;

	for (i = 0; parsed->serving && i < parsed->ncas; i++) {
		if (is_by(parsed->serving, parsed->cas[i]))
			return i;
	}
	return parsed->ncas;
}

static bool is_for(gnutls_x509_crt_t crt, const struct json_strs *hosts)
{
	for (size_t i = 0; i < hosts->len; i++) {
		if (!gnutls_x509_crt_check_hostname2(crt, hosts->items[i], 0))
			return false;
	}
	return true;
}

static void read_serving(const struct certificate_set *set, const struct parsed *parsed,
			 const struct json_strs *hosts, int64_t now_ms,
			 struct certificate_facts *facts)
{
	unsigned issuer = issuer_of(parsed);

	if (issuer == parsed->ncas)
		return;
	facts->serving = life_of(parsed->serving);
	facts->by_newest = issuer == 0;
	facts->serves =
		is_good_at(parsed->serving, now_ms) && is_good_at(parsed->cas[issuer], now_ms) &&
		has_key(parsed->serving, set->serving.key) && is_for(parsed->serving, hosts);
}

struct certificate_facts certificate_facts_read(const struct certificate_set *set,
						const struct json_strs *hosts, int64_t now_ms)
{
	struct certificate_facts facts = { 0 };
	auto_parsed struct parsed parsed;

	parse(set, &parsed);
	if (parsed.ncas == 0)
		return facts;
	facts.ca = life_of(parsed.cas[0]);
	facts.signs = is_good_at(parsed.cas[0], now_ms) && has_key(parsed.cas[0], set->ca_key);
	facts.overlaps = parsed.ncas > 1;
	read_serving(set, &parsed, hosts, now_ms, &facts);
	return facts;
}

/* The CA that signed the serving certificate, as PEM, which the caller frees; "" if none did. */
static char *certificate_facts_issuer(const struct certificate_set *set)
{
	auto_parsed struct parsed parsed;
	gnutls_datum_t pem = { 0 };
	unsigned issuer;
	char *text;

	parse(set, &parsed);
	issuer = issuer_of(&parsed);
	if (issuer == parsed.ncas ||
	    gnutls_x509_crt_export2(parsed.cas[issuer], GNUTLS_X509_FMT_PEM, &pem) < 0)
		return xstrdup("");
	text = xstrndup((const char *)pem.data, pem.size);
	gnutls_free(pem.data);
	return text;
}

/* --- the set --- */

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
	int r;

	assert(ca.cert && ca.key); /* RENEW needs facts.signs */
	r = certificate_make_serving(&ca, hosts, now_ms, &made, err);
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

/* --- the next step --- */

const char *certificate_step_text(enum certificate_step step)
{
	static const char *const texts[] = {
		[CERTIFICATE_KEEP] = "keep",       [CERTIFICATE_START_OVER] = "start-over",
		[CERTIFICATE_ADD_CA] = "add-ca",   [CERTIFICATE_RENEW] = "renew",
		[CERTIFICATE_DROP_CA] = "drop-ca",
	};

	return texts[step];
}

/* Renew after two thirds of the lifetime, which leaves a third for failures. */
static int64_t due_ms(const struct certificate_life *life)
{
	return life->made_ms + (life->end_ms - life->made_ms) / 3 * 2;
}

/* Repairs that cannot wait. */
static enum certificate_step urgent_step(const struct certificate_facts *facts)
{
	if (!facts->serves)
		return facts->signs ? CERTIFICATE_RENEW : CERTIFICATE_START_OVER;
	if (!facts->signs)
		return CERTIFICATE_ADD_CA;
	return CERTIFICATE_KEEP;
}

/* The next regular step, and when it is due. */
static enum certificate_step next_step(const struct certificate_facts *facts, bool trusted,
				       int64_t *ret_at_ms)
{
	if (!facts->by_newest) {
		*ret_at_ms = facts->ca.made_ms + CERTIFICATE_OVERLAP_MS;
		return trusted ? CERTIFICATE_RENEW : CERTIFICATE_KEEP;
	}
	if (facts->overlaps) {
		*ret_at_ms = facts->serving.made_ms + CERTIFICATE_OVERLAP_MS;
		return CERTIFICATE_DROP_CA;
	}
	if (due_ms(&facts->ca) <= due_ms(&facts->serving)) {
		*ret_at_ms = due_ms(&facts->ca);
		return CERTIFICATE_ADD_CA;
	}
	*ret_at_ms = due_ms(&facts->serving);
	return CERTIFICATE_RENEW;
}

enum certificate_step certificate_plan(const struct certificate_facts *facts, bool trusted,
				       int64_t now_ms, int64_t *ret_next_ms)
{
	enum certificate_step step = urgent_step(facts);
	int64_t at_ms;

	if (step != CERTIFICATE_KEEP)
		return step;
	step = next_step(facts, trusted, &at_ms);
	if (now_ms >= at_ms && step != CERTIFICATE_KEEP)
		return step;
	*ret_next_ms = at_ms > now_ms ? at_ms : now_ms + CERTIFICATE_OVERLAP_MS;
	return CERTIFICATE_KEEP;
}
