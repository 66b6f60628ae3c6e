#include "api/condition.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timefmt.h"

/* metav1.Condition's schema requires the first five, so they are always written. Conditions
 * written by others may lack them. */
const struct json_row api_condition_map[] = {
	JSON_STR(struct api_condition, type, "type", JSON_ALWAYS),
	JSON_STR(struct api_condition, status, "status", JSON_ALWAYS),
	JSON_STR(struct api_condition, reason, "reason", JSON_ALWAYS),
	JSON_STR(struct api_condition, message, "message", JSON_ALWAYS),
	JSON_STR(struct api_condition, last_transition_time, "lastTransitionTime", JSON_ALWAYS),
	JSON_INT(struct api_condition, observed_generation, "observedGeneration", JSON_OPTIONAL),
	JSON_END,
};

static const char *const truth_text[] = {
	[API_UNKNOWN] = "Unknown",
	[API_FALSE] = "False",
	[API_TRUE] = "True",
};

static struct api_condition *find_condition(const struct api_conditions *list, const char *type)
{
	for (size_t i = 0; i < list->len; i++) {
		if (list->items[i].type && strcmp(list->items[i].type, type) == 0)
			return &list->items[i];
	}
	return NULL;
}

const struct api_condition *api_conditions_find(const struct api_conditions *list, const char *type)
{
	return find_condition(list, type);
}

enum api_truth api_conditions_status(const struct api_conditions *list, const char *type)
{
	const struct api_condition *condition = find_condition(list, type);

	if (!condition || !condition->status)
		return API_UNKNOWN;
	if (strcmp(condition->status, truth_text[API_TRUE]) == 0)
		return API_TRUE;
	if (strcmp(condition->status, truth_text[API_FALSE]) == 0)
		return API_FALSE;
	return API_UNKNOWN;
}

/* Make *@member a copy of @text. True if it changed; "" and NULL are equal. */
static bool replace(char **member, const char *text)
{
	char *copy;

	if (strcmp(*member ? *member : "", text) == 0)
		return false;
	copy = xstrdup(text);
	free(*member);
	*member = copy;
	return true;
}

bool api_conditions_set(struct api_conditions *list, const struct api_condition_value *value,
			int64_t now_wall_ms)
{
	struct api_condition *condition = find_condition(list, value->type);
	auto_str struct str message = STR_INIT;
	bool changed;
	char now[TIMEFMT_MAX];

	assert(value->reason && value->reason[0]);

	if (!condition) {
		condition = array_add(list);
		condition->type = xstrdup(value->type);
	}
	changed = replace(&condition->status, truth_text[value->status]);
	if (changed)
		replace(&condition->last_transition_time, timefmt_rfc3339(now_wall_ms, now));
	if (value->message)
		str_add_clean(&message, value->message, strlen(value->message));
	str_cut(&message, API_MESSAGE_MAX);
	changed |= replace(&condition->reason, value->reason);
	changed |= replace(&condition->message, str_cstr(&message));
	changed |= condition->observed_generation != value->observed_generation;
	condition->observed_generation = value->observed_generation;
	return changed;
}

bool api_conditions_remove(struct api_conditions *list, const char *type)
{
	struct api_condition *condition = find_condition(list, type);

	if (!condition)
		return false;
	json_map_done(api_condition_map, condition);
	list->len--;
	memmove(condition, condition + 1,
		(size_t)(&list->items[list->len] - condition) * sizeof(*condition));
	return true;
}

static bool is_one_of(const char *const *types, size_t len, const char *type)
{
	for (size_t i = 0; i < len; i++) {
		if (strcmp(types[i], type) == 0)
			return true;
	}
	return false;
}

void api_conditions_make_room(struct api_conditions *list, const char *const *ours, size_t len)
{
	size_t foreign = 0;
	size_t kept = 0;

	for (size_t i = 0; i < list->len; i++) {
		struct api_condition *condition = &list->items[i];
		bool keep = condition->type && (is_one_of(ours, len, condition->type) ||
						foreign++ < API_CONDITIONS_MAX - len);

		if (keep)
			list->items[kept++] = *condition;
		else
			json_map_done(api_condition_map, condition);
	}
	list->len = kept;
}
