#include "kube/kubeconfig_exec.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "kube/config.h"
#include "kube/kubeconfig_files.h"

enum { WORDS_MAX = 256 };

static int exec_error(const struct kubeconfig_entry *entry, const char *key, const char *why,
		      struct err *err)
{
	auto_free char *path = xasprintf("exec.%s", key);

	return kubeconfig_error(entry, path, why, err);
}

static int check_list(const struct kubeconfig_entry *entry, const char *key, const json_t *list,
		      struct err *err)
{
	if (list && !json_is_null(list) && !json_is_array(list))
		return exec_error(entry, key, "is not a list", err);
	if (json_array_size(list) > WORDS_MAX)
		return exec_error(entry, key, "has more than 256 items", err);
	return 0;
}

static int read_args(const struct kubeconfig_entry *entry, const json_t *body,
		     struct kube_exec *exec, struct err *err)
{
	const json_t *list = json_object_get(body, "args");
	const json_t *item;
	size_t i;
	int r = check_list(entry, "args", list, err);

	json_array_foreach (list, i, item) {
		if (r == 0 && !json_is_string(item))
			r = exec_error(entry, "args", "has what is not a text: quote it", err);
		if (r < 0)
			return r;
		json_strs_add(&exec->args, json_string_value(item));
	}
	return r;
}

static int read_env(const struct kubeconfig_entry *entry, const json_t *body,
		    struct kube_exec *exec, struct err *err)
{
	const json_t *list = json_object_get(body, "env");
	const json_t *item;
	size_t i;
	int r = check_list(entry, "env", list, err);

	json_array_foreach (list, i, item) {
		const char *name = kubeconfig_text(item, "name");
		const char *value = json_string_value(json_object_get(item, "value"));
		auto_free char *line = NULL;

		if (r == 0 && (!name || strchr(name, '=') || !value))
			r = exec_error(entry, "env", "has an item without name and value", err);
		if (r < 0)
			return r;
		line = xasprintf("%s=%s", name, value);
		json_strs_add(&exec->env, line);
	}
	return r;
}

static int read_version(const struct kubeconfig_entry *entry, const json_t *body,
			struct kube_exec *exec, struct err *err)
{
	const char *version = kubeconfig_text(body, "apiVersion");

	if (!version)
		return exec_error(entry, "apiVersion",
				  "is missing: client.authentication.k8s.io/v1, or v1beta1", err);
	if (strcmp(version, "client.authentication.k8s.io/v1") != 0 &&
	    strcmp(version, "client.authentication.k8s.io/v1beta1") != 0)
		return exec_error(entry, "apiVersion",
				  "is not client.authentication.k8s.io/v1 or v1beta1: have the "
				  "kubeconfig made anew by what made it",
				  err);
	exec->api_version = xstrdup(version);
	return 0;
}

/* Older entries need not say it (client-go's defaults of v1beta1). */
static int read_mode(const struct kubeconfig_entry *entry, const json_t *body,
		     struct kube_exec *exec, struct err *err)
{
	static const char *const modes[] = {
		[KUBE_STDIN_NEVER] = "Never",
		[KUBE_STDIN_IF_AVAILABLE] = "IfAvailable",
		[KUBE_STDIN_ALWAYS] = "Always",
	};
	const char *mode = kubeconfig_text(body, "interactiveMode");

	exec->input = KUBE_STDIN_IF_AVAILABLE;
	if (!mode && strcmp(exec->api_version, "client.authentication.k8s.io/v1beta1") == 0)
		return 0;
	for (size_t i = 0; mode && i < ARRAY_LEN(modes); i++) {
		if (strcmp(mode, modes[i]) != 0)
			continue;
		exec->input = (enum kube_exec_stdin)i;
		return 0;
	}
	return exec_error(entry, "interactiveMode", "is none of Never, IfAvailable, Always", err);
}

static int read_exec(const struct kubeconfig_entry *entry, const json_t *body,
		     struct kube_exec *exec, struct err *err)
{
	const char *command = kubeconfig_text(body, "command");
	int r;

	if (!command)
		return exec_error(entry, "command", "is missing", err);
	exec->user = xstrdup(entry->name);
	exec->command = strchr(command, '/') ? kubeconfig_path(entry, command) : xstrdup(command);
	exec->install_hint = xstrdup_or_null(kubeconfig_text(body, "installHint"));
	exec->cluster_info = json_is_true(json_object_get(body, "provideClusterInfo"));
	r = read_version(entry, body, exec, err);
	if (r == 0)
		r = read_mode(entry, body, exec, err);
	if (r == 0)
		r = read_args(entry, body, exec, err);
	if (r == 0)
		r = read_env(entry, body, exec, err);
	return r;
}

int kubeconfig_exec(const struct kubeconfig_entry *entry, struct kube_exec **ret_exec,
		    struct err *err)
{
	struct kube_exec *exec = xcalloc(1, sizeof(*exec));
	int r = read_exec(entry, json_object_get(entry->body, "exec"), exec, err);

	if (r < 0) {
		kube_exec_free(exec);
		return r;
	}
	*ret_exec = exec;
	return 0;
}
