/*
 * webhook: the complete admission webhook: listener, certificate, CA bundle and rules.
 *
 * Every replica serves; the leader maintains the Secret and the configurations' caBundle.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/json_values.h"

struct admission_rules;
struct admission_service;
struct clock;
struct err;
struct kube_client;
struct listen_address;
struct metrics;
struct str;
struct uv_loop_s;
struct webhook;

/* Borrowed, except for the strings and the address. */
struct webhook_options {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics; /* may be NULL */
	const struct listen_address *address;
	const char *client_ca;  /* see listener.h */
	const char *ns;         /* our namespace: of the Secret and the Service */
	struct json_strs hosts; /* host names in addition to the Service's name */
	const struct admission_rules *rules;
	bool (*leads)(void *arg); /* checked before each write */
	void *arg;
};

/* Listens at once. Errors name the address. */
int webhook_new(struct uv_loop_s *loop, const struct webhook_options *options,
		struct webhook **ret_webhook, struct err *err);
/* Takes NULL, returns NULL. The loop must run once more. */
struct webhook *webhook_free(struct webhook *webhook);

/* We lead now: enqueue the leader's work. */
void webhook_lead(struct webhook *webhook);

/* 0 once there is a certificate and the rules have enough data; else < 0 with @err. For readyz. */
int webhook_ready(struct webhook *webhook, struct err *err);

/* As listener_drain(). */
void webhook_drain(struct webhook *webhook);

unsigned webhook_port(const struct webhook *webhook);

/*
 * --- requests ---
 *
 * The webhook's two paths, /validate and /mutate: answers them with the rules, and counts requests.
 * Independent of connections.
 */

/* Borrowed; @metrics may be NULL. */
struct admission_service *admission_service_new(const struct admission_rules *rules,
						struct metrics *metrics);
/* Takes NULL, returns NULL. */
struct admission_service *admission_service_free(struct admission_service *service);

/* The response to @body sent to @path by a client that is @verified, for listener.h: returns the
 * HTTP status, with the review or an error text in @out. */
int admission_service_answer(struct admission_service *service, const char *path, bool verified,
			     const char *body, size_t len, struct str *out);
