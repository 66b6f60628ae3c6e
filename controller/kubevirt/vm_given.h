/*
 * vm_given: the text of the annotation harvesterhci.io/deviceAllocationDetails:
 *
 *	{"gpus":{"nvidia.com/A2":["node1-000008004"]},"hostdevices":{"intel.com/X":["node1-000001000"]}}
 *
 * Pure. A resource stands under gpus if the machine asks for it there.
 */
#pragma once

#include <stdbool.h>

struct virtualmachine;

/* Being put together; NULL in both members is nothing. */
struct vm_given {
	struct json_t *gpus;
	struct json_t *devices;
};

void vm_given_add(struct vm_given *given, const struct virtualmachine *vm, const char *resource,
		  const char *device);

/* The text, the same whatever the order in which devices were added; NULL: nothing is given. Releases @given. The
 * caller frees. */
char *vm_given_text(struct vm_given *given);

/* Do both texts (NULL: none) say the same? */
bool vm_given_same(const char *a, const char *b);
