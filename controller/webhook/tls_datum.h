/* tls_datum: a string as a GnuTLS datum. */
#pragma once

#include <string.h>

#include <gnutls/gnutls.h>

/* For functions that only read it but take no const. Borrowed. */
static inline gnutls_datum_t tls_datum(const char *text)
{
	union {
		const char *text;
		unsigned char *data;
	} same = { .text = text };

	return (gnutls_datum_t){ same.data, (unsigned)strlen(text) };
}
