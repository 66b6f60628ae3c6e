#include "agent/helper/mdev/mdev_change.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/helper/mdev/mdev_job.h"
#include "agent/helper/record/mdev.h"
#include "agent/helper/record/mdev_record.h"
#include "agent/helper/sys/bind_look.h"
#include "agent/helper/sys/group_lock.h"
#include "agent/helper/sys/holders.h"
#include "agent/helper/sys/job.h"
#include "agent/helper/sys/kernel.h"
#include "agent/helper/sys/progress.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/sys/sysfs.h"
#include "base/array.h"
#include "base/err.h"
#include "base/failpoint.h"
#include "base/json_write.h"
#include "base/mem.h"

enum mdev_step {
	MDEV_STEP_NONE,
	MDEV_STEP_WAIT_LOCK,
	MDEV_STEP_WRITE_RECORD,
	MDEV_STEP_CREATE,
	MDEV_STEP_CHECK_HOLDERS,
	MDEV_STEP_REMOVE,
	MDEV_STEP_REMOVE_RECORD,
};

/* Why not all was done; each belongs to one result. */
enum mdev_reason {
	MDEV_REASON_NONE,
	MDEV_REASON_HELD,
	MDEV_REASON_BUSY,
	/* Refused. */
	MDEV_REASON_UUID_TAKEN,
	MDEV_REASON_TYPE_GONE,
	MDEV_REASON_NOT_OURS,
	/* Failed. */
	MDEV_REASON_STATE_NOT_WRITABLE,
	MDEV_REASON_CREATE_FAILED,
	MDEV_REASON_REMOVE_FAILED,
	MDEV_REASON_LOOK_FAILED,
};

/* The last line. Zero is "Done". */
struct mdev_end {
	enum mdev_reason reason;
	enum mdev_step step;
	const char *uuid; /* of the instance concerned, NULL: none          */
	int code;         /* negative errno of the kernel's answer, 0: none */
	int pid;          /* MDEV_REASON_BUSY: who has the lock, 0: unknown */
	char message[240];
	uint64_t took_us;
};

static const char *const step_names[] = {
	[MDEV_STEP_WAIT_LOCK] = "WaitLock", [MDEV_STEP_WRITE_RECORD] = "WriteRecord",
	[MDEV_STEP_CREATE] = "Create",      [MDEV_STEP_CHECK_HOLDERS] = "CheckHolders",
	[MDEV_STEP_REMOVE] = "Remove",      [MDEV_STEP_REMOVE_RECORD] = "RemoveRecord",
};

/* clang-format off */
static const struct {
	const char *result;
	const char *name;
} reason_rows[] = {
	[MDEV_REASON_NONE]               = { "Done",    NULL },
	[MDEV_REASON_HELD]               = { "Held",    "Held" },
	[MDEV_REASON_BUSY]               = { "Busy",    "Busy" },
	[MDEV_REASON_UUID_TAKEN]         = { "Refused", "UUIDTaken" },
	[MDEV_REASON_TYPE_GONE]          = { "Refused", "TypeGone" },
	[MDEV_REASON_NOT_OURS]           = { "Refused", "NotOurs" },
	[MDEV_REASON_STATE_NOT_WRITABLE] = { "Failed",  "StateNotWritable" },
	[MDEV_REASON_CREATE_FAILED]      = { "Failed",  "CreateFailed" },
	[MDEV_REASON_REMOVE_FAILED]      = { "Failed",  "RemoveFailed" },
	[MDEV_REASON_LOOK_FAILED]        = { "Failed",  "LookFailed" },
};
/* clang-format on */

static void mdev_out_step(struct progress *out, const char *uuid, enum mdev_step step)
{
	progress_step(out, "uuid", uuid, step_names[step]);
}

static void mdev_out_holder(struct progress *out, const struct holder *holder)
{
	progress_holder(out, "uuid", holder);
}

/* The instance is as it was wanted now. */
static void mdev_out_done(struct progress *out, const char *uuid)
{
	auto_str struct str line = STR_INIT;

	report_open(&line, "done");
	json_write_str(&line, "uuid", uuid);
	report_close(&line);
	progress_send(out, &line);
}

