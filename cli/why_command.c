#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/timefmt.h"
#include "cli/client/device_events.h"
#include "cli/client/rights.h"
#include "cli/client/session.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/model/cluster.h"
#include "cli/target.h"
#include "cli/why.h"
#include "cli/why_pod.h"

/* Does its own claim alone not get the device? */
static bool needs_group(const struct cluster_device *device)
{
	const char *reason = device->verdict.reason;

	return strcmp(reason, "GroupShared") == 0 || strcmp(reason, "SiblingBound") == 0 ||
	       strcmp(reason, "NotRead") == 0;
}

static int run_why(struct command_run *run)
{
	auto_targets struct targets targets = { 0 };
	auto_events struct device_events events = { 0 };
	auto_free char *rest = NULL;
	auto_free char *how = NULL;
	struct rights *rights = NULL;
	struct err err = { 0 };
	int status;

	if (run->words_len == 2 && strcmp(run->words[0], "pod") == 0)
		return why_pod(run, run->words[1]);
	if (run->words_len > 1)
		return command_misused(run, "one DEVICE, or pod NAMESPACE/NAME; not '%s %s'",
				       run->words[0], run->words[1]);
	status = targets_find(run, CLUSTER_CARDS | CLUSTER_DRA, &targets);
	if (status != COMMAND_OK)
		return status;
	if (device_events_read(run->session, targets.devices[0], &events, &err) < 0) {
		targets.missing.events = err.code == -EACCES;
		if (!targets.missing.events)
			command_note("Not shown: %s", err.msg);
	}
	targets_tell(&targets, CLUSTER_SET(CLUSTER_NODE) | CLUSTER_DRA);
	(void)rights_read(run->session, &rights,
			  NULL); /* without them, the claim itself shows what is refused */
	rest = needs_group(targets.devices[0]) ? targets_group_rest(&targets, targets.devices[0])
					       : NULL;
	how = rights_how(rights, targets.devices[0]->type, targets.devices[0]->name, rest);
	rights_free(rights);
	why_print(targets.cluster, targets.devices[0], how, &events, timefmt_wall_ms(), &run->out);
	return out_flush(&run->out) ? COMMAND_OK : COMMAND_FAILED;
}

static const struct option_row rows[] = { COMMAND_OUTPUT_ROW(out_formats_unnamed),
					  COMMAND_CLUSTER_ROWS };

static const struct options_prose prose = {
	.program = "kubectl hostdev why",
	.summary = "explains the state of a device, or what a pod waits for",
	.synopsis = "kubectl hostdev why {DEVICE | pod NAMESPACE/NAME} [-o FORMAT]",
	.description =
		"Shows why DEVICE can or cannot be claimed, why it is ready or not, and who has "
		"it. It prints the conditions of its objects (the device, its claim, its card), "
		"what to do about them, and the latest events.\n"
		"\n"
		"Of a pod, it shows which devices are offered as the resources that the pod "
		"requests, and which of them are available, in use or unhealthy. Of its "
		"ResourceClaims, it shows what is allocated to them, or what they wait for.",
	.examples = " kubectl hostdev why vm1-000000020\n"
		    " kubectl hostdev why vm1/01:00.0\n"
		    " kubectl hostdev why pod default/vm-1",
};

const struct command why_command = {
	.word = "why",
	.summary = "Explain why a device can or cannot be claimed, and why it is or is not ready",
	COMMAND_LINE(prose, rows),
	COMMAND_DEVICES(2, COMPLETE_DEVICES),
	.run = run_why,
};
