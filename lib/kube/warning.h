/*
 * warning: what an API server warns of beside its answer: admission webhooks, deprecations. It comes as
 * HTTP headers, `Warning: 299 - "text"` (RFC 7234, section 5.5; k8s.io/apiserver/pkg/warning). Pure.
 */
#pragma once

#include <stddef.h>

struct str;

enum { WARNING_TOTAL_MAX = 16 * 1024 }; /* bytes that are kept of one answer */

/* If @line, a line of a head, is such a header, append its text and a newline to @to. What is no proper
 * warning, or has another code, is passed over. The text is cleaned (str_add_clean). */
void warning_take(struct str *to, const char *line, size_t len);
