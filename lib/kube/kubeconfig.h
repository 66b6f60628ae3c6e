/* kubeconfig: a struct kube_config from kubectl's files. */
#pragma once

#include "kube/config.h"

struct err;

/* @paths as in $KUBECONFIG: of what is in several files the first counts, and files that do not exist
 * are passed over unless all are missing (-ENOENT). Of @source count the context ("" or NULL is the files'
 * current one), which cluster and user the flags choose, and whether a person may have programs run.
 * Every message names the file, what in it, and what to do. */
int kubeconfig_load(const char *paths, const struct kube_config_source *source,
		    struct kube_config *config, struct err *err);

/* Append the names below @plural ("contexts", "clusters", "users") of the files to @names; nothing if they
 * cannot be read. */
void kubeconfig_list(const char *paths, const char *plural, struct json_strs *names);
