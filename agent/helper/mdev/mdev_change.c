#include "agent/helper/mdev/mdev_change.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/helper/frame/run.h"
#include "agent/helper/record/record.h"
#include "agent/helper/sys/bind_state.h"
#include "agent/helper/sys/holders.h"
#include "agent/helper/sys/job.h"
#include "agent/helper/sys/mdev.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/sys/value.h"
#include "agent/helper/sys/words.h"
#include "base/array.h"
#include "base/err.h"
#include "base/failpoint.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/str.h"

/* --- what is asked for ------------------------------------------------------------------------ */

static int add_instance(void *object, const struct word *word, struct err *err)
{
	struct mdev_job *job = object;

	if (job->len == MDEV_JOB_MAX)
		return err_set(err, ERR_INVALID, -EINVAL, "word '%s': more than %d instances",
			       word->text, MDEV_JOB_MAX);
	for (size_t i = 0; i < job->len; i++) {
		if (strcmp(job->items[i], word->value) == 0)
			return err_set(err, ERR_INVALID, -EINVAL, "word '%s' is there twice",
				       word->text);
	}
	*array_add(job) = word->value;
	return 0;
}

/* clang-format off */
static const struct word_row rows[] = {
	{ "parent", WORD_NEEDED, offsetof(struct mdev_job, parent), mdev_name_valid,
	  .form = "a parent's name such as 0000:3b:00.0" },
	{ "type",   0,           offsetof(struct mdev_job, type),   mdev_name_valid,
	  .form = "a type's id such as nvidia-222" },
	{ "owner",  WORD_NEEDED, offsetof(struct mdev_job, owner),  value_is_name,
	  .form = "a word" },
	{ "uuid",   WORD_NEEDED | WORD_MANY, .is_valid = mdev_uuid_valid,
	  .form = "a UUID", .take = add_instance },
};
/* clang-format on */

int mdev_job_parse(char **words, struct mdev_job *ret_job, struct err *err)
{
	static const struct words_table table = { .rows = rows, .len = ARRAY_LEN(rows) };
	struct mdev_job job = { 0 };
	int r = words_parse(&table, words, &job, err);

	if (r < 0) {
		mdev_job_done(&job);
		return r;
	}
	*ret_job = job;
	return 0;
}

void mdev_job_done(struct mdev_job *job)
{
	array_done(job);
}

/* --- what both verbs need --------------------------------------------------------------------- */

/* Ends the messages of all that has to do with records. */
#define NO_RECORD "; without a record, nothing is created or removed"

/* The run's about is the instance that is being worked on. */
struct change {
	struct run run;
	const struct run_options *options;
	const struct mdev_job *job;
	char boot[RECORD_BOOT_SIZE];
};

static void begin(struct change *c, enum run_step step)
{
	run_step(&c->run, c->run.about, step);
}

/* The instance is as it was wanted now. */
static void report_instance(struct change *c)
{
	auto_str struct str line = STR_INIT;

	report_open(&line, "done");
	json_write_str(&line, "uuid", c->run.about);
	report_close(&line);
	run_report(&c->run, &line);
}

static int stop_state(struct change *c, const struct err *err)
{
	return run_stop(&c->run, REASON_STATE_NOT_WRITABLE, err->code, "%s" NO_RECORD, err->msg);
}

static int read_instance(struct change *c, struct mdev_instance *ret_seen)
{
	struct err err = { 0 };

	if (mdev_instance_read(c->options->sysfs_fd, c->run.about, ret_seen, &err) < 0)
		return run_stop(&c->run, REASON_READ_FAILED, err.code, "%s", err.msg);
	return 0;
}

static int open_state(struct change *c)
{
	if (run_open_state(&c->run, NO_RECORD) < 0)
		return RUN_STOPPED;
	record_boot(c->options->proc_fd, c->boot);
	if (c->boot[0])
		return 0;
	return run_stop(&c->run, REASON_STATE_NOT_WRITABLE, 0,
			"the kernel's boot id in /proc cannot be read, so hostdev could "
			"not recognize its instances later");
}

