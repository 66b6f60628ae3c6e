/* tls_datum: a text as GnuTLS takes it. */
#pragma once

#include <string.h>

#include <gnutls/gnutls.h>

/* For calls that only read, though they take it without const. Borrowed. */
static inline gnutls_datum_t tls_datum(const char *text)
{
	union {
		const char *text;
		unsigned char *data;
	} same = { .text = text };

	return (gnutls_datum_t){ same.data, (unsigned)strlen(text) };
}
