/* config_load: finds the configuration in the same places as kubectl and client-go. */
#pragma once

#include "kube/config.h"

struct err;

/* Fill @source from the process's environment; the strings are borrowed from it. */
void kube_config_source_env(struct kube_config_source *source);

/*
 * Load from the first of: the explicit path, $KUBECONFIG, the pod's service account,
 * ~/.kube/config. On success the caller releases @config with kube_config_done(); on error it is
 * empty. The flags in @source override what is found. Every message names the file and the entry,
 * and says what to do.
 */
int kube_config_load(const struct kube_config_source *source, struct kube_config *config,
		     struct err *err);

/* Append the names of the "contexts", "clusters" or "users" in the kubeconfig to @names. */
void kube_config_names(const struct kube_config_source *source, const char *plural,
		       struct json_strs *names);
