/*
 * exec_credential: the input and output of a credential plugin: the ExecCredential of
 * client.authentication.k8s.io, v1 and v1beta1. Pure, except that it reads the CA's file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct kube_config;

/* The value of KUBERNETES_EXEC_INFO, for the caller to free. @config has an exec. @interactive:
 * the plugin gets standard input. Errors: the CA that the plugin is to get cannot be read. */
int exec_credential_ask(const struct kube_config *config, bool interactive, char **ret_text,
			struct err *err);

/* The credentials that the plugin printed. */
struct exec_credential {
	char *token; /* NULL: none */
	char *cert;  /* PEM; NULL: none; goes with @key */
	char *key;
	int64_t expires_ms; /* INT64_MAX: not given */
};

/* Parse @text. Errors (ERR_RETRY, -ENOKEY) describe what is wrong and quote only its apiVersion,
 * because it may contain secrets. On success the caller releases with exec_credential_done(). */
int exec_credential_read(const char *text, size_t len, const char *api_version,
			 struct exec_credential *ret_credential, struct err *err);

/* Wipes the secrets and frees them. */
void exec_credential_done(struct exec_credential *credential);
