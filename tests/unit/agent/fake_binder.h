/*
 * fake_binder: agent/binder/binder.h without helpers, and agent/process/pid_watch.h without
 * processes. Records the jobs; the test says how each ends. One binder at a time.
 */
#pragma once

#include <string.h>

#include "agent/binder/binder.h"
#include "agent/process/pid_watch.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "unit/suite.h"

/* Literals serve as texts of outcomes: they are not freed. */
#define TEXT(s) ((char[]){ s })

struct fake_job {
	enum binder_verb verb;
	char *group;
	char *text; /* "bind 12: 0000:01:00.0 e1000e->vfio-pci for node1-000001000/u1" */
	struct json_strs addresses;
	struct json_pairs claims; /* name -> uid                           */
	struct json_pairs owners; /* address -> claim for which it is moved */
	bool cancelled;
	bool stuck;
	bool late;
	binder_end_fn *end;
	void *arg;
};

struct pid_watch {
	int pid;
	pid_watch_fn *fn;
	void *arg;
};

struct binder {
	binder_free_fn *on_free;
	binder_late_fn *on_late;
	void *arg;
	struct {
		struct fake_job *items[32]; /* oldest first */
		size_t len;
	} jobs;
	size_t started;
};

/* What the tests look at; a binder or a watch that is freed leaves NULL. */
static struct {
	struct binder *binder;
	struct pid_watch *watch;
	size_t watches; /* made so far */
	uint64_t now_ms;
} fake;

static inline void fake_job_free(struct fake_job *job)
{
	free(job->group);
	free(job->text);
	json_strs_done(&job->addresses);
	json_pairs_done(&job->claims);
	json_pairs_done(&job->owners);
	free(job);
}

struct binder *binder_new(struct uv_loop_s *loop, const struct binder_options *options,
			  binder_free_fn *on_free, void *arg)
{
	struct binder *binder = xcalloc(1, sizeof(*binder));

	(void)loop;
	(void)options;
	binder->on_free = on_free;
	binder->arg = arg;
	fake.binder = binder;
	return binder;
}

struct binder *binder_free(struct binder *binder)
{
	for (size_t i = 0; i < binder->jobs.len; i++)
		fake_job_free(binder->jobs.items[i]);
	free(binder);
	fake.binder = NULL;
	return NULL;
}

void binder_set_node_address(struct binder *binder, const char *address)
{
	(void)binder;
	(void)address;
}

void binder_set_late(struct binder *binder, binder_late_fn *on_late)
{
	binder->on_late = on_late;
}

static inline struct fake_job *fake_job_of(const struct binder *binder, const char *address)
{
	for (size_t i = 0; i < binder->jobs.len; i++) {
		if (json_strs_has(&binder->jobs.items[i]->addresses, address))
			return binder->jobs.items[i];
	}
	return NULL;
}

enum binder_state binder_look(const struct binder *binder, const char *address,
			      struct binder_trouble *ret_trouble)
{
	const struct fake_job *job = fake_job_of(binder, address);

	if (!job)
		return BINDER_IDLE;
	if (ret_trouble)
		*ret_trouble = (struct binder_trouble){
			.pid = 4711,
			.verb = job->verb == BINDER_BIND ? "bind" : "release",
			.step = "Unbind",
			.address = job->addresses.items[0],
			.age_ms = 7000,
			.late = job->late,
		};
	return job->stuck ? BINDER_IS_STUCK : BINDER_RUNNING;
}

void binder_start(struct binder *binder, const struct binder_job *job, binder_end_fn *end,
		  void *arg)
{
	struct fake_job *made = xcalloc(1, sizeof(*made));
	struct str text = STR_INIT;

	str_addf(&text, "%s %s:", job->verb == BINDER_BIND ? "bind" : "release",
		 job->group ? job->group : "-");
	for (size_t i = 0; i < job->len; i++) {
		const struct binder_function *f = &job->items[i];

		assert_null(fake_job_of(binder, f->address)); /* no job moves it already */
		json_strs_add(&made->addresses, f->address);
		if (!job->on_demand)
			json_pairs_set(&made->claims, f->claim, f->uid);
		json_pairs_set(&made->owners, f->address, f->claim);
		str_addf(&text, " %s %s->%s for %s/%s", f->address, f->native ? f->native : "?",
			 f->driver, f->claim, f->uid);
	}
	made->verb = job->verb;
	made->group = xstrdup_or_null(job->group);
	made->text = str_detach(&text);
	made->end = end;
	made->arg = arg;
	assert_true(binder->jobs.len < ARRAY_LEN(binder->jobs.items));
	binder->jobs.items[binder->jobs.len++] = made;
	binder->started++;
}

void binder_cancel(struct binder *binder, const char *claim, const char *uid)
{
	for (size_t i = 0; i < binder->jobs.len; i++) {
		struct fake_job *job = binder->jobs.items[i];
		const char *begun = json_pairs_get(&job->claims, claim);

		job->cancelled |=
			job->verb == BINDER_BIND && begun && (!uid || strcmp(begun, uid) != 0);
	}
}

/* The oldest job is under way no more. */
static inline struct fake_job *fake_job_take(void)
{
	struct fake_job *job = fake.binder->jobs.items[0];

	fake.binder->jobs.len--;
	memmove(&fake.binder->jobs.items[0], &fake.binder->jobs.items[1],
		fake.binder->jobs.len * sizeof(void *));
	return job;
}

/* The oldest job comes to @outcome, and may be stuck from then on. */
static inline void fake_binder_end(struct binder_outcome outcome)
{
	struct fake_job *job;

	assert_true(fake.binder->jobs.len > 0);
	job = fake.binder->jobs.items[0];
	outcome.ended_ms = fake.now_ms;
	job->stuck = outcome.task.result == TASK_STUCK;
	if (!job->stuck)
		(void)fake_job_take();
	job->end(job->arg, &outcome);
	if (outcome.task.result != TASK_STUCK)
		fake_job_free(job);
}

/* The step of the oldest job takes long. */
static inline void fake_binder_late(void)
{
	struct fake_job *job = fake.binder->jobs.items[0];

	job->late = true;
	fake.binder->on_late(fake.binder->arg, job->addresses.items[0]);
}

/* The helper of the oldest job, which is stuck, ends. */
static inline void fake_binder_unstick(void)
{
	struct fake_job *job = fake.binder->jobs.items[0];

	assert_true(job->stuck);
	(void)fake_job_take();
	fake.binder->on_free(fake.binder->arg, job->group ? job->group : "");
	fake_job_free(job);
}

struct pid_watch *pid_watch_new(struct uv_loop_s *loop, int pid, pid_watch_fn *fn, void *arg,
				struct err *err)
{
	struct pid_watch *watch;

	(void)loop;
	fake.watches++;
	if (pid == 1) {
		err_set(err, ERR_RETRY, -1, "it cannot be watched");
		return NULL;
	}
	watch = xcalloc(1, sizeof(*watch));
	*watch = (struct pid_watch){ .pid = pid, .fn = fn, .arg = arg };
	fake.watch = watch;
	return watch;
}

struct pid_watch *pid_watch_free(struct pid_watch *watch)
{
	if (fake.watch == watch)
		fake.watch = NULL;
	free(watch);
	return NULL;
}
