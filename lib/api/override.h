/*
 * override: a claim's annotation that has a device lent although its node needs it
 * (NAMES_ANNOTATION_OVERRIDE).
 *
 * Who may set it is RBAC's (verb `override`). It lifts the refusal only: what uses the device must still
 * let go of it before anything is done.
 */
#pragma once

#include <stdbool.h>

struct api_meta;

/* Is @reason, of the condition Claimable, one that can be overridden at all? */
bool override_lifts(const char *reason);

/* The same for USB devices: only UseUnknown, since nothing makes the host let go of a USB device before a
 * pod gets it. */
bool override_lifts_usb(const char *reason);

/* Does the claim @meta override @reason, which can be? */
bool override_given(const struct api_meta *meta, const char *reason);
