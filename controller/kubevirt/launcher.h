/*
 * launcher: which virtual machine a virt-launcher pod runs, by the names of the two.
 *
 * Pure. KubeVirt asks for a pod "virt-launcher-NAME-" and five characters of the API server's
 * (pkg/virt-controller/services/template.go, generateName), who cuts what goes before them at 58
 * (k8s.io/apiserver/pkg/storage/names): of a name of 44 characters and more, the first 44 are left. A machine and its
 * instance have the same name.
 */
#pragma once

#include <stdbool.h>

/* What pods and machines that may belong together have in common: "namespace/" and the first 43 characters of the
 * machine's name. Of names with fewer, only one machine has it. The caller frees. */
char *launcher_key_of_vm(const char *vm);
/* @pod is "namespace/name"; NULL: no virt-launcher. The caller frees. */
char *launcher_key_of_pod(const char *pod);

/* May the end of the machine's name be missing in the name of @pod, so that it fits more than one? */
bool launcher_is_cut(const char *pod);

/* May the pod "namespace/name" run the machine "namespace/name"? */
bool launcher_runs(const char *pod, const char *vm);
