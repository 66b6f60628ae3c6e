/*
 * vm: rules for KubeVirt's VirtualMachines about the devices they request. Pure.
 *
 * A change that does not concern devices is never refused, nor is anything that KubeVirt checks
 * itself.
 */
#pragma once

struct rule_case;

void vm_create(const struct rule_case *c);
void vm_update(const struct rule_case *c);
