/*
 * claimable_rule: checks a device's condition Claimable. Pure.
 *
 * The agent checks again with current facts; this rule gives the user an immediate answer.
 */
#pragma once

#include <stdbool.h>

struct api_meta;
struct view;
struct rule_case;

/* True if refused. The annotation of @claim, the claim's metadata, may override the reasons that
 * @lifts allows (api/override.h). A temporary reason only gives a warning. */
bool claimable_rule(const struct rule_case *c, const struct api_meta *claim,
		    bool (*lifts)(const char *reason), const struct view *device);

/* Warn about annotations of a claim that do not have the effect that they seem to have: those that
 * are not known, and values other than "true". Only about those that @old, the metadata before
 * (NULL: a creation), does not have. @usb: it is a USBDeviceClaim. */
void claimable_rule_annotations(const struct rule_case *c, const struct api_meta *claim,
				const struct api_meta *old, bool usb);
