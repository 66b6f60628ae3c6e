/*
 * claim_fill: fills missing fields of a claim: address and node of its device, user, owner. Pure.
 *
 * Existing values of any type are kept; the rules check them. On an update the previous value is
 * kept, so that applying the same short manifest again changes nothing.
 */
#pragma once

#include <jansson.h>

struct rule_case;

void claim_fill_pci(const struct rule_case *c, const json_t *object);
void claim_fill_usb(const struct rule_case *c, const json_t *object);
