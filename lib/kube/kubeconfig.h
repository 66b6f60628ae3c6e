/* kubeconfig: a struct kube_config from kubectl's files. */
#pragma once

#include "kube/config.h"

struct err;

/* @paths as in $KUBECONFIG: of what is in several files the first counts, and files that do not exist
 * are passed over unless all are missing (-ENOENT). @context: "" or NULL is the files' current one.
 * Every message names the file, what in it, and what to do. */
int kubeconfig_load(const char *paths, const char *context, struct kube_config *config,
		    struct err *err);
