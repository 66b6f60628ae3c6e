/*
 * claim_fill: what is filled into a claim that does not say it: address and node of its device, who
 * asked for it, its owner. Pure.
 *
 * Texts of any type that the object has already are left alone: whether they are right is the rules'.
 * On an update, what the claim had is kept, so that applying the same short manifest again changes
 * nothing.
 */
#pragma once

#include <jansson.h>

struct rule_case;

void claim_fill_pci(const struct rule_case *c, const json_t *object);
void claim_fill_usb(const struct rule_case *c, const json_t *object);
