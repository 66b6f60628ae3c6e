/* vm_asks: what of a virtual machine its note depends on: the resources that it asks for as GPUs, and what it says
 * that it was given. Pure. */
#pragma once

#include <stdbool.h>

struct virtualmachine;

/* Does it ask for one of @resource as a GPU? */
bool vm_asks_gpu(const struct virtualmachine *vm, const char *resource);

/* Do both say the same, as far as the note depends on it? */
bool vm_asks_same(const struct virtualmachine *a, const struct virtualmachine *b);
