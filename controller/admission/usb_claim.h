/* usb_claim: the rules of USBDeviceClaims. Pure. What cannot change, the schema says. */
#pragma once

struct rule_case;

void usb_claim_create(const struct rule_case *c);
void usb_claim_delete(const struct rule_case *c);
