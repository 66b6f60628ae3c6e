/* condition: a list of metav1.Condition, and the rule of when lastTransitionTime moves. */
#pragma once

#include "api/json_map.h"

enum {
	API_MESSAGE_MAX = 4096,  /* bytes of a message; longer ones are cut and end in "..." */
	API_CONDITIONS_MAX = 16, /* in a list, as every schema of ours has it                     */
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

/* What a condition is to say. */
struct api_condition_value {
	const char *type;
	enum api_truth status;
	const char *reason;  /* CamelCase, not empty           */
	const char *message; /* any bytes; cleaned; may be NULL */
	int64_t observed_generation;
};

/* The condition of that type, NULL if there is none. Valid until the list changes. */
const struct api_condition *api_conditions_find(const struct api_conditions *list,
						const char *type);

/* API_UNKNOWN when there is no such condition. */
enum api_truth api_conditions_status(const struct api_conditions *list, const char *type);

/*
 * Make the list say @value. lastTransitionTime becomes @now_wall_ms only when the status is new.
 * Returns true if anything but that changed.
 */
bool api_conditions_set(struct api_conditions *list, const struct api_condition_value *value,
			int64_t now_wall_ms);

/* True if it was there. */
bool api_conditions_remove(struct api_conditions *list, const char *type);

/* Make room for conditions of the @len types @ours: drop those of others that do not fit beside
 * them in API_CONDITIONS_MAX. */
void api_conditions_make_room(struct api_conditions *list, const char *const *ours, size_t len);
