#include "kube/workq_run.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "fake/fake_clock.h"
#include "kube/metrics.h"
#include "unit/captured.h"
#include "unit/suite.h"

enum { RUNNING_MAX = 4 };

/* A queue whose work ends when the test says so. */
struct bench {
	struct fake_clock *clock;
	struct metrics *metrics;
	struct workq_run *run;
	struct str log; /* keys in the order in which they began */
	struct {
		work_end_fn *end;
		void *arg;
	} running[RUNNING_MAX];
	size_t len;
	int at_once; /* < 0: work ends before it returns, with that kind of error */
};

static void work(void *arg, const char *key, work_end_fn *end, void *end_arg)
{
	struct bench *b = arg;

	str_addf(&b->log, " %s", key);
	if (b->at_once < 0) {
		struct err err = { .kind = ERR_RETRY, .code = b->at_once };

		end(end_arg, b->at_once, &err);
		return;
	}
	assert_true(b->len < RUNNING_MAX);
	b->running[b->len].end = end;
	b->running[b->len++].arg = end_arg;
}

static void open_bench(struct bench *b, size_t max_running)
{
	*b = (struct bench){ .clock = fake_clock_new(), .metrics = metrics_new() };
	b->run = workq_run_new(&(struct workq_run_spec){ .name = "things",
							 .max_running = max_running,
							 .work = work,
							 .arg = b,
							 .clock = fake_clock_as_clock(b->clock),
							 .metrics = b->metrics });
}

static void close_bench(struct bench *b)
{
	workq_run_free(b->run);
	fake_clock_free(b->clock);
	metrics_free(b->metrics);
	str_done(&b->log);
}

SUITE_CLOSING(bench, struct bench, close_bench);

/* End the oldest work with @err; its code is 0 for success. */
static void end_work_with(struct bench *b, const struct err *err)
{
	assert_true(b->len > 0);
	b->len--;
	b->running[0].end(b->running[0].arg, err->code, err);
	memmove(&b->running[0], &b->running[1], b->len * sizeof(b->running[0]));
}

static void end_work(struct bench *b, enum err_kind kind)
{
	end_work_with(b, &(struct err){ .kind = kind, .code = kind == ERR_NONE ? 0 : -EBUSY });
}

static void began(struct bench *b, const char *log)
{
	fake_clock_settle(b->clock);
	assert_string_equal(str_cstr(&b->log), log);
	str_clear(&b->log);
}

static void work_begins_from_the_loop(void **state)
{
	struct bench *b = *state;

	open_bench(b, 1);
	assert_true(workq_run_idle(b->run));
	workq_run_add(b->run, "a");
	assert_string_equal(str_cstr(&b->log), "");
	assert_false(workq_run_idle(b->run));
	began(b, " a");
	end_work(b, ERR_NONE);
	assert_true(workq_run_idle(b->run));
}

static void keys_at_a_time_are_bounded(void **state)
{
	struct bench *b = *state;

	open_bench(b, 2);
	workq_run_add(b->run, "a");
	workq_run_add(b->run, "b");
	workq_run_add(b->run, "c");
	began(b, " a b");
	end_work(b, ERR_NONE);
	began(b, " c");
	end_work(b, ERR_NONE);
	end_work(b, ERR_NONE);
}

static struct end_case {
	const char *name;
	enum err_kind kind;
	uint64_t again_ms; /* UINT64_MAX: not by itself */
} ends[] = {
	{ "success is forgotten", ERR_NONE, UINT64_MAX },
	{ "what is transient comes again", ERR_RETRY, 5 },
	{ "a conflict comes again", ERR_CONFLICT, 5 },
	{ "what is invalid waits for an edit", ERR_INVALID, UINT64_MAX },
	{ "what is stuck is parked", ERR_STUCK, UINT64_MAX },
};

