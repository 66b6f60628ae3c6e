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

static void pem_done(struct kube_pem *pem)
{
	free(pem->path);
	wipe(&pem->data, pem->len);
}

void kube_config_done(struct kube_config *config)
{
	free(config->server);
	pem_done(&config->ca);
	pem_done(&config->cert);
	pem_done(&config->key);
	wipe(&config->token, config->token ? strlen(config->token) : 0);
	free(config->token_path);
	free(config->tls_server_name);
	free(config->ns);
	free(config->origin);
	*config = (struct kube_config){ 0 };
}
