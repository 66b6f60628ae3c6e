#include "agent/helper/mdev/mdev_out.h"

#include <string.h>

#include "agent/helper/sys/holders.h"
#include "agent/helper/sys/report.h"
#include "base/file.h"
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

/* Nobody listens any more: what was begun goes on all the same. */
static void send_line(struct mdev_out *out, struct str *line)
{
	if (out->code == 0)
		out->code = file_write_all(out->fd, str_cstr(line), line->len);
}

static void add_text(struct str *line, const char *key, const char *text)
{
	if (text && text[0])
		json_write_str(line, key, text);
}

void mdev_out_step(struct mdev_out *out, const char *uuid, enum mdev_step step)
{
	auto_str struct str line = STR_INIT;

	report_open(&line, "step");
	add_text(&line, "uuid", uuid);
	json_write_str(&line, "step", step_names[step]);
	report_close(&line);
	send_line(out, &line);
}

void mdev_out_holder(struct mdev_out *out, const struct holder *holder)
{
	auto_str struct str line = STR_INIT;

	report_open(&line, "holder");
	add_text(&line, "uuid", holder->address);
	if (holder->pid > 0)
		json_write_int(&line, "pid", holder->pid);
	add_text(&line, "command", holder->command);
	add_text(&line, "pod", holder->pod);
	add_text(&line, "detail", holder->detail);
	report_close(&line);
	send_line(out, &line);
}

void mdev_out_done(struct mdev_out *out, const char *uuid)
{
	auto_str struct str line = STR_INIT;

	report_open(&line, "done");
	json_write_str(&line, "uuid", uuid);
	report_close(&line);
	send_line(out, &line);
}

void mdev_out_end(struct mdev_out *out, const struct mdev_end *end)
{
	auto_str struct str line = STR_INIT;

	report_open(&line, "end");
	json_write_str(&line, "result", reason_rows[end->reason].result);
	if (end->reason != MDEV_REASON_NONE) {
		json_write_str(&line, "reason", reason_rows[end->reason].name);
		add_text(&line, "uuid", end->uuid);
		add_text(&line, "step", step_names[end->step]);
		if (end->code < 0)
			add_text(&line, "errno", strerrorname_np(-end->code));
		if (end->pid > 0)
			json_write_int(&line, "pid", end->pid);
		json_write_str(&line, "message", end->message);
	}
	json_write_int(&line, "micros", (int64_t)end->took_us);
	report_close(&line);
	send_line(out, &line);
}
