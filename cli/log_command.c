#include <stddef.h>

#include "base/err.h"
#include "base/mem.h"
#include "cli/ask/device_events.h"
#include "cli/ask/session.h"
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
	command_tell_missing(&targets.missing);
	if (device_events_read(run->session, targets.devices[0], &events, &err) < 0)
		return command_fail(run, &err);
	if (events.len == 0)
		command_note("%s: no events, which are kept for an hour; the logs have more",
			     targets.devices[0]->name);
	history_print(targets.devices[0], &events, &run->out);
	return out_flush(&run->out) ? COMMAND_OK : COMMAND_FAILED;
}

static const struct option_row rows[] = { COMMAND_OUTPUT_ROW, COMMAND_HEADERS_ROW,
					  COMMAND_CLUSTER_ROWS };

static const struct options_prose prose = {
	.program = "kubectl hostdev log",
	.summary = "shows the history of a device",
	.synopsis = "kubectl hostdev log DEVICE [-o FORMAT]",
	.description =
		"Shows what was done with DEVICE in the last hour, oldest first: claims that were created, "
		"refused and deleted, when it was bound, allocated to pods and released. These are the events "
		"of its objects (its own, its claim's, its card's) in the namespace default.\n\n"
		"Events name neither users nor pods. USER is the owner of the present claim, if you may read "
		"it. With COUNT above 1, TIME is the last time.",
	.examples = " kubectl hostdev log vm1-000001000\n"
		    " kubectl hostdev log vm1/01:00.0 -o wide",
};

const struct command log_command = {
	.word = "log",
	.summary = "Show what was done with a device in the last hour",
	.prose = &prose,
	.rows = rows,
	.rows_len = ARRAY_LEN(rows),
	.words_min = 1,
	.words_max = 1,
	.words = "DEVICE",
	.formats = OUT_SET(OUT_TABLE) | OUT_SET(OUT_WIDE) | OUT_SET(OUT_JSON) | OUT_SET(OUT_YAML),
	.completes = COMPLETE_DEVICES,
	.run = run_log,
};
