/*
 * launcher: matches virt-launcher pods to virtual machines by name.
 *
 * Pure. KubeVirt creates pods with generateName "virt-launcher-NAME-"
 * (pkg/virt-controller/services/template.go), and the API server cuts that to 58 characters and
 * appends five (k8s.io/apiserver/pkg/storage/names). Of a name of 44 or more characters, the first
 * 44 remain. A virtual machine and its instance have the same name.
 */
#pragma once

#include <stdbool.h>

/* A key that pods and virtual machines that may belong together share: "namespace/" and the
 * first 43 characters of the virtual machine's name. For shorter names it is unique. The caller
 * frees it. */
char *launcher_key_of_vm(const char *vm);
/* @pod is "namespace/name"; NULL: not a virt-launcher. The caller frees it. */
char *launcher_key_of_pod(const char *pod);

/* True if the name of @pod may lack the end of the virtual machine's name, so that it may match
 * several. */
bool launcher_is_cut(const char *pod);

/* True if the pod "namespace/name" may run the virtual machine "namespace/name". */
bool launcher_runs(const char *pod, const char *vm);
