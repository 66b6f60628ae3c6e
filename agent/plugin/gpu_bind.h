/* gpu_bind: may the card of a GPU that is offered to containers be bound to another driver? The
 * rule and its texts, for the GPUs of all vendors. */
#pragma once

#include <stdbool.h>

/* As offers_is_free(): has no container the device @id? If false, *@ret_holder is the container
 * that has it, or NULL if that is not known yet; the caller frees. */
typedef bool gpu_is_free_fn(void *arg, const char *id, char **ret_holder);

/* Why the card must not be bound because of its unit @id, a GPU or a part or share of one: a
 * container has it, or may have it. NULL: no container has it. The caller frees. */
char *gpu_unit_bind_trouble(gpu_is_free_fn *is_free, void *arg, const char *id);

/* The same for a GPU that is not withdrawn for a claim: each unit can be given to a container. */
extern const char gpu_still_offered[];
/* The same before it is known what containers have. */
extern const char gpu_use_unknown[];
