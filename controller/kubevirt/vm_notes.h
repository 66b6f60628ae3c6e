/*
 * vm_notes: keeps the annotation harvesterhci.io/deviceAllocationDetails of virtual machines equal
 * to the devices that their pods use, from the devices' status.
 *
 * Writes only that annotation, only on a change, and with the virtual machine's resourceVersion as
 * precondition. Owns the record that maps pods to the devices they use.
 */
#pragma once

#include "controller/cache/view.h"

struct entry;
struct kubevirt_ties;
struct vm_notes;

/* @ties must outlive the notes. */
struct vm_notes *vm_notes_new(const struct kubevirt_ties *ties);
/* Takes NULL, returns NULL. */
struct vm_notes *vm_notes_free(struct vm_notes *notes);

/* A device, claim or virtual machine changed; as in informer_handlers. */
void vm_notes_on_change(struct vm_notes *notes, enum view_kind kind, const char *name,
			const struct entry *before, const struct entry *after);

/* All data is known now: enqueue every virtual machine. */
void vm_notes_enqueue_all(struct vm_notes *notes);
