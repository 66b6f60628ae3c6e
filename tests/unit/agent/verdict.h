/* verdict: conditions of made-up objects, said at one of two times. */
#pragma once

#include "api/condition.h"

enum { THEN = 1000000, NOW = 2000000 };

static inline void verdict_say(struct api_conditions *list, const char *type, enum api_truth truth,
			       const char *reason, int64_t at)
{
	api_conditions_set(
		list,
		&(struct api_condition_value){
			.type = type, .status = truth, .reason = reason, .message = reason },
		at);
}
