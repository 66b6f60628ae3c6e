/* condition: a list of metav1.Condition, and the rule when lastTransitionTime changes. */
#pragma once

#include "api/json_map.h"

enum {
	API_MESSAGE_MAX = 4096,  /* bytes of a message; longer ones are cut and end in "..." */
	API_CONDITIONS_MAX = 16, /* maxItems in all our schemas */
};

struct api_condition {
	char *type;
	char *status; /* "True", "False" or "Unknown" */
	char *reason;
	char *message;
	char *last_transition_time;
	int64_t observed_generation;
};

struct api_conditions {
	struct api_condition *items;
	size_t len;
	size_t cap;
};

extern const struct json_row api_condition_map[];

/* The row of a member `struct api_conditions conditions`. */
#define API_CONDITIONS(type)                                                           \
	JSON_LIST(type, conditions, "conditions", JSON_OPTIONAL, struct api_condition, \
		  api_condition_map)

enum api_truth { API_UNKNOWN, API_FALSE, API_TRUE };

/* The values of a condition to set. */
struct api_condition_value {
	const char *type;
	enum api_truth status;
	const char *reason;  /* CamelCase, not empty */
	const char *message; /* any bytes (sanitized); may be NULL */
	int64_t observed_generation;
};

/* The condition of that type; NULL if there is none. Valid until the list changes. */
const struct api_condition *api_conditions_find(const struct api_conditions *list,
						const char *type);

/* API_UNKNOWN if there is no such condition. */
enum api_truth api_conditions_status(const struct api_conditions *list, const char *type);

/*
 * Set a condition. lastTransitionTime becomes @now_wall_ms only if the status changes. Returns true
 * if any other field changed.
 */
bool api_conditions_set(struct api_conditions *list, const struct api_condition_value *value,
			int64_t now_wall_ms);

/* Returns true if there was such a condition. */
bool api_conditions_remove(struct api_conditions *list, const char *type);

/* Drop conditions of other types until the @len types @ours fit into API_CONDITIONS_MAX. */
void api_conditions_make_room(struct api_conditions *list, const char *const *ours, size_t len);
