/*
 * webhook: the admission webhook as a whole: listener, certificate, trust and rules tied together.
 *
 * Every replica serves; the one that leads keeps the Secret and the caBundle of the configurations.
 */
#pragma once

#include <stdbool.h>

#include "api/json_values.h"

struct admission_rules;
struct clock;
struct err;
struct kube_client;
struct listen_address;
struct metrics;
struct uv_loop_s;
struct webhook;

/* Borrowed, but for the texts and the address. */
struct webhook_options {
	struct kube_client *client;
	struct clock *clock;
	struct metrics *metrics; /* may be NULL */
	const struct listen_address *address;
	const char *client_ca;  /* as listener.h has it */
	const char *ns;         /* ours: of the Secret and of the Service */
	struct json_strs hosts; /* what the webhook is called beside its Service's name */
	const struct admission_rules *rules;
	bool (*leads)(void *arg); /* asked before each write */
	void *arg;
};

/* Listens at once. Errors name the address. */
int webhook_new(struct uv_loop_s *loop, const struct webhook_options *options,
		struct webhook **ret_webhook, struct err *err);
/* Takes NULL, returns NULL. The loop must run once more. */
struct webhook *webhook_free(struct webhook *webhook);

/* We lead now: do what is to be done. */
void webhook_lead(struct webhook *webhook);

/* 0 once there is a certificate and the rules know enough; else < 0 with @err. For readyz. */
int webhook_ready(struct webhook *webhook, struct err *err);

/* As listener_drain(). */
void webhook_drain(struct webhook *webhook);

unsigned webhook_port(const struct webhook *webhook);
