/*
 * claim_mark: what is written on a claim before its device is touched, and taken off when the
 * device is given back. Text only; lists keep what others put there.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct claim_case;
struct claim_group;
struct pcideviceclaim;

/* Is our finalizer on it? */
bool claim_is_marked(const struct pcideviceclaim *claim);

/* The patch that puts finalizer, address, node name and owner on the claim; NULL if all are
 * there. */
json_t *claim_mark(const struct claim_case *c, const struct claim_group *group);

/* The patch that takes our finalizer off. */
json_t *claim_unmark(const struct pcideviceclaim *claim);