static void mdev_out_end(struct progress *out, const struct mdev_end *end)
{
	auto_str struct str line = STR_INIT;
	struct progress_cause cause = {
		.reason = reason_rows[end->reason].name,
		.about = end->uuid,
		.step = step_names[end->step],
		.code = end->code,
		.pid = end->pid,
		.message = end->message,
	};

	report_open(&line, "end");
	json_write_str(&line, "result", reason_rows[end->reason].result);
	if (end->reason != MDEV_REASON_NONE)
		progress_cause(&line, "uuid", &cause);
	json_write_int(&line, "micros", (int64_t)end->took_us);
	report_close(&line);
	progress_send(out, &line);
}

enum { STATE_DIR_MODE = 0700, STOPPED = -1 };

struct change {
	const struct mdev_change_options *options;
	const struct mdev_job *job;
	int state_fd;
	const char *uuid; /* what is being done, and to which instance */
	enum mdev_step step;
	char boot[64];
	struct progress out;
	struct mdev_end end;
};

/* --- what both need -------------------------------------------------------------------------- */

static uint64_t now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void begin(struct change *c, enum mdev_step step)
{
	c->step = step;
	mdev_out_step(&c->out, c->uuid, step);
}

/* The first cause stays. Takes @message. */
static int stop(struct change *c, enum mdev_reason reason, int code, char *message)
{
	if (c->end.reason == MDEV_REASON_NONE) {
		c->end.reason = reason;
		c->end.step = c->step;
		c->end.uuid = c->uuid;
		c->end.code = code;
		(void)snprintf(c->end.message, sizeof(c->end.message), "%s", message);
	}
	free(message);
	return STOPPED;
}

static int stop_state(struct change *c, const struct err *err)
{
	return stop(c, MDEV_REASON_STATE_NOT_WRITABLE, err->code,
		    xasprintf("%s; without a record, nothing is created or removed", err->msg));
}

static int look(struct change *c, struct mdev_seen *ret_seen)
{
	struct err err = { 0 };

	if (mdev_look(c->options->sysfs_fd, c->uuid, ret_seen, &err) < 0)
		return stop(c, MDEV_REASON_LOOK_FAILED, err.code, xasprintf("%s", err.msg));
	return 0;
}

static int open_state(struct change *c)
{
	const char *path = c->options->state_dir;

	(void)mkdir(path, STATE_DIR_MODE);
	c->state_fd = sysfs_open_dir(AT_FDCWD, path);
	mdev_record_boot(c->options->proc_fd, c->boot);
	if (c->state_fd < 0)
		return stop(
			c, MDEV_REASON_STATE_NOT_WRITABLE, -errno,
			xasprintf("open the state directory '%s': %s; without a record, nothing is "
				  "created or removed",
				  path, strerror(errno)));
	if (!c->boot[0])
		return stop(
			c, MDEV_REASON_STATE_NOT_WRITABLE, 0,
			xasprintf("the kernel's boot id in /proc cannot be read, so hostdev could "
				  "not recognize its instances later"));
	return 0;
}

static int take_lock(struct change *c, int *ret_fd)
{
	auto_free char *thing = xasprintf("mdev-%.200s", c->job->parent);
	struct err err = { 0 };
	int pid = 0;
	int r;

	begin(c, MDEV_STEP_WAIT_LOCK);
	r = thing_lock_take(c->state_fd, thing, ret_fd, &pid, &err);
	if (r < 0)
		return stop_state(c, &err);
	if (r == 0)
		return 0;
	c->end.pid = pid;
	return stop(c, MDEV_REASON_BUSY, 0,
		    xasprintf("another hostdev-helper works on %s", c->job->parent));
}

/* 0; MDEV_RECORD_ABSENT; STOPPED. A file that is no record is as good as none. */
static int read_record(struct change *c, struct mdev_record *ret_record)
{
	struct err err = { 0 };
	int r = mdev_record_read(c->state_fd, c->uuid, ret_record, &err);

	if (r < 0)
		return err.kind == ERR_INVALID ? MDEV_RECORD_ABSENT : stop_state(c, &err);
	return r;
}

