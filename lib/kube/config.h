/*
 * config: where the API server is and how to prove who we are.
 *
 * A plain value: it holds what was configured, not what the files hold now (credentials.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/json_values.h"

/* A PEM file: by path, or its content from base64 in the kubeconfig. Neither: not configured. */
struct kube_pem {
	char *path; /* absolute or relative to the working directory */
	char *data;
	size_t len;
};

/* When a program that prints credentials gets our standard input. */
enum kube_exec_stdin { KUBE_STDIN_NEVER, KUBE_STDIN_IF_AVAILABLE, KUBE_STDIN_ALWAYS };

/* A program that prints credentials: users[].user.exec. */
struct kube_exec {
	char *user;    /* whose entry it is, for messages                              */
	char *command; /* a path if it has a slash; else to be looked for on PATH      */
	struct json_strs args;
	struct json_strs env; /* "NAME=value", beside the environment                 */
	char *api_version;    /* of the ExecCredential that it reads and prints       */
	char *install_hint;   /* NULL: none                                           */
	bool cluster_info;    /* it wants to know the cluster                         */
	enum kube_exec_stdin input;
};

/* Whom to act as, if the API server lets us. All empty: as ourselves. */
struct kube_as {
	char *user;
	char *uid;
	struct json_strs groups;
	struct json_strs extra; /* headers: "Impersonate-Extra-KEY: value" */
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
	char *proxy;           /* URL of the proxy; NULL: none */
	bool proxy_env;        /* without @proxy, what HTTPS_PROXY and the like say */
	struct kube_as as;
	struct kube_exec *exec; /* where token or certificate come from; NULL: from above */
	char *exec_config;      /* JSON that the cluster's entry has for it; NULL: none    */
	char *ns;               /* never NULL after a load */
	char *origin;           /* for messages: "/root/.kube/config, context 'dev'" */
};

/* What a command line says over the file; NULL, "" or false: nothing. */
struct kube_config_flags {
	const char *cluster; /* entries of the kubeconfig, instead of the context's */
	const char *user;
	const char *server;
	const char *tls_server_name;
	const char *ca; /* paths */
	const char *cert;
	const char *key;
	const char *token;
	const char *as;
	const char *as_uid;
	const char *const *as_groups; /* @as_groups_len of them */
	size_t as_groups_len;
	bool insecure;
};

/* What decides where the configuration comes from. NULL is the same as "". */
struct kube_config_source {
	const char *path;                      /* --kubeconfig                                  */
	const char *context;                   /* --context; "" is the file's current-context   */
	const char *kubeconfig;                /* $KUBECONFIG: one path, or several with colons */
	const char *home;                      /* $HOME                                         */
	const char *service_host;              /* $KUBERNETES_SERVICE_HOST */
	const char *service_port;              /* $KUBERNETES_SERVICE_PORT */
	const char *account_dir;               /* tests; "" is KUBE_ACCOUNT_DIR */
	const struct kube_config_flags *flags; /* NULL: none */
	bool person; /* as kubectl: run what the file names (exec), and heed HTTPS_PROXY */
};

#define KUBE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

void kube_pem_done(struct kube_pem *pem);
struct kube_exec *kube_exec_free(struct kube_exec *exec); /* takes NULL, returns NULL */
void kube_as_done(struct kube_as *as);

/* Forget how we prove who we are: token, certificate, program. */
void kube_config_forget_user(struct kube_config *config);

/* Release; the secrets are wiped first. A released config is empty and may be loaded again. */
void kube_config_done(struct kube_config *config);

#define auto_kube_config __attribute__((cleanup(kube_config_done)))
