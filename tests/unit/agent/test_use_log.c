/* use_log: how long a device that was in use does not count as free. */
#include "agent/inventory/use_log.h"

#include <string.h>

#include "api/condition.h"
#include "api/json_map.h"
#include "unit/suite.h"

/* Scans at these times, "reason" as what each sees of the device; NULL: it is free. */
static struct log_case {
	const char *name;
	struct {
		uint64_t at_ms;
		const char *reason;
	} scans[4];
	bool refused;
	uint64_t now_ms;
	uint64_t left_ms;
} cases[] = {
	{ "what was never in use is free", { { 1000, NULL } }, false, 1000, 0 },
	{ "what is in use is checked by itself", { { 1000, "InUse" } }, false, 1000, 0 },
	{ "what is in use no more waits from the scan that saw it free",
	  { { 1000, "InUse" }, { 60000, NULL } },
	  false,
	  60000,
	  5000 },
	{ "however often it is seen free",
	  { { 1000, "InUse" }, { 60000, NULL }, { 63000, NULL } },
	  false,
	  64000,
	  1000 },
	{ "then it is free", { { 1000, "InUse" }, { 60000, NULL } }, false, 65000, 0 },
	{ "a use in between begins it anew",
	  { { 1000, "InUse" }, { 2000, NULL }, { 6000, "HostFilesystem" }, { 6020, NULL } },
	  false,
	  7000,
	  4020 },
	{ "what may be in use counts",
	  { { 1000, "UseUnknown" }, { 2000, NULL } },
	  false,
	  2000,
	  5000 },
	{ "what else it is refused for is no use",
	  { { 1000, "Hub" }, { 2000, NULL } },
	  false,
	  2000,
	  0 },
	{ "of a claim that was refused before, the first scan counts",
	  { { 1000, NULL }, { 4000, NULL } },
	  true,
	  4000,
	  2000 },
	{ "for no longer than that", { { 1000, NULL } }, true, 6000, 0 },
};

static void it_counts_as_free(void **state)
{
	const struct log_case *c = *state;
	struct use_log *log = use_log_new();

	for (size_t i = 0; i < ARRAY_LEN(c->scans) && c->scans[i].at_ms; i++) {
		use_log_scan(log, c->scans[i].at_ms);
		use_log_add(log, "other", "InUse");
		if (c->scans[i].reason)
			use_log_add(log, "it", c->scans[i].reason);
	}
	assert_int_equal(use_log_unproven_ms(log, "it", c->refused, c->now_ms), c->left_ms);
	assert_int_equal(use_log_unproven_ms(log, "other", c->refused, c->now_ms), 0);
	/* The time of the first scan is no device's. */
	assert_int_equal(use_log_longest_ms(log, c->now_ms), c->refused ? 0 : c->left_ms);
	use_log_free(log);
}

static struct refused_case {
	const char *name;
	const char *status;
	const char *reason;
	bool refused;
} claims[] = {
	{ "a claim of what is in use was refused for that", "False", "InUse", true },
	{ "and one of what the node needs", "False", "HostNetwork", true },
	{ "not one that is refused for another reason", "False", "GroupShared", false },
	{ "nor one that is ready", "True", "Ready", false },
};

struct status {
	struct api_conditions conditions;
};

static const struct json_row status_map[] = { API_CONDITIONS(struct status), JSON_END };

static void it_was_refused(void **state)
{
	const struct refused_case *c = *state;
	struct status status = { 0 };

	assert_false(use_log_was_refused(&status.conditions));
	api_conditions_set(&status.conditions,
			   &(struct api_condition_value){
				   .type = "Ready",
				   .status = strcmp(c->status, "True") == 0 ? API_TRUE : API_FALSE,
				   .reason = c->reason,
				   .message = "m" },
			   1000);
	assert_int_equal(use_log_was_refused(&status.conditions), c->refused);
	json_map_done(status_map, &status);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, cases, it_counts_as_free);
	suite_rows(&suite, claims, it_was_refused);
	return suite_run(&suite, "use_log");
}
