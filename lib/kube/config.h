/*
 * config: where the API server is and how to prove who we are.
 *
 * A plain value: it holds what was configured, not what the files hold now (credentials.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A PEM file: by path, or its content from base64 in the kubeconfig. Neither: not configured. */
struct kube_pem {
	char *path; /* absolute or relative to the working directory */
	char *data;
	size_t len;
};

struct kube_config {
	char *server; /* "https://host:port" and maybe a path, without a slash at the end */
	struct kube_pem ca;
	struct kube_pem cert;
	struct kube_pem key;
	char *token; /* NULL if none; @token_path wins where both are set */
	char *token_path;
	char *tls_server_name; /* the name to expect in the certificate; NULL: the server's */
	bool insecure;         /* accept any certificate */
	char *ns;              /* never NULL after a load */
	char *origin;          /* for messages: "/root/.kube/config, context 'dev'" */
};

/* What decides where the configuration comes from. NULL is the same as "". */
struct kube_config_source {
	const char *path;         /* --kubeconfig                                  */
	const char *context;      /* --context; "" is the file's current-context   */
	const char *kubeconfig;   /* $KUBECONFIG: one path, or several with colons */
	const char *home;         /* $HOME                                         */
	const char *service_host; /* $KUBERNETES_SERVICE_HOST */
	const char *service_port; /* $KUBERNETES_SERVICE_PORT */
	const char *account_dir;  /* tests; "" is KUBE_ACCOUNT_DIR */
};

#define KUBE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

/* Release; the secrets are wiped first. A released config is empty and may be loaded again. */
void kube_config_done(struct kube_config *config);

#define auto_kube_config __attribute__((cleanup(kube_config_done)))
