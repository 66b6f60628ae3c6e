#include "agent/claim/claim_count.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/pcideviceclaim.h"
#include "base/map.h"
#include "base/mem.h"
#include "kube/metrics.h"

static const char *const states[] = { "ready", "waiting", "held", "stuck", "failed" };

enum { READY, WAITING, HELD, STUCK, FAILED, STATES };

struct claim_count {
	struct metric *claims;
	struct map *state_of; /* name -> one of n */
	int64_t n[STATES];
};

static const struct metric_desc claims_desc = {
	.name = "hostdev_claims",
	.help = "Claims of this node, by how far they are.",
	.type = METRIC_GAUGE,
	.labels = { "state" },
};

/* Reasons of Ready that are no failure of a step. */
static const struct {
	const char *reason;
	int state;
} reasons[] = {
	{ "Waiting", WAITING },  { "Binding", WAITING }, { "Releasing", WAITING },
	{ "Released", WAITING }, { "Busy", WAITING },    { "SkippedByAnnotation", WAITING },
	{ "Held", HELD },        { "Stuck", STUCK },
};

struct claim_count *claim_count_new(struct metrics *metrics)
{
	struct claim_count *count = xcalloc(1, sizeof(*count));

	count->claims = metrics_family(metrics, &claims_desc);
	count->state_of = map_new();
	for (int i = 0; i < STATES; i++)
		metric_set(count->claims, 0, &states[i]);
	return count;
}

struct claim_count *claim_count_free(struct claim_count *count)
{
	if (!count)
		return NULL;
	map_free(count->state_of);
	free(count);
	return NULL;
}

static int state_of(const struct pcideviceclaim *claim)
{
	const struct api_conditions *conditions = &claim->status.conditions;
	const struct api_condition *ready = api_conditions_find(conditions, "Ready");

	if (api_conditions_status(conditions, "Ready") == API_TRUE)
		return READY;
	if (!ready || !ready->reason || api_conditions_status(conditions, "Accepted") == API_FALSE)
		return WAITING;
	for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
		if (strcmp(ready->reason, reasons[i].reason) == 0)
			return reasons[i].state;
	}
	return FAILED;
}

static void add(struct claim_count *count, int64_t *n, int64_t amount)
{
	*n += amount;
	metric_set(count->claims, *n, &states[n - count->n]);
}

void claim_count_set(struct claim_count *count, const char *name,
		     const struct pcideviceclaim *claim)
{
	int64_t *before = map_remove(count->state_of, name);
	int64_t *now;

	if (before)
		add(count, before, -1);
	if (!claim)
		return;
	now = &count->n[state_of(claim)];
	map_set(count->state_of, name, now);
	add(count, now, 1);
}
