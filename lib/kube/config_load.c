#include "kube/config_load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
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

int kube_config_load(const struct kube_config_source *source, struct kube_config *config,
		     struct err *err)
{
	auto_free char *path = NULL;

	if (is_set(source->path))
		return kubeconfig_load(source->path, source->context, config, err);
	if (is_set(source->kubeconfig))
		return kubeconfig_load(source->kubeconfig, source->context, config, err);
	if (is_in_cluster(source))
		return incluster_load(source, config, err);
	if (is_set(source->home)) {
		path = xasprintf("%s/.kube/config", source->home);
		if (access(path, F_OK) == 0)
			return kubeconfig_load(path, source->context, config, err);
	}
	return err_set(err, ERR_INVALID, -ENOENT,
		       "no cluster is configured: give --kubeconfig FILE, set KUBECONFIG, create "
		       "~/.kube/config, or run in a pod with a service account");
}
