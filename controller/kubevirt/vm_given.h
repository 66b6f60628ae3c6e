/*
 * vm_given: the text of the annotation harvesterhci.io/deviceAllocationDetails:
 *
 *	{"gpus":{"nvidia.com/A2":["node1-000008004"]},"hostdevices":{"intel.com/X":["node1-000001000"]}}
 *
 * Pure. A resource is listed under gpus if the virtual machine requests it there.
 */
#pragma once

#include <stdbool.h>

struct virtualmachine;

/* A builder; both members NULL: no devices. */
struct vm_given {
	struct json_t *gpus;
	struct json_t *devices;
};

void vm_given_add(struct vm_given *given, const struct virtualmachine *vm, const char *resource,
		  const char *device);

/* The text, which does not depend on the order of additions; NULL: no devices. Releases @given.
 * The caller frees it. */
char *vm_given_text(struct vm_given *given);

/* True if both texts (NULL: none) have the same content. */
bool vm_given_same(const char *a, const char *b);
