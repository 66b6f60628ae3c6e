/*
 * annotation_rule: warns about hostdev's annotations where they do not have the effect that they
 * seem to have. Pure.
 */
#pragma once

struct api_meta;
struct rule_case;

enum annotation_of {
	ANNOTATION_OF_PCICLAIM = 1,
	ANNOTATION_OF_USBCLAIM = 2,
	ANNOTATION_OF_PCIDEVICE = 4,
};

/* Warn about keys of hostdev's domains that an object of the kind @of cannot have, and about values
 * other than "true" of those that need it. Only about those that @old, the metadata before (NULL: a
 * creation), does not have. */
void annotation_rule(const struct rule_case *c, const struct api_meta *meta,
		     const struct api_meta *old, enum annotation_of of);
