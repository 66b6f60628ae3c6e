/* kubeconfig: a struct kube_config from kubectl's files. */
#pragma once

#include "kube/config.h"

struct err;

/* @paths is as in $KUBECONFIG: the first file that sets a value wins, and missing files are
 * skipped unless all are missing (-ENOENT). From @source it uses the context ("" or NULL: the
 * files' current one), the cluster and user chosen by the flags, and whether exec plugins may
 * run. Every message names the file and the entry, and says what to do. */
int kubeconfig_load(const char *paths, const struct kube_config_source *source,
		    struct kube_config *config, struct err *err);

/* Append the names below @plural ("contexts", "clusters", "users") in the files to @names; none
 * if the files cannot be read. */
void kubeconfig_list(const char *paths, const char *plural, struct json_strs *names);
