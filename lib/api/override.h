/*
 * override: the claim annotation that hands out a device although its node needs it
 * (NAMES_ANNOTATION_OVERRIDE).
 *
 * RBAC decides who may set it (verb `override`). It lifts only the refusal: whatever uses the
 * device must still release it before anything is done.
 */
#pragma once

#include <stdbool.h>

struct api_meta;

/* True if @reason, of the condition Claimable, can be overridden. */
bool override_lifts(const char *reason);

/* The same for USB devices: only UseUnknown, because nothing makes the host release a USB device
 * before a pod gets it. */
bool override_lifts_usb(const char *reason);

/* True if the claim @meta overrides @reason. */
bool override_applies(const struct api_meta *meta, const char *reason);
