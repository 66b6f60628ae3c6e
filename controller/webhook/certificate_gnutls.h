/* certificate_gnutls: GnuTLS's objects with cleanup attributes, and its errors. Private to what makes
 * and what reads certificates. */
#pragma once

#include <errno.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "base/err.h"

static inline void auto_crt_(const gnutls_x509_crt_t *crt)
{
	if (*crt)
		gnutls_x509_crt_deinit(*crt);
}

static inline void auto_key_(const gnutls_x509_privkey_t *key)
{
	if (*key)
		gnutls_x509_privkey_deinit(*key);
}

#define auto_crt __attribute__((cleanup(auto_crt_)))
#define auto_key __attribute__((cleanup(auto_key_)))

/* 0 for what is no error, else @err with what GnuTLS says. */
static inline int certificate_check(int code, const char *what, struct err *err)
{
	if (code >= 0)
		return 0;
	return err_set(err, ERR_INVALID, -EINVAL, "%s: %s", what, gnutls_strerror(code));
}
