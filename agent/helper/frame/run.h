/*
 * run: one run of a verb that changes something: its state directory and locks, its steps, the
 * lines that it writes, and why it ended.
 *
 * Each line is one JSON object and is written immediately: if a step hangs, its line is the last
 * one that the reader has. A run ends for one reason, the first; each reason belongs to one result.
 * What a verb does between the first step and the last line is up to the verb.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct holders;
struct kernel;
struct str;

enum run_step {
	STEP_NONE,
	STEP_WAIT_LOCK,
	STEP_LOAD_MODULE,
	STEP_CHECK_HOLDERS,
	STEP_WRITE_RECORD,
	STEP_SET_OVERRIDE,
	STEP_UNBIND,
	STEP_PROBE,
	STEP_CLEAR_OVERRIDE,
	STEP_BIND,
	STEP_REMOVE_RECORD,
	STEP_ROLLBACK,
	STEP_SET_AUTOPROBE,
	STEP_REMOVE_FUNCTIONS,
	STEP_MAKE_FUNCTIONS,
	STEP_SET_FUNCTIONS,
	STEP_CREATE,
	STEP_REMOVE,
};

enum run_reason {
	REASON_NONE,
	REASON_HELD,
	REASON_BUSY,
	/* Refused, with nothing changed. */
	REASON_DEVICE_GONE,
	REASON_DIFFERENT_DEVICE,
	REASON_OVERRIDE_OWNED,
	REASON_IN_USE,
	REASON_USE_UNKNOWN,
	REASON_CLAIM_DELETED,
	REASON_DRIVER_CHANGED,
	REASON_TOO_MANY_VFS,
	REASON_VFS_IN_USE,
	REASON_UUID_TAKEN,
	REASON_TYPE_GONE,
	REASON_NOT_OURS,
	REASON_NOT_VIRTUAL_FUNCTION,
	REASON_NO_BACKEND,
	/* Failed. */
	REASON_DRIVER_MISSING,
	REASON_NO_IOMMU_BACKEND,
	REASON_STATE_NOT_WRITABLE,
	REASON_OVERRIDE_FAILED,
	REASON_UNBIND_FAILED,
	REASON_PROBE_FAILED,
	REASON_NATIVE_DRIVER_MISSING,
	REASON_NATIVE_BIND_FAILED,
	REASON_GROUP_NOT_VIABLE,
	REASON_NODE_MISSING,
	REASON_NUM_VFS_FAILED,
	REASON_AUTOPROBE_FAILED,
	REASON_SETTINGS_FAILED,
	REASON_AGENT_NOT_PRIVILEGED,
	REASON_CREATE_FAILED,
	REASON_REMOVE_FAILED,
	REASON_READ_FAILED,
	REASON_WRITE_FAILED,
};

/* The machine, and where the lines go. Borrowed for the run. */
struct run_options {
	int sysfs_fd;
	int proc_fd;              /* -1: none                                               */
	int dev_fd;               /* -1: none                                               */
	const char *state_dir;    /* of records and locks; created if its parent is there   */
	const char *node_address; /* NULL: not known                                        */
	const struct kernel *kernel;
	int out_fd; /* where lines are written */
};

/* Which times the last line has. */
enum run_times { RUN_TIMES_NONE, RUN_TIMES_TOTAL, RUN_TIMES_KERNEL };

struct run {
	const struct run_options *options;
	const char *key; /* what lines call the thing that they are about: "address", "uuid" */
	enum run_times times;
	bool dry;          /* nothing is changed                                        */
	bool changed;      /* something may have been, so that a refusal is a failure   */
	const char *about; /* what the step is about; NULL: the whole job. Borrowed     */
	enum run_step step;
	int state_fd; /* -1: there is no state directory */
	struct {
		struct run_lock *items;
		size_t len;
		size_t cap;
	} locks;
	int out_code; /* negative errno of the first line that could not be written, 0: all were */
	uint64_t began_us;
	uint64_t kernel_us; /* spent in run_write() so far */
	struct run_end {
		enum run_reason reason; /* REASON_NONE: the result is "Done"            */
		enum run_step step;
		bool changed; /* before it ended                                        */
		const char *about;
		int code; /* negative errno of the kernel's answer, 0: none                       */
		int pid;  /* REASON_BUSY: of the process that has the lock, 0: not known          */
		char message[240];
	} end;
};

/* What run_stop() returns. */
enum { RUN_STOPPED = -1 };

/* A run begins now. run_finish() or run_done() must follow. */
void run_start(struct run *run, const struct run_options *options, const char *key);

/* Open the state directory, created unless the run is dry. 0, or RUN_STOPPED; @advice ends the
 * message. A dry run needs none. */
int run_open_state(struct run *run, const char *advice);

/* Outcome of run_lock(): another process has it. */
enum { RUN_LOCK_BUSY = 1 };

/*
 * One helper at a time, whichever agent started it: lock @name.lock (created if need be) in the
 * state directory, without waiting, and write this process's pid into it. @name is a name for a
 * file. The lock lasts until the run's end, and no program that is started inherits it; a lock that
 * the run has already is kept. RUN_LOCK_BUSY: *@ret_pid is the other process, 0 if that is not
 * known. < 0 with @err.
 */
int run_lock(struct run *run, const char *name, int *ret_pid, struct err *err);

/* The same for "group-@group": the number of an IOMMU group, or "-" for functions without one. */
int run_lock_group(struct run *run, const char *group, int *ret_pid, struct err *err);

/* Say that @step begins, with @about. */
void run_step(struct run *run, const char *about, enum run_step step);

/* The run ends here, for @reason; @code is the kernel's answer, if that was it. The first cause
 * stays. Returns RUN_STOPPED. */
int run_stop(struct run *run, enum run_reason reason, int code, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The same for a record, or a lock, that cannot be read or written because of @err. */
int run_stop_state(struct run *run, const struct err *err);

/* Another process, @pid (0: not known), has the lock that this run needs. */
int run_stop_busy(struct run *run, int pid, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Write a line for each of @holders. */
void run_report_holders(struct run *run, const struct holders *holders);

/* Write @line, which report_open() and report_close() have made. After a failed write nothing more
 * is written, because the reader is gone. The transition goes on, because half a transition is
 * worse than a whole one. */
void run_report(struct run *run, struct str *line);

/* Write @text to the attribute @path below sysfs_fd, and take the time. 0, or < 0: -errno. */
int run_write(struct run *run, const char *path, const char *text);

/* Append the last line: how the run ended. */
void run_end_add(const struct run *run, struct str *lines);

/* Give the locks and the state directory back. */
void run_done(struct run *run);

/* Write the last line, and run_done(). 0 however the run ended; < 0 if lines could not be written.
 */
int run_finish(struct run *run, struct err *err);
