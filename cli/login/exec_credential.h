/*
 * exec_credential: what is said to and by a program that prints credentials: the ExecCredential of
 * client.authentication.k8s.io, v1 and v1beta1. Pure, but for the CA's file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct kube_config;

/* What it gets in KUBERNETES_EXEC_INFO, for the caller to free. @config has an exec. @interactive: standard
 * input is its own. Errors: a CA that it is to know, and that cannot be read. */
int exec_credential_ask(const struct kube_config *config, bool interactive, char **ret_text,
			struct err *err);

/* What it has printed. */
struct exec_credential {
	char *token; /* NULL: none */
	char *cert;  /* PEM; NULL: none; goes with @key */
	char *key;
	int64_t expires_ms; /* INT64_MAX: not said */
};

/* Read @text. Errors (ERR_RETRY, -ENOKEY) say what is wrong with it, and quote nothing of it but its apiVersion:
 * there may be secrets in it. On success the caller releases by exec_credential_done(). */
int exec_credential_read(const char *text, size_t len, const char *api_version,
			 struct exec_credential *ret_credential, struct err *err);

/* Wipes, too. */
void exec_credential_done(struct exec_credential *credential);
