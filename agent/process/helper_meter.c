#include "agent/process/helper_meter.h"

#include <string.h>

#include "base/mem.h"
#include "kube/metrics.h"

static const struct metric_desc seconds_desc = {
	.name = "hostdev_helper_seconds",
	.help = "Duration of helper runs by verb.",
	.type = METRIC_SECONDS,
	.labels = { "verb" },
	.buckets_ms = { 10, 50, 250, 1000, 5000, 15000, 60000 },
};

static const struct metric_desc running_desc = {
	.name = "hostdev_helpers_running",
	.help = "Running helpers by verb, including stuck ones.",
	.type = METRIC_GAUGE,
	.labels = { "verb" },
};

static const struct metric_desc stuck_desc = {
	.name = "hostdev_helpers_stuck",
	.help = "Helpers that the kernel blocks past their deadline, by verb.",
	.type = METRIC_GAUGE,
	.labels = { "verb" },
};

/* The last: names of devices, programs of vendors. */
static const char *const verbs[] = { "scan",         "bind",     "release",     "plan-bind",
				     "plan-release", "vfs",      "mdev-create", "mdev-remove",
				     "vgpu-look",    "vgpu-set", "open",        "other" };

void helper_meter_show(struct metrics *metrics)
{
	struct helper_meter meter;

	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		helper_meter_start(&meter, metrics, verbs[i]);
		metric_show(meter.seconds, &verbs[i]);
		metric_show(meter.stuck, &verbs[i]);
		helper_meter_drop(&meter);
	}
}

void helper_meter_start(struct helper_meter *meter, struct metrics *metrics, const char *word)
{
	size_t i = 0;

	while (i + 1 < ARRAY_LEN(verbs) && strcmp(verbs[i], word) != 0)
		i++;
	*meter = (struct helper_meter){
		.seconds = metrics_family(metrics, &seconds_desc),
		.running = metrics_family(metrics, &running_desc),
		.stuck = metrics_family(metrics, &stuck_desc),
		.verb = verbs[i],
	};
	metric_add(meter->running, 1, &meter->verb);
}

void helper_meter_stick(struct helper_meter *meter)
{
	if (!meter->is_stuck)
		metric_add(meter->stuck, 1, &meter->verb);
	meter->is_stuck = true;
}

void helper_meter_end(struct helper_meter *meter, uint64_t took_ms)
{
	metric_observe(meter->seconds, took_ms, &meter->verb);
	helper_meter_drop(meter);
}

void helper_meter_drop(struct helper_meter *meter)
{
	metric_add(meter->running, -1, &meter->verb);
	if (meter->is_stuck)
		metric_add(meter->stuck, -1, &meter->verb);
	*meter = (struct helper_meter){ 0 };
}
