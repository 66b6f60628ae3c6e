#include "kube/config.h"

#include <stdlib.h>
#include <string.h>

static void wipe(char **text, size_t len)
{
	if (*text)
		explicit_bzero(*text, len);
	free(*text);
	*text = NULL;
}

void kube_pem_done(struct kube_pem *pem)
{
	free(pem->path);
	wipe(&pem->data, pem->len);
	*pem = (struct kube_pem){ 0 };
}

struct kube_exec *kube_exec_free(struct kube_exec *exec)
{
	if (!exec)
		return NULL;
	free(exec->user);
	free(exec->command);
	json_strs_done(&exec->args);
	json_strs_done(&exec->env);
	free(exec->api_version);
	free(exec->install_hint);
	free(exec);
	return NULL;
}

void kube_as_done(struct kube_as *as)
{
	free(as->user);
	free(as->uid);
	json_strs_done(&as->groups);
	json_strs_done(&as->extra);
	*as = (struct kube_as){ 0 };
}

void kube_config_forget_user(struct kube_config *config)
{
	kube_pem_done(&config->cert);
	kube_pem_done(&config->key);
	wipe(&config->token, config->token ? strlen(config->token) : 0);
	free(config->token_path);
	config->token_path = NULL;
	config->exec = kube_exec_free(config->exec);
}

void kube_config_done(struct kube_config *config)
{
	free(config->server);
	kube_pem_done(&config->ca);
	kube_config_forget_user(config);
	free(config->tls_server_name);
	free(config->proxy);
	free(config->exec_config);
	kube_as_done(&config->as);
	free(config->ns);
	free(config->origin);
	*config = (struct kube_config){ 0 };
}
