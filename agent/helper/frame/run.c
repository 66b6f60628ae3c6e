#include "agent/helper/frame/run.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/helper/sys/holders.h"
#include "agent/helper/sys/kernel.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/sys/sysfs.h"
#include "agent/helper/sys/value.h"
#include "base/array.h"
#include "base/err.h"
#include "base/file.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

enum { STATE_DIR_MODE = 0700, LOCK_MODE = 0600, PID_TEXT_SIZE = 16 };

struct run_lock {
	char *name;
	int fd;
};

/* clang-format off */
static const char *const step_names[] = {
	[STEP_WAIT_LOCK]        = "WaitLock",
	[STEP_LOAD_MODULE]      = "LoadModule",
	[STEP_CHECK_HOLDERS]    = "CheckHolders",
	[STEP_WRITE_RECORD]     = "WriteRecord",
	[STEP_SET_OVERRIDE]     = "SetOverride",
	[STEP_UNBIND]           = "Unbind",
	[STEP_PROBE]            = "Probe",
	[STEP_CLEAR_OVERRIDE]   = "ClearOverride",
	[STEP_BIND]             = "Bind",
	[STEP_REMOVE_RECORD]    = "RemoveRecord",
	[STEP_ROLLBACK]         = "Rollback",
	[STEP_SET_AUTOPROBE]    = "SetAutoprobe",
	[STEP_REMOVE_FUNCTIONS] = "RemoveFunctions",
	[STEP_MAKE_FUNCTIONS]   = "MakeFunctions",
	[STEP_SET_FUNCTIONS]    = "SetFunctions",
	[STEP_CREATE]           = "Create",
	[STEP_REMOVE]           = "Remove",
};

static const struct {
	const char *result;
	const char *name;
	const char *advice; /* ends the message */
} reason_rows[] = {
	[REASON_NONE]                  = { .result = "Done" },
	[REASON_HELD]                  = { "Held",    "Held", NULL },
	[REASON_BUSY]                  = { "Busy",    "Busy", NULL },
	[REASON_DEVICE_GONE]           = { "Refused", "DeviceGone", NULL },
	[REASON_DIFFERENT_DEVICE]      = { "Refused", "DifferentDevice", NULL },
	[REASON_OVERRIDE_OWNED]        = { "Refused", "OverrideOwned", NULL },
	[REASON_IN_USE]                = { "Refused", "InUse", NULL },
	[REASON_USE_UNKNOWN]           = { "Refused", "UseUnknown", NULL },
	/* another claim need not wait */
	[REASON_CLAIM_DELETED]         = { "Busy",    "ClaimDeleted", NULL },
	[REASON_DRIVER_CHANGED]        = { "Refused", "DriverChanged", NULL },
	[REASON_TOO_MANY_VFS]          = { "Refused", "TooManyVFs", NULL },
	[REASON_VFS_IN_USE]            = { "Refused", "VFsInUse", NULL },
	[REASON_UUID_TAKEN]            = { "Refused", "UUIDTaken", NULL },
	[REASON_TYPE_GONE]             = { "Refused", "TypeGone", NULL },
	[REASON_NOT_OURS]              = { "Refused", "NotOurs", NULL },
	[REASON_NOT_VIRTUAL_FUNCTION]  = { "Refused", "NotVirtualFunction", NULL },
	[REASON_NO_BACKEND]            = { "Refused", "NoBackend", NULL },
	[REASON_DRIVER_MISSING]        = { "Failed",  "DriverMissing", NULL },
	[REASON_NO_IOMMU_BACKEND]      = { "Failed",  "NoIOMMUBackend", NULL },
	[REASON_STATE_NOT_WRITABLE]    = { "Failed",  "StateNotWritable", NULL },
	[REASON_OVERRIDE_FAILED]       = { "Failed",  "OverrideFailed", NULL },
	[REASON_UNBIND_FAILED]         = { "Failed",  "UnbindFailed", NULL },
	[REASON_PROBE_FAILED]          = { "Failed",  "ProbeFailed", NULL },
	[REASON_NATIVE_DRIVER_MISSING] = { "Failed",  "NativeDriverMissing", NULL },
	[REASON_NATIVE_BIND_FAILED]    = { "Failed",  "NativeBindFailed", NULL },
	[REASON_GROUP_NOT_VIABLE]      = { "Failed",  "GroupNotViable", NULL },
	[REASON_NODE_MISSING]          = { "Failed",  "NodeMissing", NULL },
	[REASON_NUM_VFS_FAILED]        = { "Failed",  "NumVFsFailed", NULL },
	[REASON_AUTOPROBE_FAILED]      = { "Failed",  "AutoprobeFailed", NULL },
	[REASON_SETTINGS_FAILED]       = { "Failed",  "SettingsFailed", NULL },
	[REASON_AGENT_NOT_PRIVILEGED]  = { "Failed",  "AgentNotPrivileged",
					   "; the agent needs more rights on the node, or its "
					   "network namespace: install it with "
					   "manifests/components/privileged" },
	[REASON_CREATE_FAILED]         = { "Failed",  "CreateFailed", NULL },
	[REASON_REMOVE_FAILED]         = { "Failed",  "RemoveFailed", NULL },
	[REASON_READ_FAILED]           = { "Failed",  "LookFailed", NULL },
	[REASON_WRITE_FAILED]          = { "Failed",  "WriteFailed", NULL },
};
/* clang-format on */

