/* webhookconfiguration: ValidatingWebhookConfiguration and MutatingWebhookConfiguration of
 * admissionregistration.k8s.io/v1: only the CA bundles that the API server trusts. */
#pragma once

#include "api/kind.h"
#include "api/meta.h"

struct webhookconfiguration_client {
	char *ca_bundle; /* PEM in base64 */
};

struct webhookconfiguration_webhook {
	char *name;
	struct webhookconfiguration_client client_config;
};

struct webhookconfiguration {
	struct api_meta meta;
	struct {
		struct webhookconfiguration_webhook *items;
		size_t len, cap;
	} webhooks;
};

extern const struct api_kind validatingwebhookconfiguration_kind;
extern const struct api_kind mutatingwebhookconfiguration_kind;