static void the_kind_of_an_error_decides(void **state)
{
	const struct end_case *row = suite_row(state);
	struct bench *b = *state;

	open_bench(b, 1);
	workq_run_add(b->run, "a");
	began(b, " a");
	end_work(b, row->kind);
	assert_int_equal(fake_clock_next(b->clock), row->again_ms);
	/* An edit gets all of them going. */
	workq_run_add(b->run, "a");
	began(b, " a");
	end_work(b, ERR_NONE);
}

static struct pace_case {
	const char *name;
	int code;
	unsigned wait_ms;
	unsigned failures;
	uint64_t least_ms; /* until the next look */
	uint64_t most_ms;
} paces[] = {
	{ "what fails is tried again soon", -EBUSY, 0, 1, 5, 5 },
	{ "what goes on failing is tried rarely", -EBUSY, 0, 30, 1000000, 1000000 },
	{ "a server that does not answer gets a little time", -EIO, 0, 1, 200, 200 },
	{ "a server that was slow gets a little time", -ETIMEDOUT, 0, 1, 200, 200 },
	{ "a kind that is gone gets a little time", -ENOENT, 0, 1, 200, 200 },
	{ "a server in trouble gets a little time", -EREMOTEIO, 0, 1, 200, 200 },
	{ "a server that comes back is noticed", -EAGAIN, 0, 30, 30000, 30000 },
	{ "a right that lacks is asked for slowly", -EACCES, 0, 1, 5000, 5000 },
	{ "a right that is granted is noticed", -EACCES, 0, 30, 60000, 60000 },
	{ "the server is asked as late as it wants", -EAGAIN, 2000, 1, 2000, 3000 },
	{ "it may have to wait longer than it wants", -EAGAIN, 2000, 30, 30000, 30000 },
	{ "it may not want for ever", -EAGAIN, 3600 * 1000, 1, 300000, 450000 },
};

static void the_cause_sets_the_pace(void **state)
{
	const struct pace_case *row = suite_row(state);
	struct bench *b = *state;

	open_bench(b, 1);
	for (unsigned i = 0; i < row->failures; i++) {
		uint64_t next_ms = fake_clock_next(b->clock);

		if (i == 0)
			workq_run_add(b->run, "a");
		else
			fake_clock_advance(b->clock, next_ms);
		began(b, " a");
		end_work_with(b, &(struct err){ ERR_RETRY, row->code, row->wait_ms, "" });
	}
	assert_in_range(fake_clock_next(b->clock), row->least_ms, row->most_ms);
}

static void work_may_end_before_it_returns(void **state)
{
	struct bench *b = *state;

	open_bench(b, 1);
	b->at_once = -EBUSY;
	workq_run_add(b->run, "a");
	began(b, " a");
	fake_clock_advance(b->clock, 5);
	began(b, " a");
	fake_clock_advance(b->clock, 9);
	began(b, "");
	fake_clock_advance(b->clock, 1);
	began(b, " a");
}

static void a_later_look_comes_at_its_time(void **state)
{
	struct bench *b = *state;

	open_bench(b, 1);
	workq_run_add_after(b->run, "a", 1000);
	fake_clock_advance(b->clock, 999);
	began(b, "");
	fake_clock_advance(b->clock, 1);
	began(b, " a");
	end_work(b, ERR_NONE);
}

static void work_outlives_its_queue(void **state)
{
	struct bench *b = *state;

	open_bench(b, 2);
	workq_run_add(b->run, "a");
	workq_run_add(b->run, "b");
	began(b, " a b");
	b->run = workq_run_free(b->run);
	end_work(b, ERR_RETRY);
	end_work(b, ERR_NONE);
	assert_int_equal(fake_clock_next(b->clock), UINT64_MAX);
}

static void shows(const struct bench *b, const char *line)
{
	auto_str struct str text = STR_INIT;

	metrics_write(b->metrics, &text);
	if (!strstr(str_cstr(&text), line))
		fail_msg("no %s in %s", line, str_cstr(&text));
}

