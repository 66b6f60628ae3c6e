#include "controller/webhook/certificate_facts.h"

#include <stdlib.h>
#include <string.h>

#include "api/json_values.h"
#include "base/mem.h"
#include "controller/webhook/certificate_gnutls.h"
#include "controller/webhook/certificate_set.h"
#include "controller/webhook/tls_datum.h"

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

char *certificate_facts_issuer(const struct certificate_set *set)
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
