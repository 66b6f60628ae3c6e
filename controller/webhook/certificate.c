#include "controller/webhook/certificate.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gnutls/crypto.h>

#include "api/json_values.h"
#include "base/mem.h"
#include "controller/webhook/certificate_gnutls.h"
#include "controller/webhook/tls_datum.h"

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

static char *text_of(gnutls_datum_t *data)
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
	ret_pair->cert = text_of(&cert_text);
	ret_pair->key = text_of(&key_text);
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
