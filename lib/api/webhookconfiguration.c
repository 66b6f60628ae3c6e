#include "api/webhookconfiguration.h"

static const struct json_row client_map[] = {
	JSON_STR(struct webhookconfiguration_client, ca_bundle, "caBundle", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row webhook_map[] = {
	JSON_STR(struct webhookconfiguration_webhook, name, "name", JSON_REQUIRED),
	JSON_STRUCT(struct webhookconfiguration_webhook, client_config, "clientConfig",
		    JSON_OPTIONAL, struct webhookconfiguration_client, client_map),
	JSON_END,
};

static const struct json_row map[] = {
	API_META(struct webhookconfiguration),
	JSON_LIST(struct webhookconfiguration, webhooks, "webhooks", JSON_OPTIONAL,
		  struct webhookconfiguration_webhook, webhook_map),
	JSON_END,
};

const struct api_kind validatingwebhookconfiguration_kind = {
	.group = "admissionregistration.k8s.io",
	.version = "v1",
	.kind = "ValidatingWebhookConfiguration",
	.plural = "validatingwebhookconfigurations",
	.size = sizeof(struct webhookconfiguration),
	.map = map,
};

const struct api_kind mutatingwebhookconfiguration_kind = {
	.group = "admissionregistration.k8s.io",
	.version = "v1",
	.kind = "MutatingWebhookConfiguration",
	.plural = "mutatingwebhookconfigurations",
	.size = sizeof(struct webhookconfiguration),
	.map = map,
};
