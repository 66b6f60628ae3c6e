#include "kube/reason_count.h"

#include <string.h>

#include "api/condition.h"
#include "base/str.h"
#include "kube/metrics.h"
#include "unit/suite.h"

static const struct reason_row rows[] = {
	{ "Ready", "ready" },
	{ "Held", "held" },
	{ "Unknown", "waiting" },
	{ "Other", "failed" },
};

static void shows(const struct metrics *metrics, const char *state, const char *reason, int n)
{
	auto_str struct str text = STR_INIT;
	auto_free char *line = xasprintf(
		"hostdev_claims{kind=\"Claim\",state=\"%s\",reason=\"%s\"} %d\n", state, reason, n);

	metrics_write(metrics, &text);
	if (!strstr(str_cstr(&text), line))
		fail_msg("no %s in %s", line, str_cstr(&text));
}

static void set(struct reason_count *count, const char *name, enum api_truth status,
		const char *reason)
{
	struct api_conditions conditions = { 0 };

	if (reason)
		api_conditions_set(&conditions,
				   &(struct api_condition_value){
					   .type = "Ready", .status = status, .reason = reason },
				   0);
	reason_count_set(count, name, &conditions);
	for (size_t i = 0; i < conditions.len; i++)
		api_conditions_remove(&conditions, "Ready");
	free(conditions.items);
}

static void claims_are_counted_by_reason(void **state)
{
	struct metrics *metrics = metrics_new();
	struct reason_count *count = reason_count_new(metrics, "Claim", rows, ARRAY_LEN(rows));

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		shows(metrics, rows[i].state, rows[i].reason, 0);
	set(count, "a", API_UNKNOWN, NULL);
	shows(metrics, "waiting", "Unknown", 1);
	set(count, "a", API_FALSE, "Held");
	set(count, "b", API_FALSE, "Held");
	shows(metrics, "waiting", "Unknown", 0);
	shows(metrics, "held", "Held", 2);
	set(count, "a", API_FALSE, "NobodyKnowsThis");
	shows(metrics, "failed", "Other", 1);
	set(count, "a", API_TRUE, "WhateverItSays");
	shows(metrics, "failed", "Other", 0);
	shows(metrics, "ready", "Ready", 1);
	reason_count_set(count, "a", NULL);
	reason_count_set(count, "b", NULL);
	reason_count_set(count, "c", NULL);
	shows(metrics, "ready", "Ready", 0);
	shows(metrics, "held", "Held", 0);
	assert_null(reason_count_free(count));
	metrics_free(metrics);
}

static void nothing_needs_a_registry(void **state)
{
	struct reason_count *count = reason_count_new(NULL, "Claim", rows, ARRAY_LEN(rows));

	set(count, "a", API_FALSE, "Held");
	reason_count_free(count);
	assert_null(reason_count_free(NULL));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "claims are counted by reason", claims_are_counted_by_reason, NULL);
	suite_add(&suite, "nothing needs a registry", nothing_needs_a_registry, NULL);
	return suite_run(&suite, "reason_count");
}