static int take_lock(struct change *c)
{
	auto_free char *name = xasprintf("mdev-%.200s", c->job->parent);
	struct err err = { 0 };
	int pid = 0;
	int r;

	begin(c, STEP_WAIT_LOCK);
	r = run_lock(&c->run, name, &pid, &err);
	if (r < 0)
		return stop_state(c, &err);
	if (r == 0)
		return 0;
	return run_stop_busy(&c->run, pid, "another hostdev-helper works on %s", c->job->parent);
}

/* 0; RECORD_ABSENT; RUN_STOPPED. A file that is no record is as good as none. */
static int read_record(struct change *c, struct mdev_record *ret_record)
{
	struct err err = { 0 };
	int r = record_read(&mdev_records, c->run.state_fd, c->run.about, ret_record, &err);

	if (r < 0)
		return err.kind == ERR_INVALID ? RECORD_ABSENT : stop_state(c, &err);
	return r;
}

/* Is the instance @seen the one that @record is about, under this kernel? */
static bool is_ours(const struct change *c, const struct mdev_record *record,
		    const struct mdev_instance *seen)
{
	return seen->present && record->boot && strcmp(record->boot, c->boot) == 0 &&
	       strcmp(record->parent, seen->parent) == 0 && strcmp(record->type, seen->type) == 0;
}

static int remove_record(struct change *c)
{
	struct err err = { 0 };
	int r;

	begin(c, STEP_REMOVE_RECORD);
	failpoint("mdev-record-remove-before");
	r = record_remove(&mdev_records, c->run.state_fd, c->run.about, &err);
	failpoint("mdev-record-remove-after");
	return r < 0 ? stop_state(c, &err) : 0;
}

/* --- make ------------------------------------------------------------------------------------- */

static int write_record(struct change *c)
{
	auto_mdev_record struct mdev_record record = {
		.uuid = xstrdup(c->run.about),
		.parent = xstrdup(c->job->parent),
		.type = xstrdup(c->job->type),
		.owner = xstrdup(c->job->owner),
		.boot = xstrdup(c->boot),
	};
	struct err err = { 0 };
	int r;

	begin(c, STEP_WRITE_RECORD);
	failpoint("mdev-record-before");
	r = record_write(&mdev_records, c->run.state_fd, &record, &err);
	failpoint("mdev-record-after");
	return r < 0 ? stop_state(c, &err) : 0;
}

/* Somebody has it, or we have it already. */
static int check_taken(struct change *c, const struct mdev_instance *seen)
{
	auto_mdev_record struct mdev_record record = { 0 };
	int r = read_record(c, &record);

	if (r < 0)
		return r;
	if (r == 0 && is_ours(c, &record, seen) && strcmp(record.owner, c->job->owner) == 0 &&
	    strcmp(record.parent, c->job->parent) == 0 && strcmp(record.type, c->job->type) == 0)
		return 0;
	return run_stop(&c->run, REASON_UUID_TAKEN, 0,
			"a mediated device with this UUID exists that hostdev did not create, of "
			"type '%s' on '%s'",
			seen->type, seen->parent);
}

/* The result counts, not the return value of the write. */
static int check_made(struct change *c, int code)
{
	struct mdev_instance seen;

	if (read_instance(c, &seen) < 0)
		return RUN_STOPPED;
	if (seen.present && strcmp(seen.parent, c->job->parent) == 0 &&
	    strcmp(seen.type, c->job->type) == 0)
		return 0;
	(void)run_stop(&c->run, REASON_CREATE_FAILED, code, "make a '%s' on %s: %s", c->job->type,
		       c->job->parent,
		       code < 0 ? strerror(-code)
				: "the kernel accepted the write, but the device does not exist");
	if (!seen.present)
		(void)remove_record(c);
	return RUN_STOPPED;
}

static int create_one(struct change *c)
{
	auto_free char *path = xasprintf(MDEV_PARENTS "/%s/mdev_supported_types/%s/create",
					 c->job->parent, c->job->type);
	struct mdev_instance seen;
	int code;

	if (read_instance(c, &seen) < 0)
		return RUN_STOPPED;
	if (seen.present)
		return check_taken(c, &seen);
	if (faccessat(c->options->sysfs_fd, path, F_OK, 0) < 0)
		return run_stop(&c->run, REASON_TYPE_GONE, -errno,
				"'%s' has no type '%s' (any more)", c->job->parent, c->job->type);
	if (write_record(c) < 0)
		return RUN_STOPPED;
	begin(c, STEP_CREATE);
	failpoint("mdev-create-before");
	code = run_write(&c->run, path, c->run.about);
	failpoint("mdev-create-after");
	return check_made(c, code);
}

