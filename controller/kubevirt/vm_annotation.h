/*
 * vm_annotation: keeps the annotation harvesterhci.io/deviceAllocationDetails of virtual machines
 * equal to the devices that their pods use, from the devices' status.
 *
 * Writes only that annotation, only on a change, and with the virtual machine's resourceVersion as
 * precondition. Owns the record that maps pods to the devices they use.
 */
#pragma once

#include <stdbool.h>

#include "controller/cache/view.h"

struct entry;
struct kubevirt_env;
struct virtualmachine;
struct vm_annotation;

/* @env must outlive the object. */
struct vm_annotation *vm_annotation_new(const struct kubevirt_env *env);
/* Takes NULL, returns NULL. */
struct vm_annotation *vm_annotation_free(struct vm_annotation *annotation);

/* A device, claim or virtual machine changed; as in informer_handlers. */
void vm_annotation_on_change(struct vm_annotation *annotation, enum view_kind kind,
			     const char *name, const struct entry *before,
			     const struct entry *after);

/* All data is known now: enqueue every virtual machine. */
void vm_annotation_enqueue_all(struct vm_annotation *annotation);

/*
 * --- the text of the annotation ---
 *
 *	{"gpus":{"nvidia.com/A2":["node1-000008004"]},
 *	 "hostdevices":{"intel.com/X":["node1-000001000"]}}
 *
 * Pure. A resource is listed under gpus if the virtual machine requests it there.
 */

/* A builder; both members NULL: no devices. */
struct vm_allocation {
	struct json_t *gpus;
	struct json_t *devices;
};

void vm_allocation_add(struct vm_allocation *allocation, const struct virtualmachine *vm,
		       const char *resource, const char *device);

/* The text, which does not depend on the order of additions; NULL: no devices. Releases
 * @allocation. The caller frees it. */
char *vm_allocation_text(struct vm_allocation *allocation);

/* True if both texts (NULL: none) have the same content. */
bool vm_allocation_equal(const char *a, const char *b);

/* True if @vm requests @resource as a GPU. */
bool vm_requests_gpu(const struct virtualmachine *vm, const char *resource);

/* True if both are equal in what the annotation depends on: the resources requested as GPUs, and
 * the current annotation. */
bool vm_requests_equal(const struct virtualmachine *a, const struct virtualmachine *b);