static uint64_t now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void run_start(struct run *run, const struct run_options *options, const char *key)
{
	*run = (struct run){
		.options = options,
		.key = key,
		.times = RUN_TIMES_TOTAL,
		.state_fd = -1,
		.began_us = now_us(),
	};
}

int run_open_state(struct run *run, const char *advice)
{
	const char *path = run->options->state_dir;

	if (!run->dry)
		(void)mkdir(path, STATE_DIR_MODE);
	run->state_fd = sysfs_open_dir(AT_FDCWD, path);
	if (run->state_fd >= 0 || run->dry)
		return 0;
	return run_stop(run, REASON_STATE_NOT_WRITABLE, -errno,
			"open the state directory '%s': %s%s", path, strerror(errno), advice);
}

/* --- locks ------------------------------------------------------------------------------------ */

/* Just after the other has taken the lock, this is still the pid of the process that had it before.
 */
static int read_pid(int fd)
{
	char text[PID_TEXT_SIZE];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	uint64_t pid = 0;

	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return str_to_u64(text, &pid) && pid <= INT_MAX ? (int)pid : 0;
}

/* The pid is for people. A full disk does not keep a device from being released, so that it cannot
 * be written is no error. */
static void write_pid(int fd)
{
	char text[PID_TEXT_SIZE];
	int len = snprintf(text, sizeof(text), "%d\n", (int)getpid());
	bool written = ftruncate(fd, 0) == 0 && pwrite(fd, text, (size_t)len, 0) == len;

	(void)written;
}

static int take_lock(int state_fd, const char *name, int *ret_fd, int *ret_pid, struct err *err)
{
	auto_free char *file = xasprintf("%s.lock", name);
	auto_close int fd = -1;

	assert(value_is_entry(name, strlen(name)));
	fd = openat(state_fd, file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
		    LOCK_MODE);
	if (fd < 0)
		return err_set(err, ERR_RETRY, -errno, "open '%s': %s", file, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return err_set(err, ERR_RETRY, -errno, "lock '%s': %s", file,
				       strerror(errno));
		*ret_pid = read_pid(fd);
		return RUN_LOCK_BUSY;
	}
	write_pid(fd);
	*ret_fd = take_fd(fd);
	return 0;
}

static bool has_lock(const struct run *run, const char *name)
{
	for (size_t i = 0; i < run->locks.len; i++) {
		if (strcmp(run->locks.items[i].name, name) == 0)
			return true;
	}
	return false;
}

int run_lock(struct run *run, const char *name, int *ret_pid, struct err *err)
{
	int fd = -1;
	int r;

	if (has_lock(run, name))
		return 0;
	r = take_lock(run->state_fd, name, &fd, ret_pid, err);
	if (r == 0)
		*array_add(&run->locks) = (struct run_lock){ xstrdup(name), fd };
	return r;
}

int run_lock_group(struct run *run, const char *group, int *ret_pid, struct err *err)
{
	auto_free char *name = xasprintf("group-%s", group);

	assert(value_is_group(group, strlen(group)));
	return run_lock(run, name, ret_pid, err);
}

/* --- why it ends ------------------------------------------------------------------------------ */

