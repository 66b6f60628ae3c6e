/*
 * rule: one kind's rule about one operation, and how it says what it found. Pure.
 *
 * A rule refuses at most a few times and may warn; what it says begins with the object that it is
 * about, goes on with what is wrong and ends with the way out.
 */
#pragma once

#include <stdbool.h>

struct admission_answer;
struct admission_request;
struct known;

/* HTTP's, of a refusal. */
enum rule_code {
	RULE_FORBIDDEN = 403,
	RULE_CONFLICT = 409, /* with another object, which may go */
	RULE_INVALID = 422,
	RULE_LATER = 503,
};

struct rule_case {
	const struct known *known;
	const struct admission_request *request;
	const char *subject; /* "PCIDeviceClaim 'node1-000001000'" */
	const void *object;  /* the kind's struct; NULL of a deletion */
	const void *old;     /* likewise; NULL of a creation          */
	struct admission_answer *answer;
};

typedef void rule_fn(const struct rule_case *c);

/* Always true, so that `a(c) || b(c)` ends with the first that refuses. */
bool rule_refuse(const struct rule_case *c, enum rule_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void rule_warn(const struct rule_case *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A user's text, short enough to be repeated; "" for NULL. The caller frees. */
char *rule_quote(const char *text);
/* Likewise, of words that an agent has said: whole, as far as views keep them (view_text.h). In a warning only
 * as the last words, as that is cut at ADMISSION_WARNING_MAX. */
char *rule_quote_words(const char *text);
