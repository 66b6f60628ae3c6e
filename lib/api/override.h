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

/* Does the claim @meta override @reason? */
bool override_given(const struct api_meta *meta, const char *reason);
