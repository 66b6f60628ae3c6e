#include "agent/helper/mdev/mdev_out.h"

#include "agent/helper/sys/progress.h"
#include "agent/helper/sys/report.h"
#include "base/json_write.h"

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

void mdev_out_step(struct progress *out, const char *uuid, enum mdev_step step)
{
	progress_step(out, "uuid", uuid, step_names[step]);
}

void mdev_out_holder(struct progress *out, const struct holder *holder)
{
	progress_holder(out, "uuid", holder);
}

void mdev_out_done(struct progress *out, const char *uuid)
{
	auto_str struct str line = STR_INIT;

	report_open(&line, "done");
	json_write_str(&line, "uuid", uuid);
	report_close(&line);
	progress_send(out, &line);
}

void mdev_out_end(struct progress *out, const struct mdev_end *end)
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
