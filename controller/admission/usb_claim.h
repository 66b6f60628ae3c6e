/* usb_claim: rules for USBDeviceClaims. Pure. Immutable fields are enforced by the schema. */
#pragma once

struct rule_case;

void usb_claim_create(const struct rule_case *c);
void usb_claim_update(const struct rule_case *c);
void usb_claim_delete(const struct rule_case *c);
