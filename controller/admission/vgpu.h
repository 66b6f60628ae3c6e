/* vgpu: rules for VGPUDevices. Pure. */
#pragma once

struct rule_case;

void vgpu_update(const struct rule_case *c);
void vgpu_delete(const struct rule_case *c);
