/* incluster: a struct kube_config from the service account of the pod that we run in. */
#pragma once

#include "kube/config.h"

struct err;

/* Of @source, the two service variables and the account's folder count. */
int incluster_load(const struct kube_config_source *source, struct kube_config *config,
		   struct err *err);
