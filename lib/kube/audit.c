#include "kube/audit.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/budget.h"
#include "kube/clock.h"
#include "kube/events.h"

const char *audit_result(const char *reason, bool warning)
{
	if (!warning)
		return "Done";
	if (strcmp(reason, "Held") == 0)
		return "Held";
	if (strcmp(reason, "Stuck") == 0)
		return "Stuck";
	return str_ends_in(reason, "Failed") || strcmp(reason, "DriverLost") == 0 ||
			       strcmp(reason, "Unhealthy") == 0
		       ? "Failed"
		       : "Refused";
}

static char *name_in(const char *ns, const char *name)
{
	return ns && *ns && name ? xasprintf("%s/%s", ns, name) : xstrdup_or_null(name);
}

static void write_line(const struct audit *audit, size_t text_max)
{
	auto_free char *pod = name_in(audit->ns, audit->pod);
	auto_free char *vm = name_in(audit->ns, audit->vm);
	const struct {
		const char *key;
		const char *text;
	} rows[] = {
		{ "action", audit->action },
		{ "result", audit->result },
		{ "user", audit->user },
		{ "owner", audit->owner },
		{ "kind", audit->kind },
		{ "device", audit->device },
		{ "node", audit->node },
		{ "pod", pod },
		{ "container", audit->container },
		{ "resource", audit->resource },
		{ "reason", audit->reason },
		{ "message", audit->message },
		{ "vm", vm },
		{ "verified", audit->verified },
	};
	struct log_field fields[ARRAY_LEN(rows) + 1] = { 0 };
	struct str texts[ARRAY_LEN(rows)] = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (!rows[i].text || !*rows[i].text)
			continue;
		str_add(&texts[n], rows[i].text);
		str_cut(&texts[n], text_max);
		fields[n] = log_str(rows[i].key, str_cstr(&texts[n]));
		n++;
	}
	log_always(audit->warning ? LOG_WARN : LOG_INFO, "audit", fields);
	for (size_t i = 0; i < n; i++)
		str_done(&texts[i]);
}

void audit_log(const struct audit *audit)
{
	write_line(audit, AUDIT_TEXT_MAX);
}

struct audit_quota {
	struct clock *clock;
	struct clock_timer *timer; /* runs while something is still to be logged */
	struct budget budget;
	uint64_t left_out;
};

static void tell_left_out(void *arg)
{
	struct audit_quota *quota = arg;

	clock_timer_stop(quota->clock, quota->timer);
	if (quota->left_out == 0)
		return;
	log_always(LOG_WARN, "audit lines left out",
		   (const struct log_field[]){ log_int("lines", quota->left_out),
					       log_str("verified", "false"),
					       { 0 } });
	quota->left_out = 0;
}

struct audit_quota *audit_quota_new(struct clock *clock)
{
	struct audit_quota *quota = xcalloc(1, sizeof(*quota));

	quota->clock = clock;
	quota->timer = clock_timer_new(clock, tell_left_out, quota);
	return quota;
}

struct audit_quota *audit_quota_free(struct audit_quota *quota)
{
	if (!quota)
		return NULL;
	tell_left_out(quota);
	clock_timer_free(quota->clock, quota->timer);
	free(quota);
	return NULL;
}

void audit_quota_log(struct audit_quota *quota, const struct audit *audit)
{
	static const struct budget_bound bound = { AUDIT_QUOTA_BURST, AUDIT_QUOTA_REFILL_MS };

	if (!quota) {
		audit_log(audit);
		return;
	}
	if (budget_take(&quota->budget, &bound, clock_now_ms(quota->clock))) {
		tell_left_out(quota);
		write_line(audit, AUDIT_QUOTA_TEXT_MAX);
		return;
	}
	if (quota->left_out++ == 0)
		clock_timer_start(quota->clock, quota->timer, AUDIT_QUOTA_TOLD_MS);
}

void audit_record(struct events *events, const struct events_about *about,
		  const struct audit *audit)
{
	audit_log(audit);
	if (events && about->meta)
		events_record(events, about, audit->warning ? EVENTS_WARNING : EVENTS_NORMAL,
			      audit->reason, "%s", audit->message);
}
