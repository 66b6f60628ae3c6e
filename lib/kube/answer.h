/*
 * answer: what a response of the API server says besides its object: the error, as the codes listed
 * in client.h, and the warnings. Pure.
 */
#pragma once

#include <stddef.h>

struct err;
struct str;

/* Largest error body that is parsed. */
enum { ANSWER_STATUS_MAX = 64 * 1024 };

/* Return 0 for 2xx. Otherwise fill @err with the code and kind from client.h's table and a
 * message that quotes the Status object in @body, or the beginning of the text if it is not a
 * Status. */
int answer_result(int status, const char *body, size_t len, struct err *err);

enum { ANSWER_WARNINGS_MAX = 16 * 1024 }; /* bytes kept per response */

/* If the header line @line is a warning, `Warning: 299 - "text"`, append its text and a newline to
 * @to. Admission webhooks and deprecated APIs send them (RFC 7234, section 5.5;
 * k8s.io/apiserver/pkg/warning). Malformed warnings and other codes are ignored. The text is
 * sanitized (str_add_clean). */
void answer_add_warning(struct str *to, const char *line, size_t len);
