#include "controller/webhook/tls_pair.h"

#include <errno.h>
#include <stdlib.h>

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>

#include "base/err.h"
#include "base/mem.h"
#include "controller/webhook/tls_datum.h"

enum { CHAIN_MAX = 4 };

struct tls_pair {
	unsigned refs;
	gnutls_pcert_st certs[CHAIN_MAX];
	unsigned ncerts;
	gnutls_privkey_t key;
};

static int load(struct tls_pair *pair, const char *cert, const char *key)
{
	gnutls_datum_t cert_text = tls_datum(cert);
	gnutls_datum_t key_text = tls_datum(key);
	unsigned n = CHAIN_MAX;
	int r = gnutls_pcert_list_import_x509_raw(pair->certs, &n, &cert_text, GNUTLS_X509_FMT_PEM,
						  GNUTLS_X509_CRT_LIST_FAIL_IF_UNSORTED);

	if (r < 0)
		return r;
	pair->ncerts = n;
	r = gnutls_privkey_init(&pair->key);
	if (r < 0)
		return r;
	return gnutls_privkey_import_x509_raw(pair->key, &key_text, GNUTLS_X509_FMT_PEM, NULL, 0);
}

int tls_pair_new(const char *cert, const char *key, struct tls_pair **ret_pair, struct err *err)
{
	struct tls_pair *pair = xcalloc(1, sizeof(*pair));
	int r = load(pair, cert, key);

	pair->refs = 1;
	if (r < 0) {
		tls_pair_unref(pair);
		return err_set(err, ERR_INVALID, -EINVAL, "load the certificate and its key: %s",
			       gnutls_strerror(r));
	}
	*ret_pair = pair;
	return 0;
}

struct tls_pair *tls_pair_ref(struct tls_pair *pair)
{
	pair->refs++;
	return pair;
}

struct tls_pair *tls_pair_unref(struct tls_pair *pair)
{
	if (!pair || --pair->refs > 0)
		return NULL;
	for (unsigned i = 0; i < pair->ncerts; i++)
		gnutls_pcert_deinit(&pair->certs[i]);
	if (pair->key)
		gnutls_privkey_deinit(pair->key);
	free(pair);
	return NULL;
}

struct gnutls_pcert_st *tls_pair_certs(struct tls_pair *pair, unsigned *ret_len)
{
	*ret_len = pair->ncerts;
	return pair->certs;
}

struct gnutls_privkey_st *tls_pair_key(struct tls_pair *pair)
{
	return pair->key;
}
