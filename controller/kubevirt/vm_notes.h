/*
 * vm_notes: keeps the annotation harvesterhci.io/deviceAllocationDetails of virtual machines equal to what their
 * pods have been given, as the devices' status says it.
 *
 * Writes on change only, on the state of the machine that it has seen, and nothing but that annotation. Owns the
 * book of who has what.
 */
#pragma once

#include "controller/views/view.h"

struct entry;
struct kubevirt_ties;
struct vm_notes;

/* @ties outlive the notes. */
struct vm_notes *vm_notes_new(const struct kubevirt_ties *ties);
/* Takes NULL, returns NULL. */
struct vm_notes *vm_notes_free(struct vm_notes *notes);

/* A device, claim or machine changed; as informer_handlers has it. */
void vm_notes_on_change(struct vm_notes *notes, enum view_kind kind, const char *name,
			const struct entry *before, const struct entry *after);

/* All is known now: run every machine. */
void vm_notes_enqueue_all(struct vm_notes *notes);