static int remove_record(struct change *c)
{
	struct err err = { 0 };
	int r;

	begin(c, MDEV_STEP_REMOVE_RECORD);
	failpoint("mdev-record-remove-before");
	r = mdev_record_remove(c->state_fd, c->uuid, &err);
	failpoint("mdev-record-remove-after");
	return r < 0 ? stop_state(c, &err) : 0;
}

/* --- make -------------------------------------------------------------------------------------- */

static int write_record(struct change *c)
{
	struct mdev_record record = { 0 };
	struct err err = { 0 };
	int r;

	(void)snprintf(record.uuid, sizeof(record.uuid), "%s", c->uuid);
	(void)snprintf(record.parent, sizeof(record.parent), "%s", c->job->parent);
	(void)snprintf(record.type, sizeof(record.type), "%s", c->job->type);
	(void)snprintf(record.owner, sizeof(record.owner), "%s", c->job->owner);
	memcpy(record.boot, c->boot, sizeof(record.boot));
	begin(c, MDEV_STEP_WRITE_RECORD);
	failpoint("mdev-record-before");
	r = mdev_record_write(c->state_fd, &record, &err);
	failpoint("mdev-record-after");
	return r < 0 ? stop_state(c, &err) : 0;
}

/* Somebody has it, or we have it already. */
static int check_taken(struct change *c, const struct mdev_seen *seen)
{
	struct mdev_record record = { 0 };
	int r = read_record(c, &record);

	if (r < 0)
		return r;
	if (r == 0 && mdev_record_owns(&record, seen, c->boot) &&
	    strcmp(record.owner, c->job->owner) == 0 &&
	    strcmp(record.parent, c->job->parent) == 0 && strcmp(record.type, c->job->type) == 0)
		return 0;
	return stop(
		c, MDEV_REASON_UUID_TAKEN, 0,
		xasprintf("a mediated device with this UUID exists that hostdev did not create, of "
			  "type '%s' on '%s'",
			  seen->type, seen->parent));
}

/* What it came to counts, not what the write said. */
static int check_made(struct change *c, int code)
{
	struct mdev_seen seen;

	if (look(c, &seen) < 0)
		return STOPPED;
	if (seen.present && strcmp(seen.parent, c->job->parent) == 0 &&
	    strcmp(seen.type, c->job->type) == 0)
		return 0;
	(void)stop(
		c, MDEV_REASON_CREATE_FAILED, code,
		xasprintf(
			"make a '%s' on %s: %s", c->job->type, c->job->parent,
			code < 0 ? strerror(-code)
				 : "the kernel accepted the write, but the device does not exist"));
	if (!seen.present)
		(void)remove_record(c);
	return STOPPED;
}

static int create_one(struct change *c)
{
	const struct kernel *kernel = c->options->kernel;
	auto_free char *path = xasprintf(MDEV_PARENTS "/%s/mdev_supported_types/%s/create",
					 c->job->parent, c->job->type);
	struct mdev_seen seen;
	int code;

	if (look(c, &seen) < 0)
		return STOPPED;
	if (seen.present)
		return check_taken(c, &seen);
	if (faccessat(c->options->sysfs_fd, path, F_OK, 0) < 0)
		return stop(c, MDEV_REASON_TYPE_GONE, -errno,
			    xasprintf("'%s' has no type '%s' (any more)", c->job->parent,
				      c->job->type));
	if (write_record(c) < 0)
		return STOPPED;
	begin(c, MDEV_STEP_CREATE);
	failpoint("mdev-create-before");
	code = kernel->write(kernel->arg, c->options->sysfs_fd, path, c->uuid);
	failpoint("mdev-create-after");
	return check_made(c, code);
}

static void create_all(struct change *c)
{
	for (size_t i = 0; i < c->job->len; i++) {
		c->uuid = c->job->items[i];
		c->step = MDEV_STEP_NONE;
		if (create_one(c) < 0)
			return;
		mdev_out_done(&c->out, c->uuid);
	}
}

/* --- remove -------------------------------------------------------------------------------------- */

