#include "kube/config_flags.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "kube/config.h"
#include "kube/credentials.h"
#include "kube/impersonate.h"
#include "kube/url.h"

static bool is_set(const char *text)
{
	return text && *text;
}

static int override_server(struct kube_config *config, const struct kube_config_flags *flags,
			   struct err *err)
{
	char *server = NULL;
	int r;

	if (!is_set(flags->server))
		return 0;
	r = url_server_normal(flags->server, &server, err);
	if (r < 0)
		return err_wrap(err, "--server");
	free(config->server);
	config->server = server;
	return 0;
}

/* As in client-go, either of these takes the place of both (clientcmd: getCluster). */
static int override_trust(struct kube_config *config, const struct kube_config_flags *flags,
			  struct err *err)
{
	if (is_set(flags->tls_server_name)) {
		free(config->tls_server_name);
		config->tls_server_name = xstrdup(flags->tls_server_name);
	}
	if (!flags->insecure && !is_set(flags->ca))
		return 0;
	if (flags->insecure && is_set(flags->ca))
		return err_set(
			err, ERR_INVALID, -EINVAL,
			"--insecure-skip-tls-verify and --certificate-authority exclude each "
			"other");
	kube_pem_done(&config->ca);
	config->insecure = flags->insecure;
	if (is_set(flags->ca))
		config->ca.path = xstrdup(flags->ca);
	return 0;
}

/* kubectl sends a kubeconfig's certificate beside --token, and the API server then takes the certificate:
 * who says --token here means it. */
static int override_proof(struct kube_config *config, const struct kube_config_flags *flags,
			  struct err *err)
{
	bool cert = is_set(flags->cert);

	if (cert != is_set(flags->key))
		return err_set(err, ERR_INVALID, -EINVAL,
			       "--client-certificate and --client-key go together");
	if (is_set(flags->token) && !credentials_is_token(flags->token))
		return err_set(err, ERR_INVALID, -EINVAL,
			       "--token has characters that no token has");
	if (!cert && !is_set(flags->token))
		return 0;
	kube_config_forget_user(config);
	if (is_set(flags->token))
		config->token = xstrdup(flags->token);
	if (cert) {
		config->cert.path = xstrdup(flags->cert);
		config->key.path = xstrdup(flags->key);
	}
	return 0;
}

/* Whom the command line names, the kubeconfig has not: nothing of both is mixed. */
static void override_as(struct kube_config *config, const struct kube_config_flags *flags)
{
	struct kube_as *as = &config->as;

	if (!is_set(flags->as) && !is_set(flags->as_uid) && flags->as_groups_len == 0)
		return;
	kube_as_done(as);
	if (is_set(flags->as))
		as->user = xstrdup(flags->as);
	if (is_set(flags->as_uid))
		as->uid = xstrdup(flags->as_uid);
	for (size_t i = 0; i < flags->as_groups_len; i++)
		json_strs_add(&as->groups, flags->as_groups[i]);
}

int kube_config_override(struct kube_config *config, const struct kube_config_flags *flags,
			 struct err *err)
{
	int r = override_server(config, flags, err);

	if (r == 0)
		r = override_trust(config, flags, err);
	if (r == 0)
		r = override_proof(config, flags, err);
	if (r < 0)
		return r;
	override_as(config, flags);
	return 0;
}
