#include "kube/kubeconfig_user.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/mem.h"
#include "kube/credentials.h"
#include "kube/impersonate.h"
#include "kube/kubeconfig_exec.h"
#include "kube/kubeconfig_files.h"

int kubeconfig_pem(const struct kubeconfig_entry *entry, const char *key, struct kube_pem *pem,
		   struct err *err)
{
	auto_free char *data_key = xasprintf("%s-data", key);
	const char *data = kubeconfig_text(entry->body, data_key);
	const char *path = kubeconfig_text(entry->body, key);

	if (!data) {
		if (path)
			pem->path = kubeconfig_path(entry, path);
		return 0;
	}
	if (!base64_decode(data, strlen(data), &pem->data, &pem->len))
		return kubeconfig_error(entry, data_key, "is not base64", err);
	if (!strstr(pem->data, "-----BEGIN "))
		return kubeconfig_error(entry, data_key, "holds no PEM block", err);
	return 0;
}

/* A list of texts; @max bounds what anybody's file may have us hold. */
static int read_as_groups(const struct kubeconfig_entry *entry, struct kube_as *as, struct err *err)
{
	const json_t *list = json_object_get(entry->body, "as-groups");
	const json_t *item;
	size_t i;

	if (list && !json_is_null(list) && !json_is_array(list))
		return kubeconfig_error(entry, "as-groups", "is not a list", err);
	json_array_foreach (list, i, item) {
		if (!json_is_string(item))
			return kubeconfig_error(entry, "as-groups", "has what is not a text", err);
		json_strs_add(&as->groups, json_string_value(item));
	}
	return 0;
}

/* key: [value, ...] */
static int read_as_extra(const struct kubeconfig_entry *entry, struct kube_as *as, struct err *err)
{
	json_t *map = json_object_get(entry->body, "as-user-extra");
	const char *key;
	json_t *list;
	json_t *item;
	size_t i;

	json_object_foreach (map, key, list) {
		json_array_foreach (list, i, item) {
			if (!json_is_string(item))
				return kubeconfig_error(entry, "as-user-extra",
							"has what is not a text", err);
			impersonate_extra(as, key, json_string_value(item));
		}
	}
	return 0;
}

static int read_as(const struct kubeconfig_entry *entry, struct kube_as *as, struct err *err)
{
	int r;

	as->user = xstrdup_or_null(kubeconfig_text(entry->body, "as"));
	as->uid = xstrdup_or_null(kubeconfig_text(entry->body, "as-uid"));
	r = read_as_groups(entry, as, err);
	return r < 0 ? r : read_as_extra(entry, as, err);
}

/* What kubectl, or the API server, does not know any more. */
static int refuse_old(const struct kubeconfig_entry *entry, struct err *err)
{
	static const char basic[] =
		"is not supported, no API server takes passwords since 1.19: use "
		"exec, a token or a client certificate";

	if (json_object_get(entry->body, "auth-provider"))
		return kubeconfig_error(
			entry, "auth-provider",
			"is not supported, kubectl has none since 1.26: use exec, a "
			"token or a client certificate",
			err);
	if (kubeconfig_text(entry->body, "username"))
		return kubeconfig_error(entry, "username", basic, err);
	if (kubeconfig_text(entry->body, "password"))
		return kubeconfig_error(entry, "password", basic, err);
	return 0;
}

static int read_certificate(const struct kubeconfig_entry *entry, struct kube_config *config,
			    struct err *err)
{
	int r = kubeconfig_pem(entry, "client-certificate", &config->cert, err);

	if (r == 0)
		r = kubeconfig_pem(entry, "client-key", &config->key, err);
	if (r == 0 &&
	    (config->cert.path || config->cert.data) != (config->key.path || config->key.data))
		return kubeconfig_error(entry, "client-certificate", "and client-key go together",
					err);
	return r;
}

/* YAML makes numbers and more of texts without quotes: as kubectl, none is passed over for that. */
static int check_texts(const struct kubeconfig_entry *entry, struct err *err)
{
	static const char *const keys[] = {
		"token",
		"tokenFile",
		"client-certificate-data",
		"client-certificate",
		"client-key",
		"client-key-data",
		"username",
		"password",
		"as",
		"as-uid",
	};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const json_t *value = json_object_get(entry->body, keys[i]);

		if (value && !json_is_string(value) && !json_is_null(value))
			return kubeconfig_error(entry, keys[i], "is not a text: quote it", err);
	}
	return 0;
}

/* A token that is there already needs no program, as in kubectl. */
static int read_program(const struct kubeconfig_entry *entry,
			const struct kube_config_source *source, struct kube_config *config,
			struct err *err)
{
	const json_t *exec = json_object_get(entry->body, "exec");
	bool has_token = config->token || config->token_path ||
			 (source->flags && source->flags->token && source->flags->token[0]);

	if (!exec || json_is_null(exec) || has_token)
		return 0;
	if (!source->person)
		return kubeconfig_error(
			entry, "exec",
			"is for people, this program runs no other for credentials: "
			"use token, tokenFile or client-certificate with client-key",
			err);
	return kubeconfig_exec(entry, &config->exec, err);
}

int kubeconfig_user(const struct kubeconfig_entry *entry, const struct kube_config_source *source,
		    struct kube_config *config, struct err *err)
{
	const char *path = kubeconfig_text(entry->body, "tokenFile");
	const char *token = kubeconfig_text(entry->body, "token");
	int r = check_texts(entry, err);

	if (r == 0)
		r = refuse_old(entry, err);
	if (r < 0)
		return r;
	if (token && !credentials_is_token(token))
		return kubeconfig_error(entry, "token", "has characters that no token has", err);
	config->token = xstrdup_or_null(token);
	if (path)
		config->token_path = kubeconfig_path(entry, path);
	r = read_certificate(entry, config, err);
	if (r == 0)
		r = read_as(entry, &config->as, err);
	return r < 0 ? r : read_program(entry, source, config, err);
}
