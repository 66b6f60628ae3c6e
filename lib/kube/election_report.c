#include "kube/election_report.h"

#include <stddef.h>

#include "base/err.h"
#include "base/log.h"
#include "kube/metrics.h"

static const struct metric_desc leading_desc = {
	.name = "hostdev_leader",
	.help = "1 while this process leads.",
	.type = METRIC_GAUGE,
	.labels = { "lease" },
};

static const struct metric_desc changes_desc = {
	.name = "hostdev_leader_changes_total",
	.help = "Times that this process began or ceased to lead.",
	.type = METRIC_COUNTER,
	.labels = { "lease", "to" },
};

void election_report_init(struct election_report *report, struct metrics *metrics,
			  const char *lease, const char *identity)
{
	*report = (struct election_report){
		.lease = lease,
		.identity = identity,
		.leading = metrics_family(metrics, &leading_desc),
		.changes = metrics_family(metrics, &changes_desc),
	};
	metric_show(report->leading, &report->lease);
	metric_show(report->changes, (const char *const[]){ lease, "leader" });
	metric_show(report->changes, (const char *const[]){ lease, "follower" });
}

void election_report_leads(const struct election_report *report, bool leads)
{
	metric_set(report->leading, leads, &report->lease);
	metric_count(report->changes, report->lease, leads ? "leader" : "follower");
	log_info(leads ? "leading" : "leading no more", log_str("lease", report->lease),
		 log_str("identity", report->identity));
}

void election_report_end(struct election_report *report, const char *what, const struct err *err)
{
	enum log_level level = LOG_DEBUG;

	if (!err) {
		report->told = 0;
		return;
	}
	if (err->kind != ERR_CONFLICT && err->code != report->told) {
		level = LOG_WARN;
		report->told = err->code;
	}
	log_at_(level, what, log_str("lease", report->lease), log_str("error", err->msg));
}
