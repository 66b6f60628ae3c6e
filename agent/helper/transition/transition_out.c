#include "agent/helper/transition/transition_out.h"

#include "agent/helper/sys/bind_look.h"
#include "agent/helper/sys/progress.h"
#include "agent/helper/sys/report.h"
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
	[REASON_USE_UNKNOWN]           = { "Refused", "UseUnknown" },
	[REASON_CLAIM_DELETED]         = { "Busy",    "ClaimDeleted" }, /* another claim need not wait */
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
	[REASON_AGENT_NOT_PRIVILEGED]  = { "Failed",  "AgentNotPrivileged" },
};
/* clang-format on */

void transition_out_step(struct progress *out, const char *address, enum transition_step step)
{
	progress_step(out, "address", address, step_names[step]);
}

void transition_out_holder(struct progress *out, const struct holder *holder)
{
	progress_holder(out, "address", holder);
}

void transition_out_function(struct progress *out, const char *address,
			     const struct bind_seen *seen)
{
	auto_str struct str line = STR_INIT;

	report_open(&line, "function");
	json_write_str(&line, "address", address);
	progress_text(&line, "driver", seen->driver);
	progress_text(&line, "override", seen->override);
	report_close(&line);
	progress_send(out, &line);
}

void transition_out_end(struct progress *out, const struct transition_end *end)
{
	auto_str struct str line = STR_INIT;
	const char *result = reason_rows[end->reason].result;
	struct progress_cause cause = {
		.reason = reason_rows[end->reason].name,
		.about = end->address,
		.step = step_names[end->step],
		.code = end->code,
		.pid = end->pid,
		.message = end->message,
	};

	report_open(&line, "end");
	json_write_str(&line, "result", end->changed ? "Failed" : result);
	if (end->reason != REASON_NONE)
		progress_cause(&line, "address", &cause);
	json_write_int(&line, "kernelMicros", (int64_t)end->kernel_us);
	json_write_int(&line, "micros", (int64_t)end->took_us);
	report_close(&line);
	progress_send(out, &line);
}
