/* gpu_card: rules for SRIOVGPUDevices and, in mig.c, for MigConfigurations. Pure. */
#pragma once

struct rule_case;

void gpu_card_update(const struct rule_case *c);
void gpu_card_delete(const struct rule_case *c);

void mig_update(const struct rule_case *c);