__attribute__((format(printf, 4, 0))) static void set_end(struct run *run, enum run_reason reason,
							  int code, const char *fmt, va_list args)
{
	const char *advice = reason_rows[reason].advice;
	struct run_end *end = &run->end;
	size_t len;

	if (end->reason != REASON_NONE)
		return;
	end->reason = reason;
	end->step = run->step;
	end->about = run->about;
	end->changed = run->changed;
	end->code = code;
	(void)vsnprintf(end->message, sizeof(end->message), fmt, args);
	len = strlen(end->message);
	(void)snprintf(end->message + len, sizeof(end->message) - len, "%s", advice ? advice : "");
}

int run_stop(struct run *run, enum run_reason reason, int code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	set_end(run, reason, code, fmt, args);
	va_end(args);
	return RUN_STOPPED;
}

int run_stop_state(struct run *run, const struct err *err)
{
	return run_stop(run, REASON_STATE_NOT_WRITABLE, err->code,
			"in the state directory '%s': %s", run->options->state_dir, err->msg);
}

int run_stop_busy(struct run *run, int pid, const char *fmt, ...)
{
	va_list args;

	run->end.pid = pid;
	va_start(args, fmt);
	set_end(run, REASON_BUSY, 0, fmt, args);
	va_end(args);
	return RUN_STOPPED;
}

int run_write(struct run *run, const char *path, const char *text)
{
	const struct kernel *kernel = run->options->kernel;
	uint64_t began_us = now_us();
	int r = kernel->write(kernel->arg, run->options->sysfs_fd, path, text);

	run->kernel_us += now_us() - began_us;
	return r;
}

/* --- lines ------------------------------------------------------------------------------------ */

void run_report(struct run *run, struct str *line)
{
	if (run->out_code == 0)
		run->out_code = file_write_all(run->options->out_fd, str_cstr(line), line->len);
}

static void add_text(struct str *line, const char *key, const char *text)
{
	if (text && text[0])
		json_write_str(line, key, text);
}

static void add_pid(struct str *line, int pid)
{
	if (pid > 0)
		json_write_int(line, "pid", pid);
}

void run_step(struct run *run, const char *about, enum run_step step)
{
	auto_str struct str line = STR_INIT;

	run->about = about;
	run->step = step;
	report_open(&line, "step");
	add_text(&line, run->key, about);
	json_write_str(&line, "step", step_names[step]);
	report_close(&line);
	run_report(run, &line);
}

static void report_holder(struct run *run, const struct holder *holder)
{
	auto_str struct str line = STR_INIT;

	report_open(&line, "holder");
	add_text(&line, run->key, holder->address);
	add_pid(&line, holder->pid);
	add_text(&line, "command", holder->command);
	add_text(&line, "pod", holder->pod);
	add_text(&line, "detail", holder->detail);
	report_close(&line);
	run_report(run, &line);
}

void run_report_holders(struct run *run, const struct holders *holders)
{
	for (size_t i = 0; i < holders->len; i++)
		report_holder(run, &holders->items[i]);
}

static void add_cause(const struct run *run, struct str *line)
{
	const struct run_end *end = &run->end;

	json_write_str(line, "reason", reason_rows[end->reason].name);
	add_text(line, run->key, end->about);
	add_text(line, "step", step_names[end->step]);
	if (end->code < 0)
		add_text(line, "errno", strerrorname_np(-end->code));
	add_pid(line, end->pid);
	json_write_str(line, "message", end->message);
}

void run_end_add(const struct run *run, struct str *lines)
{
	report_open(lines, "end");
	json_write_str(lines, "result",
		       run->end.changed ? "Failed" : reason_rows[run->end.reason].result);
	if (run->end.reason != REASON_NONE)
		add_cause(run, lines);
	if (run->times == RUN_TIMES_KERNEL)
		json_write_int(lines, "kernelMicros", (int64_t)run->kernel_us);
	if (run->times != RUN_TIMES_NONE)
		json_write_int(lines, "micros", (int64_t)(now_us() - run->began_us));
	report_close(lines);
}

void run_done(struct run *run)
{
	for (size_t i = 0; i < run->locks.len; i++) {
		free(run->locks.items[i].name);
		close(run->locks.items[i].fd);
	}
	array_done(&run->locks);
	if (run->state_fd >= 0)
		close(run->state_fd);
	run->state_fd = -1;
}

int run_finish(struct run *run, struct err *err)
{
	auto_str struct str line = STR_INIT;

	run_end_add(run, &line);
	run_report(run, &line);
	run_done(run);
	if (run->out_code == 0)
		return 0;
	return err_set(err, ERR_RETRY, run->out_code, "write the result: %s",
		       strerror(-run->out_code));
}
