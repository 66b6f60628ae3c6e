/* resource_env: the environment variable that names a container's devices. */
#pragma once

/* "PCI_RESOURCE_INTEL_COM_X710" for "PCI_RESOURCE" and "intel.com/x710", as KubeVirt's launcher
 * looks for it: upper case, '/' and '.' become '_', hyphens stay. Names that differ only in these
 * have the same variable, which harms a container that asks for both: the kubelet keeps one value.
 * The rule is KubeVirt's, and each Allocate is for one resource, so that none can hold the values
 * of two. The caller frees. */
char *resource_env(const char *prefix, const char *resource);
