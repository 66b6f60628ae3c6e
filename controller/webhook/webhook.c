#include "controller/webhook/webhook.h"

#include <errno.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/webhook/admission_review.h"
#include "controller/webhook/admission_service.h"
#include "controller/webhook/ca_bundle.h"
#include "controller/webhook/certificate.h"
#include "controller/webhook/certificate_keeper.h"
#include "controller/webhook/listener.h"

/* As in manifests/base/webhook.yaml. */
static const char service_name[] = "hostdev-webhook";

struct webhook {
	const struct admission_rules *rules;
	struct admission_service *service;
	struct listener *listener;
	struct certificate_keeper *keeper;
	struct ca_bundle *bundle;
	bool (*leads)(void *arg);
	void *arg;
	bool serves; /* there is a certificate */
};

static int on_request(void *arg, const char *path, bool verified, const char *body, size_t len,
		      struct str *out)
{
	struct webhook *webhook = arg;

	return admission_service_answer(webhook->service, path, verified, body, len, out);
}

static bool leads(void *arg)
{
	struct webhook *webhook = arg;

	return webhook->leads(webhook->arg);
}

static bool trusted(void *arg)
{
	struct webhook *webhook = arg;

	return ca_bundle_trusted(webhook->bundle);
}

static void on_trusted(void *arg)
{
	struct webhook *webhook = arg;

	certificate_keeper_enqueue(webhook->keeper);
}

/* An unusable set is ignored: serving certificate and trusted CAs stay as they are. */
static void on_set(void *arg, const struct certificate_set *set, bool serves)
{
	struct webhook *webhook = arg;
	struct err err = { 0 };

	if (!serves)
		return;
	if (listener_use(webhook->listener, set->serving.cert, set->serving.key, &err) < 0) {
		log_error("webhook certificate", log_str("reason", err.msg));
		return;
	}
	log_info("webhook certificate in use");
	webhook->serves = true;
	ca_bundle_set(webhook->bundle, set->ca_certs);
}

static void make_keepers(struct webhook *webhook, const struct webhook_options *options)
{
	struct certificate_keeper_options keeper = {
		.client = options->client,
		.clock = options->clock,
		.metrics = options->metrics,
		.ns = options->ns,
		.leads = leads,
		.trusted = trusted,
		.on_set = on_set,
		.arg = webhook,
	};
	auto_free char *service = xasprintf("%s.%s.svc", service_name, options->ns);

	json_strs_add(&keeper.hosts, service);
	for (size_t i = 0; i < options->hosts.len; i++)
		json_strs_add_new(&keeper.hosts, options->hosts.items[i]);
	webhook->keeper = certificate_keeper_new(&keeper);
	json_strs_done(&keeper.hosts);
	webhook->bundle = ca_bundle_new(&(struct ca_bundle_options){
		.client = options->client,
		.clock = options->clock,
		.metrics = options->metrics,
		.leads = leads,
		.on_trusted = on_trusted,
		.arg = webhook,
	});
}

int webhook_new(struct uv_loop_s *loop, const struct webhook_options *options,
		struct webhook **ret_webhook, struct err *err)
{
	struct webhook *webhook = xcalloc(1, sizeof(*webhook));
	int r;

	webhook->rules = options->rules;
	webhook->leads = options->leads;
	webhook->arg = options->arg;
	r = listener_new(loop,
			 &(struct listener_options){
				 .clock = options->clock,
				 .metrics = options->metrics,
				 .address = options->address,
				 .client_ca = options->client_ca,
				 .answer = on_request,
				 .arg = webhook,
			 },
			 &webhook->listener, err);
	if (r < 0) {
		free(webhook);
		return r;
	}
	webhook->service = admission_service_new(options->rules, options->metrics);
	make_keepers(webhook, options);
	certificate_keeper_start(webhook->keeper);
	ca_bundle_start(webhook->bundle);
	*ret_webhook = webhook;
	return 0;
}

struct webhook *webhook_free(struct webhook *webhook)
{
	if (!webhook)
		return NULL;
	listener_free(webhook->listener);
	certificate_keeper_free(webhook->keeper);
	ca_bundle_free(webhook->bundle);
	admission_service_free(webhook->service);
	free(webhook);
	return NULL;
}

void webhook_lead(struct webhook *webhook)
{
	certificate_keeper_enqueue(webhook->keeper);
	ca_bundle_enqueue(webhook->bundle);
}

int webhook_ready(struct webhook *webhook, struct err *err)
{
	if (!webhook->serves)
		return err_set(err, ERR_RETRY, -EAGAIN,
			       "there is no certificate yet; the leader creates it (%s)",
			       certificate_keeper_text(webhook->keeper));
	if (webhook->rules->ready && !webhook->rules->ready(webhook->rules->arg, err))
		return -EAGAIN;
	return 0;
}

void webhook_drain(struct webhook *webhook)
{
	listener_drain(webhook->listener);
}

unsigned webhook_port(const struct webhook *webhook)
{
	return listener_port(webhook->listener);
}
