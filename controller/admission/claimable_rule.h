/*
 * claimable_rule: may a device be claimed, as its condition Claimable says? Pure.
 *
 * The agent judges again, with what is true then; this saves the user the wait.
 */
#pragma once

#include <stdbool.h>

struct api_meta;
struct view;
struct rule_case;

/* True if it was refused. @claim is the claim's metadata: its annotation may override what is only the
 * node's need (NAMES_ANNOTATION_OVERRIDE); NULL where nothing does: of USB devices, whose agent lets
 * nothing override it. What will pass by itself gives a warning. */
bool claimable_rule(const struct rule_case *c, const struct api_meta *claim,
		    const struct view *device);
