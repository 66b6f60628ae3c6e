/* certificate_gnutls: cleanup attributes for GnuTLS objects, and error conversion. Private to
 * the code that creates and reads certificates. */
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

/* Returns 0 on success, else fills @err with GnuTLS's message. */
static inline int certificate_check(int code, const char *what, struct err *err)
{
	if (code >= 0)
		return 0;
	return err_set(err, ERR_INVALID, -EINVAL, "%s: %s", what, gnutls_strerror(code));
}
