#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "cli/client/find.h"
#include "cli/client/follow.h"
#include "cli/client/lists.h"
#include "cli/client/session.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/model/cluster.h"
#include "cli/model/dra_request.h"
#include "cli/model/narrow.h"
#include "cli/print/tree.h"

enum { WATCH_MS = 500 }; /* least time between two trees */

static bool has_node(const struct cluster_view *view, const char *node)
{
	for (size_t i = 0; i < view->nodes_len; i++) {
		if (!node || strcmp(view->nodes[i].name, node) == 0)
			return true;
	}
	return false;
}

/* No device of the node is listed. Does the node exist? */
static int check_node(const struct command_run *run, const struct cluster *cluster,
		      const char *node, struct err *err)
{
	const char *reason = cluster_node_fault(cluster, node).reason;

	if (reason && strcmp(reason, "NodeGone") == 0)
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

/* Append the tree of @cluster, whose kinds @unread could not be read, and the ResourceClaims that
 * wait for devices. Such a claim has no node yet, and no labels of a device. */
static void add_tree(struct command_run *run, struct cluster *cluster, const char *node,
		     unsigned unread)
{
	struct dra_waitings waitings = { 0 };

	if (!node && !run->settings.selector)
		dra_waitings_find(cluster, run->settings.ns, unread, &waitings);
	if (run->settings.ns)
		narrow_to_namespace(cluster, run->settings.ns);
	tree_print(cluster_view(cluster), &waitings, node, timefmt_wall_ms(), &run->out);
	dra_waitings_done(&waitings);
}

/* Also stores the printed text in *@shown. */
static int print(struct command_run *run, struct cluster *cluster, const char *node,
		 unsigned unread, struct str *shown)
{
	const struct cluster_view *view;
	struct err err = { 0 };

	add_tree(run, cluster, node, unread);
	view = cluster_view(cluster);
	if (node && !has_node(view, node) && check_node(run, cluster, node, &err) < 0)
		return command_fail(run, &err);
	if (!has_node(view, node))
		command_note("%s", run->settings.ns ? "No pod of this namespace has a device."
				   : run->settings.selector
					   ? "No device has these labels."
					   : "No devices found: does hostdev-agent "
					     "run on the nodes?");
	str_add(shown, str_cstr(&run->out.text));
	return out_flush(&run->out) ? COMMAND_OK : COMMAND_FAILED;
}

/* Print over the previous tree on a terminal, and after it elsewhere. */
static void print_again(struct command_run *run, struct str *text)
{
	str_add(&run->out.text, run->out.terminal ? "\033[H\033[2J" : "\n");
	str_add(&run->out.text, str_cstr(text));
}

/* Make the current tree; objects of the kinds @unread cannot be listed. True if it differs from
 * @last, which it then replaces. */
static bool take_tree(struct command_run *run, const struct follow *follow,
		      const struct lists_want *want, unsigned unread, struct str *last)
{
	struct cluster *cluster = cluster_new();
	bool other;

	follow_fill(follow, cluster);
	cluster_hide_claims(cluster, unread & CLUSTER_CLAIMS, unread & CLUSTER_CLAIMS);
	if (want->selector)
		narrow_to_listed(cluster);
	str_clear(&run->out.text);
	add_tree(run, cluster, want->node, unread);
	other = strcmp(str_cstr(&run->out.text), str_cstr(last)) != 0;
	str_clear(last);
	str_add(last, str_cstr(&run->out.text));
	str_clear(&run->out.text);
	cluster_free(cluster);
	return other;
}

/* Runs until a signal ends the process, as kubectl does. @shown is the tree that has been
 * printed. */
static int watch(struct command_run *run, const struct lists_want *want, unsigned unread,
		 struct str *shown)
{
	struct follow *follow = follow_new(run->session, want);
	bool told = false;
	bool good = true;

	while (good && session_wait(run->session, WATCH_MS) == 0) {
		const char *error = follow_error(follow);

		if (error[0] && !told)
			command_note("Not up to date: %s", error);
		told = error[0] != '\0';
		if (follow_changed(follow) && take_tree(run, follow, want, unread, shown)) {
			print_again(run, shown);
			good = out_flush(&run->out);
		}
	}
	follow_free(follow);
	return COMMAND_FAILED;
}

static int run_tree(struct command_run *run)
{
	static const unsigned shown = CLUSTER_DEVICES | CLUSTER_CARDS | CLUSTER_SET(CLUSTER_NODE) |
				      CLUSTER_SET(CLUSTER_SLICE);
	static const unsigned claims =
		CLUSTER_SET(CLUSTER_RESOURCECLAIM) | CLUSTER_SET(CLUSTER_DEVICECLASS);
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
	auto_str struct str text = STR_INIT;
	unsigned unread = 0;
	int status;

	if (run->settings.watch && run->out.format != OUT_TABLE && run->out.format != OUT_WIDE)
		return command_misused(run, "--watch supports only -o table and -o wide");
	if (want.node && !want.node[0])
		return command_misused(run,
				       "the name of a node is empty: leave it out for all nodes");
	session = command_session(run);
	if (!session)
		return COMMAND_FAILED;
	cluster = cluster_new();
	if (lists_read(session, &want, cluster, &missing, &err) < 0 ||
	    lists_check(&missing, &err) < 0 ||
	    lists_read_dra(session, claims, cluster, &missing, &err) < 0) {
		status = command_fail(run, &err);
	} else {
		command_tell_missing(&missing, ~0U);
		unread = missing.forbidden;
		cluster_hide_claims(cluster, unread & CLUSTER_CLAIMS, unread & CLUSTER_CLAIMS);
		status = print(run, cluster, want.node, unread, &text);
	}
	cluster_free(cluster);
	want.kinds |= claims;
	want.optional |= claims;
	return status == COMMAND_OK && run->settings.watch ? watch(run, &want, unread, &text)
							   : status;
}

static const struct option_row rows[] = {
	COMMAND_SELECTOR_ROW("devices"),
	COMMAND_ALL_ROW,
	{ .name = "watch",
	  .letter = 'w',
	  .type = OPTION_BOOL,
	  COMMAND_AT(watch),
	  .help = "Print the tree again whenever it changes, on a terminal in place of the "
		  "previous one. Ctrl-C ends it." },
	COMMAND_OUTPUT_ROW(out_formats),
	COMMAND_HEADERS_ROW,
	COMMAND_CLUSTER_ROWS,
};

static const struct options_prose prose = {
	.program = "kubectl hostdev tree",
	.summary = "shows devices as a tree",
	.synopsis =
		"kubectl hostdev tree [NODE] [-w] [-l SELECTOR] [-n NAMESPACE | -A] [-o FORMAT]",
	.description =
		"Shows the devices of the cluster, or of NODE: each root bus of a node, the "
		"bridges and functions on it, and below these the devices behind them, "
		"virtual functions, USB devices, mediated devices, vGPUs and MIG instances. Below "
		"a device that DRA has allocated to a ResourceClaim, and that no container has "
		"yet, it shows the claim and why. ResourceClaims that wait for devices are listed "
		"after the tree, unless NODE or -l is given.\n\n"
		"Bridges show only their address because they cannot be claimed. GROUP is "
		"the IOMMU group: \"14 (+2 more)\" means that two more functions are in group 14, "
		"which are claimed together. STATE is one of\n\n"
		" o claimable  may be claimed now (GroupShared: with its whole IOMMU group;\n"
		"              GroupClaimed: its group is claimed, and one pod at a time can use "
		"it)\n"
		" - refused    its node needs it, or it cannot be claimed now\n"
		" ~ pending    claimed, not ready yet\n"
		" + available  offered to the kubelet, and no pod has it\n"
		" # in use     a pod has it\n"
		" < releasing  its claim is being deleted\n"
		" ! missing    claimed, but not on its node\n"
		" X stuck      the kernel has not finished a step\n"
		" ? unknown    no agent has reported it, or its node has a problem: see the node's "
		"line",
	.examples = " kubectl hostdev tree\n"
		    " kubectl hostdev tree vm1 -o wide\n"
		    " kubectl hostdev tree vm1 -w\n"
		    " kubectl hostdev tree -n team-a",
};

const struct command tree_command = {
	.word = "tree",
	.summary = "Show devices as a tree, with state, group, driver, claim and pod",
	COMMAND_LINE(prose, rows),
	.words_max = 1,
	.words = "NODE",
	.completes = COMPLETE_NODES,
	.of_pods = true,
	.run = run_tree,
};
