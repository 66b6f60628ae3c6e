/* kubeconfig_user: how an entry of users proves who we are. A part of kubeconfig.c, for nobody else. */
#pragma once

#include "kube/config.h"

struct err;
struct kubeconfig_entry;

/* Read @entry into @config. Of @source counts whether programs may be run. Nothing is passed over in
 * silence but what kubectl passes over. */
int kubeconfig_user(const struct kubeconfig_entry *entry, const struct kube_config_source *source,
		    struct kube_config *config, struct err *err);

/* Read @key or @key-data; the data wins, as in kubectl. */
int kubeconfig_pem(const struct kubeconfig_entry *entry, const char *key, struct kube_pem *pem,
		   struct err *err);