static void create_all(struct change *c)
{
	for (size_t i = 0; i < c->job->len; i++) {
		c->run.about = c->job->items[i];
		c->run.step = STEP_NONE;
		if (create_one(c) < 0)
			return;
		report_instance(c);
	}
}

/* --- remove ----------------------------------------------------------------------------------- */

static int check_holders(struct change *c, const struct mdev_instance *seen)
{
	struct job job = { 0 };
	auto_holders struct holders holders = { 0 };
	auto_free char *group = seen->group < 0 ? xstrdup("-") : xasprintf("%d", seen->group);
	struct holders_query query = {
		.sysfs_fd = c->options->sysfs_fd,
		.proc_fd = c->options->proc_fd,
		.dev_fd = c->options->dev_fd,
		.group = group,
		.confirm_by_open = true,
	};

	begin(c, STEP_CHECK_HOLDERS);
	/* One call instead of a walk through all processes. */
	if (seen->group >= 0 && bind_group_is_free(c->options->dev_fd, seen->group))
		return 0;
	array_add(&job)->address = c->run.about;
	holders_find(&query, &job, &holders);
	array_done(&job);
	run_report_holders(&c->run, &holders);
	if (holders.len == 0)
		return 0;
	return run_stop(&c->run, REASON_HELD, 0, "%s", holders.items[0].detail);
}

static int remove_instance(struct change *c)
{
	auto_free char *path = xasprintf(MDEV_DEVICES "/%s/remove", c->run.about);
	struct mdev_instance seen;
	int code;

	begin(c, STEP_REMOVE);
	failpoint("mdev-remove-before");
	code = run_write(&c->run, path, "1");
	failpoint("mdev-remove-after");
	if (read_instance(c, &seen) < 0)
		return RUN_STOPPED;
	if (!seen.present)
		return 0;
	return run_stop(&c->run, REASON_REMOVE_FAILED, code, "remove it from %s: %s", seen.parent,
			code < 0 ? strerror(-code)
				 : "the kernel accepted the write, but the device still exists");
}

static int remove_one(struct change *c)
{
	auto_mdev_record struct mdev_record record = { 0 };
	struct mdev_instance seen;
	int r = read_record(c, &record);

	if (r < 0 || read_instance(c, &seen) < 0)
		return RUN_STOPPED;
	if (r == RECORD_ABSENT && !seen.present)
		return 0;
	if (r == RECORD_ABSENT || strcmp(record.owner, c->job->owner) != 0 ||
	    strcmp(record.parent, c->job->parent) != 0)
		return run_stop(&c->run, REASON_NOT_OURS, 0,
				"no record shows that hostdev created it on %s for '%s'",
				c->job->parent, c->job->owner);
	/* An old record does not show who created the present instance. */
	if (!is_ours(c, &record, &seen))
		return remove_record(c);
	if (check_holders(c, &seen) < 0 || remove_instance(c) < 0)
		return RUN_STOPPED;
	return remove_record(c);
}

static void remove_all(struct change *c)
{
	for (size_t i = 0; i < c->job->len; i++) {
		c->run.about = c->job->items[i];
		c->run.step = STEP_NONE;
		if (remove_one(c) == 0)
			report_instance(c);
	}
}

/* --- the run ---------------------------------------------------------------------------------- */

static int change(const struct run_options *options, const struct mdev_job *job,
		  void (*work)(struct change *c), struct err *err)
{
	struct change c = { .options = options, .job = job };

	run_start(&c.run, options, "uuid");
	if (open_state(&c) == 0 && take_lock(&c) == 0)
		work(&c);
	return run_finish(&c.run, err);
}

int mdev_create(const struct run_options *options, const struct mdev_job *job, struct err *err)
{
	return change(options, job, create_all, err);
}

int mdev_remove(const struct run_options *options, const struct mdev_job *job, struct err *err)
{
	return change(options, job, remove_all, err);
}
