/* config_load: finds the configuration where everybody expects it. */
#pragma once

#include "kube/config.h"

struct err;

/* Fill @source from the process's environment; the text is borrowed from it. */
void kube_config_source_env(struct kube_config_source *source);

/*
 * Load from the first of: the explicit path, $KUBECONFIG, the service account of the pod we run in,
 * ~/.kube/config. On success @config is the caller's to release with kube_config_done(); on error
 * it is empty. What the source's flags say counts over what is found. Every message names the file,
 * what in it, and what to do.
 */
int kube_config_load(const struct kube_config_source *source, struct kube_config *config,
		     struct err *err);

/* Append the names of the "contexts", "clusters" or "users" of the kubeconfig that is found to @names. */
void kube_config_names(const struct kube_config_source *source, const char *plural,
		       struct json_strs *names);
