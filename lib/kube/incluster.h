/* incluster: a struct kube_config from the service account of the pod we run in. */
#pragma once

#include "kube/config.h"

struct err;

/* Uses only the two service variables and the account's folder of @source. */
int incluster_load(const struct kube_config_source *source, struct kube_config *config,
		   struct err *err);