static int check_holders(struct change *c, const struct mdev_seen *seen)
{
	struct job job = { 0 };
	auto_holders struct holders holders = { 0 };
	auto_free char *group = seen->group < 0 ? xstrdup("-") : xasprintf("%d", seen->group);
	struct holders_look find = {
		.sysfs_fd = c->options->sysfs_fd,
		.proc_fd = c->options->proc_fd,
		.dev_fd = c->options->dev_fd,
		.group = group,
		.confirm_by_open = true,
	};

	begin(c, MDEV_STEP_CHECK_HOLDERS);
	/* One call instead of a walk through all processes. */
	if (seen->group >= 0 && bind_look_is_free(c->options->dev_fd, seen->group))
		return 0;
	array_add(&job)->address = c->uuid;
	holders_find(&find, &job, &holders);
	array_done(&job);
	for (size_t i = 0; i < holders.len; i++)
		mdev_out_holder(&c->out, &holders.items[i]);
	if (holders.len == 0)
		return 0;
	return stop(c, MDEV_REASON_HELD, 0, xasprintf("%s", holders.items[0].detail));
}

static int remove_instance(struct change *c)
{
	const struct kernel *kernel = c->options->kernel;
	auto_free char *path = xasprintf(MDEV_DEVICES "/%s/remove", c->uuid);
	struct mdev_seen seen;
	int code;

	begin(c, MDEV_STEP_REMOVE);
	failpoint("mdev-remove-before");
	code = kernel->write(kernel->arg, c->options->sysfs_fd, path, "1");
	failpoint("mdev-remove-after");
	if (look(c, &seen) < 0)
		return STOPPED;
	if (!seen.present)
		return 0;
	return stop(
		c, MDEV_REASON_REMOVE_FAILED, code,
		xasprintf("remove it from %s: %s", seen.parent,
			  code < 0 ? strerror(-code)
				   : "the kernel accepted the write, but the device still exists"));
}

static int remove_one(struct change *c)
{
	struct mdev_record record = { 0 };
	struct mdev_seen seen;
	int r = read_record(c, &record);

	if (r < 0 || look(c, &seen) < 0)
		return STOPPED;
	if (r == MDEV_RECORD_ABSENT && !seen.present)
		return 0;
	if (r == MDEV_RECORD_ABSENT || strcmp(record.owner, c->job->owner) != 0 ||
	    strcmp(record.parent, c->job->parent) != 0)
		return stop(c, MDEV_REASON_NOT_OURS, 0,
			    xasprintf("no record shows that hostdev created it on %s for '%s'",
				      c->job->parent, c->job->owner));
	/* A record that is left over says nothing about who is there now. */
	if (!mdev_record_owns(&record, &seen, c->boot))
		return remove_record(c);
	if (check_holders(c, &seen) < 0 || remove_instance(c) < 0)
		return STOPPED;
	return remove_record(c);
}

static void remove_all(struct change *c)
{
	for (size_t i = 0; i < c->job->len; i++) {
		c->uuid = c->job->items[i];
		c->step = MDEV_STEP_NONE;
		if (remove_one(c) == 0)
			mdev_out_done(&c->out, c->uuid);
	}
}

/* --- ----------------------------------------------------------------------------------------------- */

static int run(const struct mdev_change_options *options, const struct mdev_job *job,
	       void (*work)(struct change *c), struct err *err)
{
	uint64_t began_us = now_us();
	auto_close int lock_fd = -1;
	struct change c = {
		.options = options,
		.job = job,
		.state_fd = -1,
		.out = { .fd = options->out_fd },
	};

	if (open_state(&c) == 0 && take_lock(&c, &lock_fd) == 0)
		work(&c);
	c.end.took_us = now_us() - began_us;
	mdev_out_end(&c.out, &c.end);
	if (c.state_fd >= 0)
		close(c.state_fd);
	return progress_result(&c.out, err);
}

int mdev_create(const struct mdev_change_options *options, const struct mdev_job *job,
		struct err *err)
{
	return run(options, job, create_all, err);
}

int mdev_remove(const struct mdev_change_options *options, const struct mdev_job *job,
		struct err *err)
{
	return run(options, job, remove_all, err);
}
