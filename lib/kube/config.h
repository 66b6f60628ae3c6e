/*
 * config: the API server's address and our credentials.
 *
 * A plain value: it holds the configuration, not the current content of files (credentials.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/json_values.h"

struct err;

/* A PEM file: a path, or the decoded content of the kubeconfig's base64. Neither: not
 * configured. */
struct kube_pem {
	char *path; /* absolute or relative to the working directory */
	char *data;
	size_t len;
};

/* Whether an exec credential plugin gets our standard input (interactiveMode). */
enum kube_exec_stdin { KUBE_STDIN_NEVER, KUBE_STDIN_IF_AVAILABLE, KUBE_STDIN_ALWAYS };

/* An exec credential plugin: users[].user.exec. */
struct kube_exec {
	char *user;    /* name of the kubeconfig's user, for messages */
	char *command; /* a path if it has a slash; else searched in PATH */
	struct json_strs args;
	struct json_strs env; /* "NAME=value", added to the environment */
	char *api_version;    /* of the ExecCredential that it reads and prints */
	char *install_hint;   /* NULL: none */
	bool cluster_info;    /* provideClusterInfo */
	enum kube_exec_stdin input;
};

/* The user to impersonate. All empty: no impersonation. */
struct kube_as {
	char *user;
	char *uid;
	struct json_strs groups;
	struct json_strs extra; /* headers: "Impersonate-Extra-KEY: value" */
};

struct kube_config {
	char *server; /* "https://host:port" with an optional path, without a trailing slash */
	struct kube_pem ca;
	struct kube_pem cert;
	struct kube_pem key;
	char *token; /* NULL if none; @token_path wins if both are set */
	char *token_path;
	char *tls_server_name; /* expected name in the certificate; NULL: the server's */
	bool insecure;         /* accept any certificate */
	char *proxy;           /* proxy URL; NULL: none */
	bool proxy_env;        /* without @proxy, use HTTPS_PROXY and related variables */
	struct kube_as as;
	struct kube_exec *exec; /* exec plugin for token or certificate; NULL: none */
	char *exec_config;      /* JSON of the cluster entry's exec extension; NULL: none */
	char *ns;               /* never NULL after a load */
	char *origin;           /* for messages: "/root/.kube/config, context 'dev'" */
};

/* Command line flags, which override the file. NULL, "" or false: not given. */
struct kube_config_flags {
	const char *cluster; /* kubeconfig entries to use instead of the context's */
	const char *user;
	const char *server;
	const char *tls_server_name;
	const char *ca; /* file paths */
	const char *cert;
	const char *key;
	const char *token;
	const char *as;
	const char *as_uid;
	const char *const *as_groups; /* @as_groups_len of them */
	size_t as_groups_len;
	bool insecure;
};

/* Where to look for the configuration. NULL is the same as "". */
struct kube_config_source {
	const char *path;         /* --kubeconfig */
	const char *context;      /* --context; "": the file's current-context */
	const char *kubeconfig;   /* $KUBECONFIG: one path, or several separated by colons */
	const char *home;         /* $HOME */
	const char *service_host; /* $KUBERNETES_SERVICE_HOST */
	const char *service_port; /* $KUBERNETES_SERVICE_PORT */
	const char *account_dir;  /* for tests; "": KUBE_ACCOUNT_DIR */
	const struct kube_config_flags *flags; /* NULL: none */
	bool person; /* behave like kubectl: run exec plugins, use HTTPS_PROXY */
};

#define KUBE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

void kube_pem_done(struct kube_pem *pem);
struct kube_exec *kube_exec_free(struct kube_exec *exec); /* takes NULL, returns NULL */
void kube_as_done(struct kube_as *as);

/* Drop all credentials: token, certificate, exec plugin. */
void kube_config_forget_user(struct kube_config *config);

/* Release the config; secrets are wiped first. A released config is empty and may be loaded
 * again. */
void kube_config_done(struct kube_config *config);

#define auto_kube_config __attribute__((cleanup(kube_config_done)))

/*
 * --- impersonation ---
 *
 * By request headers. Pure.
 */

/* Add a value to userInfo.extra[@key]. */
void impersonate_extra(struct kube_as *as, const char *key, const char *value);

/* Check that impersonation has a user and that no value can break out of its header. */
int impersonate_check(const struct kube_as *as, struct err *err);

/* Append "Impersonate-User: jane" and related headers; none without a user. */
void impersonate_headers(const struct kube_as *as, struct json_strs *headers);

/*
 * --- finding the configuration ---
 *
 * In the same places as kubectl and client-go.
 */

/* Fill @source from the process's environment; the strings are borrowed from it. */
void kube_config_source_env(struct kube_config_source *source);

/*
 * Load from the first of: the explicit path, $KUBECONFIG, the pod's service account,
 * ~/.kube/config. On success the caller releases @config with kube_config_done(); on error it is
 * empty. The flags in @source override what is found. Every message names the file and the entry,
 * and says what to do.
 */
int kube_config_load(const struct kube_config_source *source, struct kube_config *config,
		     struct err *err);

/* Append the names of the "contexts", "clusters" or "users" in the kubeconfig to @names. */
void kube_config_names(const struct kube_config_source *source, const char *plural,
		       struct json_strs *names);
