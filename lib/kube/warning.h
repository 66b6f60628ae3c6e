/*
 * warning: parses warnings that the API server sends with a response, for example from admission
 * webhooks or for deprecated APIs. They are HTTP headers, `Warning: 299 - "text"` (RFC 7234,
 * section 5.5; k8s.io/apiserver/pkg/warning). Pure.
 */
#pragma once

#include <stddef.h>

struct str;

enum { WARNING_TOTAL_MAX = 16 * 1024 }; /* bytes kept per response */

/* If the header line @line is such a warning, append its text and a newline to @to. Malformed
 * warnings and other codes are ignored. The text is sanitized (str_add_clean). */
void warning_take(struct str *to, const char *line, size_t len);
