/*
 * admission_service: answers the two paths of the webhook, /validate and /mutate, by the rules, and
 * counts. Knows no connection.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct admission_rules;
struct admission_service;
struct metrics;
struct str;

/* Borrowed; @metrics may be NULL. */
struct admission_service *admission_service_new(const struct admission_rules *rules,
						struct metrics *metrics);
/* Takes NULL, returns NULL. */
struct admission_service *admission_service_free(struct admission_service *service);

/* The answer to @body posted to @path by a client that is @verified, as listener.h wants it: HTTP's status, and in @out the
 * review, or why there is none. */
int admission_service_answer(struct admission_service *service, const char *path, bool verified,
			     const char *body, size_t len, struct str *out);
