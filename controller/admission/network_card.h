/* network_card: rules for SRIOVNetworkDevices. Pure. */
#pragma once

struct rule_case;

void network_card_create(const struct rule_case *c);
void network_card_update(const struct rule_case *c);
void network_card_delete(const struct rule_case *c);
