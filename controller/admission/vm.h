/*
 * vm: the rules of KubeVirt's VirtualMachines, about the devices that they ask for. Pure.
 *
 * A change that has nothing to do with devices is never refused, and neither is what KubeVirt checks
 * itself.
 */
#pragma once

struct rule_case;

void vm_create(const struct rule_case *c);
void vm_update(const struct rule_case *c);
