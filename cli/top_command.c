#include <errno.h>
#include <stdlib.h>

#include "api/devicepool.h"
#include "api/json_map.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "cli/ask/lists.h"
#include "cli/ask/session.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/show/pools.h"

static int run_top(struct command_run *run)
{
	struct session *session = command_session(run);
	struct lists_want want = {
		.kinds = CLUSTER_SET(CLUSTER_POOL) | CLUSTER_SET(CLUSTER_NODE),
		.optional = CLUSTER_SET(CLUSTER_NODE),
		.selector = run->settings.selector,
	};
	struct pools_look look = { run->settings.nodes, timefmt_wall_ms() };
	struct lists_missing missing;
	struct cluster *cluster;
	struct err err = { 0 };
	int status = COMMAND_OK;

	if (!session)
		return COMMAND_FAILED;
	cluster = cluster_new();
	if (lists_read(session, &want, cluster, &missing, &err) < 0)
		status = command_fail(run, &err);
	else if (cluster_count(cluster, CLUSTER_POOL) == 0 && want.selector)
		command_note("No DevicePool has these labels.");
	else if (cluster_count(cluster, CLUSTER_POOL) == 0)
		command_note("No DevicePools found: does hostdev-controller run, and do nodes have "
			     "devices?");
	if (status == COMMAND_OK) {
		command_tell_nodes(&missing);
		pools_print(cluster, &look, &run->out);
	}
	cluster_free(cluster);
	if (!out_flush(&run->out))
		return COMMAND_FAILED;
	return status;
}

static const struct option_row rows[] = {
	COMMAND_SELECTOR_ROW("DevicePools"),
	COMMAND_ALL_ROW,
	{ .name = "nodes",
	  .type = OPTION_BOOL,
	  COMMAND_AT(nodes),
	  .help = "Show each node's numbers; the cluster keeps them for the first 64 nodes of a "
		  "resource." },
	COMMAND_OUTPUT_ROW,
	COMMAND_HEADERS_ROW,
	COMMAND_CLUSTER_ROWS,
};

static const struct options_prose prose = {
	.program = "kubectl hostdev top",
	.summary = "counts devices by resource name",
	.synopsis = "kubectl hostdev top [--nodes] [-l SELECTOR] [-o FORMAT]",
	.description =
		"Shows for each resource name how many devices there are, how many of them are CLAIMED, "
		"how many of these pods can have (HEALTHY), how many containers have (ALLOCATED), and "
		"how many are FREE for the next pod. The numbers are the DevicePools', which "
		"hostdev-controller keeps; devices of a node that is gone or NotReady are neither "
		"HEALTHY nor FREE.",
	.examples = " kubectl hostdev top\n"
		    " kubectl hostdev top --nodes",
};

const struct command top_command = {
	.word = "top",
	.summary = "Count devices by resource name: claimed, healthy, allocated",
	.prose = &prose,
	.rows = rows,
	.rows_len = ARRAY_LEN(rows),
	.formats = OUT_ALL,
	.run = run_top,
};
