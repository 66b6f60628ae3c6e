#include "kube/config_load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "kube/config_flags.h"
#include "kube/impersonate.h"
#include "kube/incluster.h"
#include "kube/kubeconfig.h"

static bool is_set(const char *text)
{
	return text && *text;
}

void kube_config_source_env(struct kube_config_source *source)
{
	source->kubeconfig = getenv("KUBECONFIG");
	source->home = getenv("HOME");
	source->service_host = getenv("KUBERNETES_SERVICE_HOST");
	source->service_port = getenv("KUBERNETES_SERVICE_PORT");
}

/* Inside a pod the environment names the API server and the account's token is mounted. */
static bool is_in_cluster(const struct kube_config_source *source)
{
	const char *dir = is_set(source->account_dir) ? source->account_dir : KUBE_ACCOUNT_DIR;
	auto_free char *token = xasprintf("%s/token", dir);

	return is_set(source->service_host) && is_set(source->service_port) &&
	       access(token, F_OK) == 0;
}

/* What the files and the pod have; a command line that names a server needs neither. */
static int find(const struct kube_config_source *source, struct kube_config *config,
		struct err *err)
{
	auto_free char *path = NULL;

	if (is_set(source->path))
		return kubeconfig_load(source->path, source, config, err);
	if (is_set(source->kubeconfig))
		return kubeconfig_load(source->kubeconfig, source, config, err);
	if (is_in_cluster(source))
		return incluster_load(source, config, err);
	if (is_set(source->home)) {
		path = xasprintf("%s/.kube/config", source->home);
		if (access(path, F_OK) == 0)
			return kubeconfig_load(path, source, config, err);
	}
	if (source->flags && is_set(source->flags->server)) {
		*config = (struct kube_config){
			.ns = xstrdup("default"),
			.origin = xstrdup("the command line"),
		};
		return 0;
	}
	return err_set(err, ERR_INVALID, -ENOENT,
		       "no cluster is configured: give --kubeconfig FILE, set KUBECONFIG, create "
		       "~/.kube/config, or run in a pod with a service account");
}

int kube_config_load(const struct kube_config_source *source, struct kube_config *config,
		     struct err *err)
{
	struct kube_config loaded = { 0 };
	int r = find(source, &loaded, err);

	if (r < 0)
		return r;
	loaded.proxy_env = source->person;
	if (source->flags)
		r = kube_config_override(&loaded, source->flags, err);
	if (r == 0)
		r = impersonate_check(&loaded.as, err);
	if (r < 0)
		kube_config_done(&loaded);
	else
		*config = loaded;
	return r;
}

void kube_config_names(const struct kube_config_source *source, const char *plural,
		       struct json_strs *names)
{
	auto_free char *home =
		xasprintf("%s/.kube/config", is_set(source->home) ? source->home : "");
	const char *paths = is_set(source->path) ? source->path : source->kubeconfig;

	kubeconfig_list(is_set(paths) ? paths : home, plural, names);
}
