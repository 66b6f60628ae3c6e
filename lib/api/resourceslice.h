/*
 * resourceslice: ResourceSlice of resource.k8s.io/v1 (since Kubernetes 1.34), which lists devices
 * for Dynamic Resource Allocation.
 *
 * Only its metadata is kept: a slice is large, and metadata.generation changes with every change of
 * its spec (k8s.io/kubernetes/pkg/registry/resource/resourceslice/strategy.go).
 */
#pragma once

#include "api/kind.h"
#include "api/meta.h"

struct resourceslice {
	struct api_meta meta;
};

extern const struct api_kind resourceslice_kind;
