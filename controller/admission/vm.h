/*
 * vm: rules for KubeVirt's VirtualMachines about the devices they request. Pure.
 *
 * A change that does not concern devices is never refused, nor is anything that KubeVirt checks
 * itself.
 */
#pragma once

#include <jansson.h>

struct rule_case;

void vm_create(const struct rule_case *c);
void vm_update(const struct rule_case *c);

/*
 * Harvester's move of a virtual machine's gpus[] to hostDevices[].
 *
 * KubeVirt accepts device plugins' GPUs in either list, but Harvester's components read only
 * hostDevices. The lists are replaced as a whole, so any number of items can move. An item stays if
 * it would lose something: fields that hostDevices do not have, or a resource that no device of ours
 * has.
 */
void vm_move(const struct rule_case *c, const json_t *object);
