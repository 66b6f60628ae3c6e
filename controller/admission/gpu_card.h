/* gpu_card: rules for SRIOVGPUDevices, VGPUDevices and MigConfigurations. Pure. */
#pragma once

struct rule_case;

void gpu_card_update(const struct rule_case *c);
void gpu_card_delete(const struct rule_case *c);

void vgpu_update(const struct rule_case *c);
void vgpu_delete(const struct rule_case *c);

void mig_update(const struct rule_case *c);
