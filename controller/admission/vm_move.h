/*
 * vm_move: Harvester's move of a virtual machine's gpus[] to its hostDevices[]. Pure.
 *
 * KubeVirt takes device plugins' GPUs from either list; Harvester's own parts look into hostDevices only.
 * The lists are replaced whole, so that any number of them moves. What would lose something on the way
 * stays: an item with fields that hostDevices do not have, and one whose resource no device of ours has.
 */
#pragma once

#include <jansson.h>

struct rule_case;

void vm_move(const struct rule_case *c, const json_t *object);
