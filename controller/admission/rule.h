/*
 * rule: a rule for one kind and operation, and how it reports its result. Pure.
 *
 * A rule may refuse and warn. A message names the object, then the problem, then the solution.
 */
#pragma once

#include <stdbool.h>

struct admission_answer;
struct admission_request;
struct known;

/* HTTP status of a refusal. */
enum rule_code {
	RULE_FORBIDDEN = 403,
	RULE_CONFLICT = 409, /* conflict with another object, which may go away */
	RULE_INVALID = 422,
	RULE_LATER = 503,
};

struct rule_case {
	const struct known *known;
	const struct admission_request *request;
	const char *subject; /* "PCIDeviceClaim 'node1-000001000'" */
	const void *object;  /* the kind's struct; NULL for a deletion */
	const void *old;     /* likewise; NULL for a creation */
	struct admission_answer *answer;
};

typedef void rule_fn(const struct rule_case *c);

/* Always returns true, so that `a(c) || b(c)` stops at the first refusal. */
bool rule_refuse(const struct rule_case *c, enum rule_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void rule_warn(const struct rule_case *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A user's text, shortened for a message; "" for NULL. The caller frees it. */
char *rule_quote(const char *text);
/* Likewise for an agent's text, in full as far as views keep it (view.h). In a warning it
 * must come last, because warnings are cut at ADMISSION_WARNING_MAX. */
char *rule_quote_words(const char *text);
