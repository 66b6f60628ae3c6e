#include "kube/report.h"

#include "base/err.h"
#include "base/log.h"
#include "kube/metrics.h"
#include "kube/store.h"

static const struct metric_desc troubles_desc = {
	.name = "hostdev_watch_troubles_total",
	.help = "Lists and watches that ended otherwise than by running their time, by reason.",
	.type = METRIC_COUNTER,
	.labels = { "resource", "reason" },
};

static const struct metric_desc events_desc = {
	.name = "hostdev_watch_events_total",
	.help = "Events that watches brought.",
	.type = METRIC_COUNTER,
	.labels = { "resource" },
};

static const struct metric_desc objects_desc = {
	.name = "hostdev_store_objects",
	.help = "Objects held in memory.",
	.type = METRIC_GAUGE,
	.labels = { "resource" },
};

static const struct metric_desc unreadable_desc = {
	.name = "hostdev_store_unreadable_objects",
	.help = "Objects of which only the metadata could be read.",
	.type = METRIC_GAUGE,
	.labels = { "resource" },
};

void report_init(struct report *report, struct metrics *metrics, const char *resource)
{
	*report = (struct report){
		.resource = resource,
		.troubles = metrics_family(metrics, &troubles_desc),
		.events = metrics_family(metrics, &events_desc),
		.objects = metrics_family(metrics, &objects_desc),
		.unreadable = metrics_family(metrics, &unreadable_desc),
	};
	metric_show(report->events, &resource);
	metric_show(report->objects, &resource);
	metric_show(report->unreadable, &resource);
	for (enum reflector_event event = REFLECTOR_ENDED; event < REFLECTOR_NEVENTS; event++)
		metric_show(report->troubles,
			    (const char *const[]){ resource, reflector_event_text(event) });
}

void report_end(const struct report *report, enum reflector_event event,
		const struct reflector_step *step, const struct err *err)
{
	const char *reason = reflector_event_text(event);
	const char *why = err->msg;
	enum log_level level = !step->news                                     ? LOG_DEBUG
			       : report->optional && event == REFLECTOR_ABSENT ? LOG_INFO
									       : LOG_WARN;

	if (event < REFLECTOR_FAILED && step->wait_ms == 0)
		return;
	if (event == REFLECTOR_TIMER || event == REFLECTOR_STARTED)
		return;
	metric_count(report->troubles, report->resource, reason);
	if (event == REFLECTOR_ENDED)
		why = "the watch was over at once";
	log_at_(level, "list or watch interrupted", log_str("resource", report->resource),
		log_str("reason", reason), log_int("wait_ms", step->wait_ms),
		log_str("error", why));
}

void report_line(const struct report *report)
{
	metric_count(report->events, report->resource);
}

void report_store(struct report *report, const struct store *store)
{
	size_t len = store_len(store);
	size_t unreadable = store_unreadable(store);

	if (len != report->len)
		metric_set(report->objects, (int64_t)len, &report->resource);
	if (unreadable != report->len_unreadable)
		metric_set(report->unreadable, (int64_t)unreadable, &report->resource);
	report->len = len;
	report->len_unreadable = unreadable;
}

void report_synced(const struct report *report, const struct store *store)
{
	log_info("synced", log_str("resource", report->resource),
		 log_int("objects", store_len(store)));
}

void report_unreadable(const struct report *report, const struct err *err)
{
	log_warn("object unreadable", log_str("resource", report->resource),
		 log_str("error", err->msg));
}
