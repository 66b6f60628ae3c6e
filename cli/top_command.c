#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/devicepool.h"
#include "api/json_map.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "cli/client/lists.h"
#include "cli/client/session.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/print/pools.h"

/* Claimable devices are counted from the devices, because the labels of DevicePools do not apply
 * to them. A caller who may not read all of them gets "-". */
static int read_devices(struct command_run *run, struct cluster *cluster,
			struct lists_missing *missing, bool *ret_read, struct err *err)
{
	static const unsigned kinds = CLUSTER_DEVICES | CLUSTER_CARDS;
	static const unsigned needed =
		CLUSTER_SET(CLUSTER_PCIDEVICE) | CLUSTER_SET(CLUSTER_PCICLAIM) |
		CLUSTER_SET(CLUSTER_USBDEVICE) | CLUSTER_SET(CLUSTER_USBCLAIM);
	const struct lists_want want = { .kinds = kinds, .optional = kinds };
	struct lists_missing devices;
	int r = lists_read(run->session, &want, cluster, &devices, err);

	if (r < 0)
		return r;
	*ret_read = !(devices.kinds & needed);
	missing->kinds |= devices.kinds;
	missing->forbidden |= devices.forbidden;
	for (int kind = 0; kind < CLUSTER_KINDS; kind++) {
		if (devices.kinds & CLUSTER_SET(kind))
			memcpy(missing->why[kind], devices.why[kind], sizeof(missing->why[kind]));
	}
	return 0;
}

static bool is_table(const struct command_run *run)
{
	return run->out.format == OUT_TABLE || run->out.format == OUT_WIDE;
}

static void tell_faults(struct cluster *cluster, int64_t now_wall_ms)
{
	auto_str struct str faults = STR_INIT;

	pools_faults(cluster, now_wall_ms, &faults);
	if (faults.len > 0)
		command_note("Not counted as claimable, healthy or available: the devices of %s",
			     faults.buf);
}

static void print_pools(struct command_run *run, struct cluster *cluster,
			const struct pools_look *look)
{
	size_t hidden;

	if (is_table(run))
		tell_faults(cluster, look->now_wall_ms);
	hidden = pools_print(cluster, look, &run->out);
	if (hidden > 0)
		command_note("Not shown: %zu %s in which nothing can be claimed or used; "
			     "--all shows %s",
			     hidden, hidden == 1 ? "row" : "rows", hidden == 1 ? "it" : "them");
}

static int run_top(struct command_run *run)
{
	struct session *session = command_session(run);
	struct lists_want want = {
		.kinds = CLUSTER_SET(CLUSTER_POOL) | CLUSTER_SET(CLUSTER_NODE),
		.optional = CLUSTER_SET(CLUSTER_NODE),
		.selector = run->settings.selector,
	};
	struct pools_look look = { .nodes = run->settings.nodes,
				   .now_wall_ms = timefmt_wall_ms(),
				   .all = run->settings.all || run->settings.selector,
				   .selected = run->settings.selector != NULL };
	struct lists_missing missing;
	struct cluster *cluster;
	struct err err = { 0 };
	int status = COMMAND_OK;

	if (!session)
		return COMMAND_FAILED;
	cluster = cluster_new();
	if (lists_read(session, &want, cluster, &missing, &err) < 0 ||
	    (is_table(run) && (cluster_count(cluster, CLUSTER_POOL) > 0 || !want.selector) &&
	     read_devices(run, cluster, &missing, &look.devices, &err) < 0))
		status = command_fail(run, &err);
	else if (cluster_count(cluster, CLUSTER_POOL) == 0 && want.selector)
		command_note("No DevicePool has these labels.");
	else if (cluster_count(cluster, CLUSTER_POOL) == 0)
		command_note("No DevicePools found: does hostdev-controller run, and do nodes have "
			     "devices?");
	if (status == COMMAND_OK) {
		command_tell_missing(&missing, ~0U);
		cluster_hide_claims(cluster, missing.forbidden & CLUSTER_CLAIMS,
				    missing.forbidden & CLUSTER_CLAIMS);
		print_pools(run, cluster, &look);
	}
	cluster_free(cluster);
	if (!out_flush(&run->out))
		return COMMAND_FAILED;
	return status;
}

static const struct option_row rows[] = {
	COMMAND_SELECTOR_ROW("DevicePools"),
	COMMAND_ALL_ROW,
	{ .name = "all",
	  .type = OPTION_BOOL,
	  COMMAND_AT(all),
	  .help = "Also show rows in which nothing is claimable, claimed, allocated or "
		  "available." },
	{ .name = "nodes",
	  .type = OPTION_BOOL,
	  COMMAND_AT(nodes),
	  .help = "Show the numbers of each node; DevicePools have them for at most 64 nodes of a "
		  "resource." },
	COMMAND_OUTPUT_ROW(out_formats),
	COMMAND_HEADERS_ROW,
	COMMAND_CLUSTER_ROWS,
};

static const struct options_prose prose = {
	.program = "kubectl hostdev top",
	.summary = "counts devices by resource name",
	.synopsis = "kubectl hostdev top [--nodes] [--all] [-l SELECTOR] [-o FORMAT]",
	.description =
		"Shows for each resource name how many devices there are, and how many of them "
		"are\n"
		"\n"
		" CLAIMABLE  may be claimed now; \"-\" if you may not read devices and claims\n"
		" CLAIMED    have a claim\n"
		" HEALTHY    are offered to the kubelet (-o wide)\n"
		" ALLOCATED  are allocated to a container\n"
		" AVAILABLE  are offered to the kubelet and not allocated: the next pod can have "
		"one\n"
		"\n"
		"The words mean the same as in kubectl hostdev tree. CLAIMABLE, and USB devices "
		"without a claim, are counted from the devices; the other numbers come from the "
		"DevicePools of hostdev-controller. Devices of a node that is gone or NotReady are "
		"not counted as CLAIMABLE, HEALTHY or AVAILABLE.",
	.examples = " kubectl hostdev top\n"
		    " kubectl hostdev top --nodes",
};

const struct command top_command = {
	.word = "top",
	.summary = "Count devices by resource name: claimable, claimed, allocated, available",
	COMMAND_LINE(prose, rows),
	.run = run_top,
};