static void metrics_tell_how_a_queue_is_doing(void **state)
{
	struct bench *b = *state;

	open_bench(b, 1);
	shows(b, "hostdev_queue_adds_total{queue=\"things\"} 0\n");
	shows(b, "hostdev_reconciles_total{queue=\"things\",result=\"stuck\"} 0\n");
	workq_run_add(b->run, "a");
	workq_run_add(b->run, "a");
	workq_run_add(b->run, "b");
	began(b, " a");
	shows(b, "hostdev_queue_adds_total{queue=\"things\"} 2\n");
	shows(b, "hostdev_queue_waiting{queue=\"things\"} 1\n");
	fake_clock_advance(b->clock, 500);
	end_work(b, ERR_RETRY);
	began(b, " b");
	shows(b, "hostdev_queue_retries_total{queue=\"things\"} 1\n");
	shows(b, "hostdev_queue_duration_seconds_count{queue=\"things\"} 2\n");
	shows(b, "hostdev_queue_duration_seconds_sum{queue=\"things\"} 0.5\n");
	end_work(b, ERR_NONE);
	fake_clock_advance(b->clock, 5);
	began(b, " a");
	shows(b, "hostdev_queue_adds_total{queue=\"things\"} 3\n");
	end_work(b, ERR_NONE);
}

static size_t lines_of(const char *text)
{
	size_t lines = 0;

	for (const char *line = text; (line = strstr(line, "reconcile failed")); line++)
		lines++;
	return lines;
}

/* One key fails again and again, with @code and then with another, while a second one succeeds. */
static void a_failure_is_logged_once_for_each_way(void **state)
{
	struct bench *b = *state;
	struct captured captured;
	auto_free char *text = NULL;

	open_bench(b, 1);
	log_set_level(LOG_INFO);
	captured_begin(&captured);
	workq_run_add(b->run, "a");
	for (int i = 0; i < 6; i++) {
		fake_clock_settle(b->clock);
		end_work_with(b, &(struct err){ ERR_RETRY, i < 4 ? -EIO : -EACCES, 0, "" });
		workq_run_add(b->run, "b");
		fake_clock_settle(b->clock);
		end_work(b, ERR_NONE);
		fake_clock_advance(b->clock, fake_clock_next(b->clock));
	}
	text = captured_end(&captured);
	log_set_level(LOG_ERROR);
	assert_int_equal(lines_of(text), 2);
	end_work(b, ERR_NONE);
	captured_begin(&captured);
	log_set_level(LOG_INFO);
	workq_run_add(b->run, "a");
	fake_clock_settle(b->clock);
	end_work_with(b, &(struct err){ ERR_RETRY, -EACCES, 0, "" });
	log_set_level(LOG_ERROR);
	free(text);
	text = captured_end(&captured);
	assert_int_equal(lines_of(text), 1);
}

int main(void)
{
	struct suite suite = { 0 };

	log_set_level(LOG_ERROR);
	suite_fixture(&suite, &bench_fixture);
	suite_add(&suite, "work begins from the loop", work_begins_from_the_loop, NULL);
	suite_add(&suite, "keys at a time are bounded", keys_at_a_time_are_bounded, NULL);
	suite_rows(&suite, ends, the_kind_of_an_error_decides);
	suite_rows(&suite, paces, the_cause_sets_the_pace);
	suite_add(&suite, "work may end before it returns", work_may_end_before_it_returns, NULL);
	suite_add(&suite, "a later look comes at its time", a_later_look_comes_at_its_time, NULL);
	suite_add(&suite, "metrics tell how a queue is doing", metrics_tell_how_a_queue_is_doing,
		  NULL);
	suite_add(&suite, "a failure is logged once for each way",
		  a_failure_is_logged_once_for_each_way, NULL);
	suite_add(&suite, "work outlives its queue", work_outlives_its_queue, NULL);
	return suite_run(&suite, "workq_run");
}
