/* vm_requests: the parts of a virtual machine that its annotation depends on: resources it requests
 * as GPUs, and the current annotation. Pure. */
#pragma once

#include <stdbool.h>

struct virtualmachine;

/* True if it requests @resource as a GPU. */
bool vm_requests_gpu(const struct virtualmachine *vm, const char *resource);

/* True if both are equal in what the annotation depends on. */
bool vm_requests_equal(const struct virtualmachine *a, const struct virtualmachine *b);
