#include "kube/incluster.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/num.h"

enum { NAMESPACE_MAX = 253 };

/* "https://host:port", with brackets around an IPv6 address. */
static int server_url(const struct kube_config_source *source, char **ret_url, struct err *err)
{
	const char *host = source->service_host;
	uint64_t port;

	if (!host || !*host || !source->service_port)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: "
			       "this does not run in a pod, give --kubeconfig FILE");
	if (!str_to_u64(source->service_port, &port) || port == 0 || port > 65535)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "KUBERNETES_SERVICE_PORT is '%s', which is not a port",
			       source->service_port);
	*ret_url =
		xasprintf(strchr(host, ':') && *host != '[' ? "https://[%s]:%u" : "https://%s:%u",
			  host, (unsigned)port);
	return 0;
}

static int check_readable(const char *path, const char *what, struct err *err)
{
	if (access(path, R_OK) == 0)
		return 0;
	return err_set(err, ERR_RETRY, -errno,
		       "%s '%s': %s (is automountServiceAccountToken off for this pod?)", what,
		       path, strerror(errno));
}

int incluster_load(const struct kube_config_source *source, struct kube_config *config,
		   struct err *err)
{
	const char *dir = source->account_dir && *source->account_dir ? source->account_dir
								      : KUBE_ACCOUNT_DIR;
	struct kube_config loaded = {
		.token_path = xasprintf("%s/token", dir),
		.ca.path = xasprintf("%s/ca.crt", dir),
		.origin = xasprintf("service account in %s", dir),
	};
	auto_free char *ns_path = xasprintf("%s/namespace", dir);
	int r;

	r = server_url(source, &loaded.server, err);
	if (r == 0)
		r = check_readable(loaded.token_path, "service account token", err);
	if (r == 0)
		r = check_readable(loaded.ca.path, "the API server's CA", err);
	if (r < 0) {
		kube_config_done(&loaded);
		return r;
	}
	if (file_read(AT_FDCWD, ns_path, NAMESPACE_MAX, &loaded.ns, NULL, NULL) < 0)
		loaded.ns = xstrdup("default");
	*config = loaded;
	return 0;
}
