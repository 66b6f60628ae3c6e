#include "agent/helper/transition/transition_out.h"

#include <string.h>

#include "agent/helper/sys/bind_look.h"
#include "agent/helper/sys/holders.h"
#include "agent/helper/sys/report.h"
#include "base/file.h"
#include "base/json_write.h"

static const char *const step_names[] = {
	[STEP_WAIT_LOCK] = "WaitLock",
	[STEP_LOAD_MODULE] = "LoadModule",
	[STEP_CHECK_HOLDERS] = "CheckHolders",
	[STEP_WRITE_RECORD] = "WriteRecord",
	[STEP_SET_OVERRIDE] = "SetOverride",
	[STEP_UNBIND] = "Unbind",
	[STEP_PROBE] = "Probe",
	[STEP_CLEAR_OVERRIDE] = "ClearOverride",
	[STEP_BIND] = "Bind",
	[STEP_REMOVE_RECORD] = "RemoveRecord",
	[STEP_ROLLBACK] = "Rollback",
	[STEP_SET_AUTOPROBE] = "SetAutoprobe",
	[STEP_REMOVE_FUNCTIONS] = "RemoveFunctions",
	[STEP_MAKE_FUNCTIONS] = "MakeFunctions",
	[STEP_SET_FUNCTIONS] = "SetFunctions",
};

/* clang-format off */
static const struct {
	const char *result;
	const char *name;
} reason_rows[] = {
	[REASON_NONE]                  = { "Done",    NULL },
	[REASON_HELD]                  = { "Held",    "Held" },
	[REASON_BUSY]                  = { "Busy",    "Busy" },
	[REASON_DEVICE_GONE]           = { "Refused", "DeviceGone" },
	[REASON_DIFFERENT_DEVICE]      = { "Refused", "DifferentDevice" },
	[REASON_OVERRIDE_OWNED]        = { "Refused", "OverrideOwned" },
	[REASON_IN_USE]                = { "Refused", "InUse" },
	[REASON_DRIVER_CHANGED]        = { "Refused", "DriverChanged" },
	[REASON_TOO_MANY_VFS]          = { "Refused", "TooManyVFs" },
	[REASON_VFS_IN_USE]            = { "Refused", "VFsInUse" },
	[REASON_DRIVER_MISSING]        = { "Failed",  "DriverMissing" },
	[REASON_NO_IOMMU_BACKEND]      = { "Failed",  "NoIOMMUBackend" },
	[REASON_STATE_NOT_WRITABLE]    = { "Failed",  "StateNotWritable" },
	[REASON_OVERRIDE_FAILED]       = { "Failed",  "OverrideFailed" },
	[REASON_UNBIND_FAILED]         = { "Failed",  "UnbindFailed" },
	[REASON_PROBE_FAILED]          = { "Failed",  "ProbeFailed" },
	[REASON_NATIVE_DRIVER_MISSING] = { "Failed",  "NativeDriverMissing" },
	[REASON_NATIVE_BIND_FAILED]    = { "Failed",  "NativeBindFailed" },
	[REASON_GROUP_NOT_VIABLE]      = { "Failed",  "GroupNotViable" },
	[REASON_NODE_MISSING]          = { "Failed",  "NodeMissing" },
	[REASON_NUM_VFS_FAILED]        = { "Failed",  "NumVFsFailed" },
	[REASON_AUTOPROBE_FAILED]      = { "Failed",  "AutoprobeFailed" },
	[REASON_SETTINGS_FAILED]       = { "Failed",  "SettingsFailed" },
};
/* clang-format on */

/* Nobody listens any more: the transition goes on all the same, half of one helps nobody. */
static void send_line(struct transition_out *out, struct str *line)
{
	if (out->code == 0)
		out->code = file_write_all(out->fd, str_cstr(line), line->len);
}

static void add_text(struct str *line, const char *key, const char *text)
{
	if (text && text[0])
		json_write_str(line, key, text);
}

void transition_out_step(struct transition_out *out, const char *address, enum transition_step step)
{
	auto_str struct str line = STR_INIT;

	report_open(&line, "step");
	add_text(&line, "address", address);
	json_write_str(&line, "step", step_names[step]);
	report_close(&line);
	send_line(out, &line);
}

void transition_out_holder(struct transition_out *out, const struct holder *holder)
{
	auto_str struct str line = STR_INIT;

	report_open(&line, "holder");
	add_text(&line, "address", holder->address);
	if (holder->pid > 0)
		json_write_int(&line, "pid", holder->pid);
	add_text(&line, "command", holder->command);
	add_text(&line, "pod", holder->pod);
	add_text(&line, "detail", holder->detail);
	report_close(&line);
	send_line(out, &line);
}

void transition_out_function(struct transition_out *out, const char *address,
			     const struct bind_seen *seen)
{
	auto_str struct str line = STR_INIT;

	report_open(&line, "function");
	json_write_str(&line, "address", address);
	add_text(&line, "driver", seen->driver);
	add_text(&line, "override", seen->override);
	report_close(&line);
	send_line(out, &line);
}

static void add_cause(struct str *line, const struct transition_end *end)
{
	json_write_str(line, "reason", reason_rows[end->reason].name);
	add_text(line, "address", end->address);
	add_text(line, "step", step_names[end->step]);
	if (end->code < 0)
		add_text(line, "errno", strerrorname_np(-end->code));
	if (end->pid > 0)
		json_write_int(line, "pid", end->pid);
	json_write_str(line, "message", end->message);
}

void transition_out_end(struct transition_out *out, const struct transition_end *end)
{
	auto_str struct str line = STR_INIT;
	const char *result = reason_rows[end->reason].result;

	report_open(&line, "end");
	json_write_str(&line, "result", end->changed ? "Failed" : result);
	if (end->reason != REASON_NONE)
		add_cause(&line, end);
	json_write_int(&line, "kernelMicros", (int64_t)end->kernel_us);
	json_write_int(&line, "micros", (int64_t)end->took_us);
	report_close(&line);
	send_line(out, &line);
}
