/*
 * admission_service: handles the webhook's two paths, /validate and /mutate, with the rules, and
 * counts requests. Independent of connections.
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

/* The response to @body sent to @path by a client that is @verified, for listener.h: returns the
 * HTTP status, with the review or an error text in @out. */
int admission_service_answer(struct admission_service *service, const char *path, bool verified,
			     const char *body, size_t len, struct str *out);
