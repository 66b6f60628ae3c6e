/*
 * vm_view: what is kept of a virtual machine: what it says that it was given, and which resources it asks for as
 * GPUs. One block of memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "api/kind.h"

struct vm_view {
	const char *allocation; /* NAMES_ANNOTATION_ALLOCATION; NULL: it has none */
	bool deleting;
	size_t gpus_len;
	const char *gpus[]; /* deviceName of each */
};

/* The kind for an informer of all namespaces. */
struct api_kind vm_view_kind(void);

bool vm_view_has_gpu(const struct vm_view *view, const char *resource);
/* Do both say the same? */
bool vm_view_same(const struct vm_view *a, const struct vm_view *b);
