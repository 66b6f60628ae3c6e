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

/* True if it was refused. The annotation of @claim, the claim's metadata, may override the reasons that
 * @lifts allows (api/override.h). What will pass by itself gives a warning. */
bool claimable_rule(const struct rule_case *c, const struct api_meta *claim,
		    bool (*lifts)(const char *reason), const struct view *device);
