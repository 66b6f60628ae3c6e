#include "kube/reason_count.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/condition.h"
#include "api/reason.h"
#include "base/map.h"
#include "base/mem.h"
#include "kube/metrics.h"

struct reason_count {
	struct metric *claims;
	const char *kind;
	const struct reason_row *rows;
	size_t len;
	struct map *row_of;                     /* name -> pointer into places[] */
	char places[REASON_ROWS_MAX];           /* one per row; only the addresses are used */
	struct reason_row own[REASON_ROWS_MAX]; /* storage for reason_count_of() */
};

static const struct metric_desc claims_desc = {
	.name = "hostdev_claims",
	.help = "Claims of this node by kind, state and reason of the condition Ready.",
	.type = METRIC_GAUGE,
	.labels = { "kind", "state", "reason" },
};

static void add_to_row(const struct reason_count *count, const struct reason_row *row,
		       int64_t amount)
{
	metric_add(count->claims, amount,
		   (const char *const[]){ count->kind, row->state, row->reason });
}

static void show_rows(struct reason_count *count, const struct reason_row *rows, size_t len)
{
	assert(len >= 3 && len <= REASON_ROWS_MAX);
	count->rows = rows;
	count->len = len;
	for (size_t i = 0; i < len; i++)
		add_to_row(count, &rows[i], 0);
}

static struct reason_count *count_new(struct metrics *metrics, const char *kind)
{
	struct reason_count *count = xcalloc(1, sizeof(*count));

	count->claims = metrics_family(metrics, &claims_desc);
	count->kind = kind;
	count->row_of = map_new();
	return count;
}

struct reason_count *reason_count_new(struct metrics *metrics, const char *kind,
				      const struct reason_row *rows, size_t len)
{
	struct reason_count *count = count_new(metrics, kind);

	show_rows(count, rows, len);
	return count;
}

struct reason_count *reason_count_of(struct metrics *metrics, const char *kind, unsigned flag)
{
	struct reason_count *count = count_new(metrics, kind);
	const struct reason *reason;
	size_t cursor = 0;
	size_t len = 0;

	while ((reason = reason_next(flag, &cursor))) {
		assert(len < REASON_ROWS_MAX - 2 && reason->state);
		count->own[len++] = (struct reason_row){ reason->name, reason->state };
	}
	count->own[len++] = (struct reason_row){ "Unknown", "waiting" };
	count->own[len++] = (struct reason_row){ "Other", "failed" };
	assert(strcmp(count->own[0].state, "ready") == 0);
	show_rows(count, count->own, len);
	return count;
}

struct reason_count *reason_count_free(struct reason_count *count)
{
	if (!count)
		return NULL;
	map_free(count->row_of);
	free(count);
	return NULL;
}

static size_t row_of(const struct reason_count *count, const struct api_conditions *conditions)
{
	const struct api_condition *ready = api_conditions_find(conditions, "Ready");
	size_t other = count->len - 1;

	if (!ready || !ready->reason)
		return other - 1;
	if (api_conditions_status(conditions, "Ready") == API_TRUE)
		return 0;
	for (size_t i = 1; i < other; i++) {
		if (strcmp(count->rows[i].reason, ready->reason) == 0)
			return i;
	}
	return other;
}

void reason_count_set(struct reason_count *count, const char *name,
		      const struct api_conditions *conditions)
{
	const char *before = map_remove(count->row_of, name);
	size_t now;

	if (before)
		add_to_row(count, &count->rows[before - count->places], -1);
	if (!conditions)
		return;
	now = row_of(count, conditions);
	map_set(count->row_of, name, &count->places[now]);
	add_to_row(count, &count->rows[now], 1);
}
