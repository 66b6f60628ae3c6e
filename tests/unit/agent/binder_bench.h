/* binder_bench: a binder on a loop, scripts in place of hostdev-helper, and who waits for them. */
#pragma once

#include <string.h>

#include "agent/binder/binder.h"
#include "agent/process/helper_run.h"
#include "base/array.h"
#include "base/str.h"
#include "kube/metrics.h"
#include "unit/agent/fake_helper.h"

#define SAY(line)  "echo '" line "'\n"
#define STEP(step) SAY("{\"kind\":\"step\",\"address\":\"0000:01:00.0\",\"step\":\"" step "\"}")
#define DONE       SAY("{\"kind\":\"end\",\"result\":\"Done\",\"kernelMicros\":5,\"micros\":9}")
#define HANG       "read x <$gate\n"

struct bench;

/* One transition, as its owner sees it. */
struct owner {
	struct bench *bench;
	struct binder_job job;
	struct binder_outcome outcome;
	int ended;
};

struct bench {
	struct fake_helper fake;
	struct metrics *metrics;
	struct binder_options options;
	struct binder *binder;
	int freed; /* groups */
	int late;
	char *freed_group;
	bool frees_binder; /* at the next callback */
	struct owner owners[3];
};

static inline void bench_react(struct bench *b)
{
	uv_stop(&b->fake.loop);
	if (b->frees_binder)
		b->binder = binder_free(b->binder);
	b->frees_binder = false;
}

static inline void owner_on_end(void *arg, const struct binder_outcome *outcome)
{
	struct owner *owner = arg;

	binder_outcome_done(&owner->outcome);
	binder_outcome_copy(&owner->outcome, outcome);
	owner->ended++;
	bench_react(owner->bench);
	/* It is valid during the whole call, whatever the owner does. */
	assert_string_equal(owner->outcome.task.message, outcome->task.message);
}

static inline void bench_on_free(void *arg, const char *group)
{
	struct bench *b = arg;

	b->freed++;
	free(b->freed_group);
	b->freed_group = xstrdup(group);
	bench_react(b);
}

static inline void bench_on_late(void *arg, const char *address)
{
	struct bench *b = arg;
	struct binder_trouble trouble;

	assert_int_equal(binder_look(b->binder, address, &trouble), BINDER_RUNNING);
	assert_true(trouble.late);
	b->late++;
}

static inline void bench_begin(struct bench *b, const char *body)
{
	*b = (struct bench){ .metrics = metrics_new() };
	fake_helper_init(&b->fake, body);
	b->options = (struct binder_options){
		.proc = b->fake.folder.path,
		.helper = { .path = b->fake.path, .state_dir = "/state" },
		.deadline_ms = AMPLE_MS,
		.metrics = b->metrics,
	};
	b->binder = binder_new(&b->fake.loop, &b->options, bench_on_free, b);
	binder_set_late(b->binder, bench_on_late);
}

/* A test may call this itself, to check that no callback runs. */
static inline void bench_done(struct bench *b)
{
	if (!b->metrics)
		return;
	b->binder = binder_free(b->binder);
	fake_helper_done(&b->fake);
	b->metrics = metrics_free(b->metrics);
	free(b->freed_group);
	b->freed_group = NULL;
}

static inline void owner_add(struct owner *owner, const char *address)
{
	*array_add(&owner->job) = (struct binder_function){
		.address = xstrdup(address),
		.id = xstrdup("8086:10d3"),
		.driver = xstrdup("vfio-pci"),
		.claim = xstrdup("vm1-000001000"),
		.uid = xstrdup("1-2"),
	};
}

static inline void owner_init(struct owner *owner, struct bench *b, const char *group,
			      const char *address)
{
	*owner = (struct owner){ .bench = b };
	owner->job.group = xstrdup_or_null(group);
	owner_add(owner, address);
}

static inline void owner_done(struct owner *owner)
{
	binder_outcome_done(&owner->outcome);
	binder_job_done(&owner->job);
}

static inline void bench_close(struct bench *b)
{
	bench_done(b);
	for (size_t i = 0; i < ARRAY_LEN(b->owners); i++)
		owner_done(&b->owners[i]);
}

SUITE_CLOSING(bench, struct bench, bench_close);

/* The job may be forgotten as soon as it is started. */
static inline void owner_start(struct owner *owner)
{
	binder_start(owner->bench->binder, &owner->job, owner_on_end, owner);
	assert_int_equal(owner->ended, 0);
	binder_job_done(&owner->job);
}

/* What is waited for stops the loop: it may be told by a timer before the loop waits for anything
 * else, which then may never come. */
static inline void bench_run_until(struct bench *b, const int *count, int least)
{
	while (*count < least && uv_run(&b->fake.loop, UV_RUN_DEFAULT))
		;
	assert_int_equal(*count, least);
}

static inline void bench_run_until_step(struct bench *b, const char *address, const char *step)
{
	struct binder_trouble trouble = { .step = "" };

	do {
		assert_int_not_equal(binder_look(b->binder, address, &trouble), BINDER_IDLE);
	} while (strcmp(trouble.step, step) != 0 && uv_run(&b->fake.loop, UV_RUN_ONCE));
	assert_string_equal(trouble.step, step);
}

/* How many looks that takes depends on how busy the machine of the test is. */
static inline void bench_pass_deadlines(struct bench *b, const int *ended)
{
	for (int looks = 0; !*ended; looks++) {
		assert_in_range(looks, 0, 2 * HELPER_PATIENCE - 1);
		fake_helper_pass_look(&b->fake, ended);
	}
}

/* Start the job of @owner with a script that hangs in Unbind, and let its deadline pass. */
static inline void owner_get_stuck(struct owner *owner, const char *address)
{
	owner_start(owner);
	bench_run_until_step(owner->bench, address, "Unbind");
	bench_pass_deadlines(owner->bench, &owner->ended);
	assert_int_equal(owner->outcome.task.result, TASK_STUCK);
}

static inline void bench_assert_metric(const struct bench *b, const char *line)
{
	auto_str struct str text = STR_INIT;

	metrics_write(b->metrics, &text);
	if (!strstr(str_cstr(&text), line))
		fail_msg("no '%s' in:\n%s", line, str_cstr(&text));
}
