#include "agent/binder/binder_note.h"

#include "base/log.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "kube/metrics.h"

enum { FUNCTIONS_MAX = 240 }; /* bytes of addresses in a log line */

static const struct metric_desc transitions_desc = {
	.name = "hostdev_transitions_total",
	.help = "Binds and releases of IOMMU groups, and plans of them, by verb and result.",
	.type = METRIC_COUNTER,
	.labels = { "verb", "result" },
};

static const struct metric_desc seconds_desc = {
	.name = "hostdev_transition_seconds",
	.help = "Duration of the helper that binds or releases an IOMMU group.",
	.type = METRIC_SECONDS,
	.labels = { "verb" },
	.buckets_ms = { 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 15000, 60000 },
};

static const struct metric_desc running_desc = {
	.name = "hostdev_transitions_running",
	.help = "Helpers that bind or release an IOMMU group now, including stuck ones.",
	.type = METRIC_GAUGE,
};

static const struct metric_desc stuck_desc = {
	.name = "hostdev_transitions_stuck",
	.help = "Helpers that bind or release an IOMMU group and are past their deadline.",
	.type = METRIC_GAUGE,
};

static const struct metric_desc oldest_desc = {
	.name = "hostdev_transitions_oldest_start_timestamp_seconds",
	.help = "Unix time at which the oldest running bind or release started; 0 if none runs.",
	.type = METRIC_GAUGE,
};

/* What there can be, from the start. */
static void show(const struct binder_note *note, enum binder_verb verb)
{
	const char *text = binder_verb_text(verb);

	metric_show(note->seconds, &text);
	for (enum binder_result result = BINDER_DONE; result <= BINDER_STUCK; result++)
		metric_show(note->transitions,
			    (const char *const[]){ text, binder_result_text(result) });
}

void binder_note_init(struct binder_note *note, struct metrics *metrics)
{
	note->transitions = metrics_family(metrics, &transitions_desc);
	note->seconds = metrics_family(metrics, &seconds_desc);
	note->running = metrics_family(metrics, &running_desc);
	note->stuck = metrics_family(metrics, &stuck_desc);
	note->oldest = metrics_family(metrics, &oldest_desc);
	for (enum binder_verb verb = BINDER_BIND; verb <= BINDER_PLAN_RELEASE; verb++)
		show(note, verb);
}

void binder_note_running(const struct binder_note *note, size_t running, size_t stuck,
			 uint64_t age_ms)
{
	metric_set(note->running, (int64_t)running, NULL);
	metric_set(note->stuck, (int64_t)stuck, NULL);
	metric_set(note->oldest, running > 0 ? (timefmt_wall_ms() - (int64_t)age_ms) / 1000 : 0,
		   NULL);
}

static void add_addresses(struct str *out, const struct json_strs *addresses)
{
	for (size_t i = 0; i < addresses->len && out->len <= FUNCTIONS_MAX; i++) {
		if (i > 0)
			str_add_char(out, ',');
		str_add(out, addresses->items[i]);
	}
	str_cut(out, FUNCTIONS_MAX);
}

static enum log_level level_of(const struct binder_noted *what, enum binder_result result)
{
	if (what->verb == BINDER_PLAN_BIND || what->verb == BINDER_PLAN_RELEASE)
		return LOG_DEBUG;
	/* Tried again every few seconds: who waits for it tells it once. */
	if (result == BINDER_HELD || result == BINDER_BUSY)
		return LOG_DEBUG;
	return result == BINDER_STUCK ? LOG_WARN : LOG_INFO;
}

static void add_text(struct log_field *fields, size_t *n, const char *key, const char *text)
{
	if (text && *text)
		fields[(*n)++] = log_str(key, text);
}

static void log_end(const struct binder_noted *what, const struct binder_outcome *outcome)
{
	auto_str struct str functions = STR_INIT;
	struct log_field fields[13] = { 0 };
	size_t n = 0;
	bool stuck = outcome->result == BINDER_STUCK;

	add_addresses(&functions, what->addresses);
	fields[n++] = log_str("verb", binder_verb_text(what->verb));
	fields[n++] = log_str("group", what->group);
	fields[n++] = log_str("functions", str_cstr(&functions));
	fields[n++] = log_str("result", binder_result_text(outcome->result));
	fields[n++] = log_str("reason", outcome->reason);
	fields[n++] = log_int("took_ms", outcome->took_ms);
	fields[n++] = log_int("helper_us", outcome->helper_us);
	fields[n++] = log_int("kernel_us", outcome->kernel_us);
	add_text(fields, &n, "step", outcome->step);
	add_text(fields, &n, "address", outcome->address);
	add_text(fields, &n, "errno", outcome->error_name);
	add_text(fields, &n, "message", outcome->message);
	log_write(level_of(what, outcome->result),
		  stuck ? "transition is stuck" : "transition ended", fields);
}

/* A stuck one is measured when it has ended. */
void binder_note_end(const struct binder_note *note, const struct binder_noted *what,
		     const struct binder_outcome *outcome)
{
	const char *verb = binder_verb_text(what->verb);

	metric_count(note->transitions, verb, binder_result_text(outcome->result));
	if (outcome->result != BINDER_STUCK)
		metric_observe(note->seconds, outcome->took_ms, (const char *const[]){ verb });
	log_end(what, outcome);
}

void binder_note_gone(const struct binder_note *note, const struct binder_noted *what, int pid,
		      uint64_t took_ms)
{
	const char *verb = binder_verb_text(what->verb);

	metric_observe(note->seconds, took_ms, (const char *const[]){ verb });
	log_info("stuck transition ended", log_str("verb", verb), log_str("group", what->group),
		 log_int("pid", pid), log_int("took_ms", took_ms));
}
