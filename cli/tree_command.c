#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/timefmt.h"
#include "cli/ask/find.h"
#include "cli/ask/lists.h"
#include "cli/ask/session.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/model/cluster.h"
#include "cli/model/narrow.h"
#include "cli/show/tree.h"

static bool has_node(const struct cluster_view *view, const char *node)
{
	for (size_t i = 0; i < view->nodes_len; i++) {
		if (!node || strcmp(view->nodes[i].name, node) == 0)
			return true;
	}
	return false;
}

/* A node of which nothing is listed: is there one of that name? */
static int check_node(const struct command_run *run, const struct cluster *cluster,
		      const char *node, struct err *err)
{
	if (cluster_node_fault(cluster, node).reason)
		return err_set(err, ERR_INVALID, -ENOENT,
			       "there is no node '%.253s': kubectl get nodes lists them", node);
	if (run->settings.ns || run->settings.selector)
		return 0;
	return err_set(err, ERR_INVALID, -ENOENT,
		       cluster_nodes_known(cluster)
			       ? "node '%.253s' has no devices: does hostdev-agent run there?"
			       : "no device of node '%.253s' is listed: is there such a node, and "
				 "does hostdev-agent run there?",
		       node);
}

static int print(struct command_run *run, struct cluster *cluster, const char *node)
{
	const struct cluster_view *view = cluster_view(cluster);
	struct err err = { 0 };

	if (node && !has_node(view, node) && check_node(run, cluster, node, &err) < 0)
		return command_fail(run, &err);
	if (!has_node(view, node))
		command_note("%s", run->settings.ns ? "No pod of this namespace has a device."
				   : run->settings.selector
					   ? "No device has these labels."
					   : "No devices found: does hostdev-agent "
					     "run on the nodes?");
	tree_print(view, node, timefmt_wall_ms(), &run->out);
	return out_flush(&run->out) ? COMMAND_OK : COMMAND_FAILED;
}

static int run_tree(struct command_run *run)
{
	static const unsigned shown = CLUSTER_DEVICES | CLUSTER_SET(CLUSTER_VGPU) |
				      CLUSTER_SET(CLUSTER_MIG) | CLUSTER_SET(CLUSTER_NODE);
	struct session *session;
	struct cluster *cluster;
	struct lists_missing missing;
	struct err err = { 0 };
	struct lists_want want = {
		.kinds = shown,
		.optional = shown,
		.node = run->words_len > 0 ? find_node_part(run->words[0]) : NULL,
		.selector = run->settings.selector,
	};
	int status;

	if (want.node && !want.node[0]) {
		err_set(&err, ERR_INVALID, -EINVAL,
			"the name of a node is empty: leave it out for all nodes");
		(void)command_fail(run, &err);
		return COMMAND_MISUSED;
	}
	session = command_session(run);
	if (!session)
		return COMMAND_FAILED;
	cluster = cluster_new();
	if (lists_read(session, &want, cluster, &missing, &err) < 0 ||
	    lists_check(&missing, &err) < 0) {
		status = command_fail(run, &err);
	} else {
		command_tell_missing(&missing);
		if (run->settings.ns)
			narrow_to_namespace(cluster, run->settings.ns);
		status = print(run, cluster, want.node);
	}
	cluster_free(cluster);
	return status;
}

static const struct option_row rows[] = {
	COMMAND_SELECTOR_ROW("devices"),
	COMMAND_ALL_ROW,
	COMMAND_OUTPUT_ROW,
	COMMAND_HEADERS_ROW,
	COMMAND_CLUSTER_ROWS,
};

static const struct options_prose prose = {
	.program = "kubectl hostdev tree",
	.summary = "shows devices as a tree",
	.synopsis = "kubectl hostdev tree [NODE] [-l SELECTOR] [-n NAMESPACE | -A] [-o FORMAT]",
	.description =
		"Shows the devices of the cluster, or of NODE: each root bus of a node, the "
		"bridges and functions on it, and below these what is behind them or hangs on them: "
		"virtual functions, USB devices, mediated devices, vGPUs and MIG instances.\n\n"
		"Bridges stand there as addresses alone, since nothing can be lent of them. GROUP is "
		"the IOMMU group, with the number of its functions in parentheses if it has several: "
		"these are lent together. STATE is one of\n\n"
		" o free       may be claimed\n"
		" - refused    its node needs it, or it cannot be lent: the reason says why\n"
		" ~ pending    claimed, not ready yet\n"
		" + ready      claimed, and pods can have it\n"
		" # in use     a pod has it\n"
		" < releasing  its claim is being deleted\n"
		" ! missing    claimed, but not on its node\n"
		" X stuck      the kernel has not let a step end\n"
		" ? unknown    nobody has said, or its node is not well: the node's own line says why",
	.examples = " kubectl hostdev tree\n"
		    " kubectl hostdev tree vm1 -o wide\n"
		    " kubectl hostdev tree -n team-a",
};

const struct command tree_command = {
	.word = "tree",
	.summary = "Show devices as a tree, with state, group, driver, claim and pod",
	.prose = &prose,
	.rows = rows,
	.rows_len = ARRAY_LEN(rows),
	.words_max = 1,
	.words = "NODE",
	.formats = OUT_ALL,
	.completes = COMPLETE_NODES,
	.of_pods = true,
	.run = run_tree,
};
