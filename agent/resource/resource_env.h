/* resource_env: the environment variable that names a container's devices. */
#pragma once

/* Return the environment variable of a resource, as KubeVirt's launcher builds it:
 * "PCI_RESOURCE_INTEL_COM_X710" for "PCI_RESOURCE" and "intel.com/x710". Upper case, '/' and '.'
 * become '_', hyphens stay. Names that differ only in these share a variable. A container that
 * requests both gets one value only, because the kubelet keeps one and each Allocate is for one
 * resource. The caller frees. */
char *resource_env(const char *prefix, const char *resource);
