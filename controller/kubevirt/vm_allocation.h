/*
 * vm_allocation: the text of the annotation harvesterhci.io/deviceAllocationDetails:
 *
 *	{"gpus":{"nvidia.com/A2":["node1-000008004"]},"hostdevices":{"intel.com/X":["node1-000001000"]}}
 *
 * Pure. A resource is listed under gpus if the virtual machine requests it there.
 */
#pragma once

#include <stdbool.h>

struct virtualmachine;

/* A builder; both members NULL: no devices. */
struct vm_allocation {
	struct json_t *gpus;
	struct json_t *devices;
};

void vm_allocation_add(struct vm_allocation *given, const struct virtualmachine *vm,
		       const char *resource, const char *device);

/* The text, which does not depend on the order of additions; NULL: no devices. Releases @given.
 * The caller frees it. */
char *vm_allocation_text(struct vm_allocation *given);

/* True if both texts (NULL: none) have the same content. */
bool vm_allocation_equal(const char *a, const char *b);

/* True if @vm requests @resource as a GPU. */
bool vm_requests_gpu(const struct virtualmachine *vm, const char *resource);

/* True if both are equal in what the annotation depends on: the resources requested as GPUs, and
 * the current annotation. */
bool vm_requests_equal(const struct virtualmachine *a, const struct virtualmachine *b);
