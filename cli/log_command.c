#include <errno.h>
#include <stddef.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/client/device_events.h"
#include "cli/client/lists.h"
#include "cli/client/session.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/history.h"
#include "cli/model/cluster.h"
#include "cli/target.h"

static int run_log(struct command_run *run)
{
	auto_targets struct targets targets = { 0 };
	auto_events struct device_events events = { .max = DEVICE_EVENTS_MAX };
	struct err err = { 0 };
	int status = targets_find(run, CLUSTER_CARDS, &targets);

	if (status != COMMAND_OK)
		return status;
	targets_tell(&targets, 0);
	if (device_events_read(run->session, targets.devices[0], &events, &err) < 0) {
		if (err.code == -EACCES) {
			auto_free char *message = xstrdup(err.msg);

			(void)lists_denied("events", message, &err);
		}
		return command_fail(run, &err);
	}
	if (events.len == 0)
		command_note("%s: no events in the last hour; the logs of hostdev-controller and "
			     "hostdev-agent go back further",
			     targets.devices[0]->name);
	history_print(targets.devices[0], &events, &run->out);
	return out_flush(&run->out) ? COMMAND_OK : COMMAND_FAILED;
}

static const struct option_row rows[] = { COMMAND_OUTPUT_ROW(out_formats_unnamed),
					  COMMAND_HEADERS_ROW, COMMAND_CLUSTER_ROWS };

static const struct options_prose prose = {
	.program = "kubectl hostdev log",
	.summary = "shows the history of a device",
	.synopsis = "kubectl hostdev log DEVICE [-o FORMAT]",
	.description =
		"Shows what happened to DEVICE in the last hour, oldest first: which claims were "
		"created, refused and deleted, and when the device was bound, allocated to pods "
		"and released. It prints the events of its objects (the device, its claim, its "
		"card) in the namespace default.\n"
		"\n"
		"Events name neither users nor pods. USER is the owner of the current claim, if "
		"you may read it. The API server counts equal events and keeps the times of the "
		"first and the last one. Both have a line: COUNT is \"1 of 3\" and \"3 of 3\" for "
		"three.",
	.examples = " kubectl hostdev log vm1-000001000\n"
		    " kubectl hostdev log vm1/01:00.0 -o wide",
};

const struct command log_command = {
	.word = "log",
	.summary = "Show what happened to a device in the last hour",
	COMMAND_LINE(prose, rows),
	COMMAND_DEVICES(1, COMPLETE_DEVICES),
	.run = run_log,
};
