#include "agent/settings.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "agent/helper_run.h"
#include "api/names.h"
#include "base/err.h"
#include "base/mem.h"

/* In the order of enum print_format. */
static const char *const outputs[] = { "table", "wide", "yaml", "json", NULL };

/* clang-format off */
#define AT(member) .offset = offsetof(struct settings, member)

#define NODE_ROWS \
	{ .name = "node-name", .type = OPTION_STRING, AT(node_name), .env = "NODE_NAME", \
	  .argument = "NAME", .group = "Node", \
	  .help = "Name of the node that this machine is. Without it, the host name in lower case." }, \
	{ .name = "show-bridges", .type = OPTION_BOOL, AT(show_bridges), \
	  .help = "List PCI bridges and ports (class 0604), too." }, \
	{ .name = "show-hubs", .type = OPTION_BOOL, AT(show_hubs), \
	  .help = "List USB hubs, too." }, \
	{ .name = "sysfs-root", .type = OPTION_STRING, AT(sysfs_root), .argument = "DIR", \
	  .help = "Where the kernel's sysfs is mounted, if not at /sys; or a copy of another " \
		  "machine's." }, \
	{ .name = "proc-root", .type = OPTION_STRING, AT(proc_root), .argument = "DIR", \
	  .help = "Where the host's proc is mounted, if not at /proc." }, \
	{ .name = "pci-ids", .type = OPTION_STRING, AT(pci_ids), .argument = "FILE", \
	  .help = "The list of PCI names, if not in its usual place." }, \
	{ .name = "usb-ids", .type = OPTION_STRING, AT(usb_ids), .argument = "FILE", \
	  .help = "The list of USB names, if not in its usual place." }, \
	{ .name = "helper", .type = OPTION_STRING, AT(helper), .argument = "FILE", \
	  .help = "The program hostdev-helper, if not beside this one." }, \
	{ .name = "scan-deadline", .type = OPTION_DURATION, AT(scan_deadline_ms), \
	  .fallback = "30s", .min = 100, .argument = "TIME", \
	  .help = "How long one look at the devices may take before it counts as stuck." }

/* Both commands take the same file: each knows the keys of the other, too. */
#define FILE_KEY(name_, type_, member_) \
	{ .name = (name_), .type = (type_), AT(member_), .file_only = true }

static const struct option_row run_rows[] = {
	PROGRAM_LOG_ROWS(struct settings, common),
	PROGRAM_CLUSTER_ROWS(struct settings, common, "127.0.0.1:9807"),
	NODE_ROWS,
	{ .name = "rescan-interval", .type = OPTION_DURATION, AT(rescan_interval_ms),
	  .fallback = "10m", .argument = "TIME",
	  .help = "Look at the devices at least this often, even if the kernel told of no change. "
		  "0 switches it off. Without uevents it is one minute at most." },
	{ .name = "output", .type = OPTION_ENUM, AT(output), .choices = outputs, .file_only = true },
};

static const struct option_row inspect_rows[] = {
	{ .name = "output", .letter = 'o', .type = OPTION_ENUM, AT(output), .choices = outputs,
	  .fallback = "table", .argument = "FORMAT", .group = "Output",
	  .help = "How to print. wide is a table with more columns; yaml and json give one v1 List "
		  "of the objects that the agent would apply." },
	NODE_ROWS,
	PROGRAM_LOG_ROWS(struct settings, common),
	FILE_KEY("kubeconfig", OPTION_STRING, common.kubeconfig),
	FILE_KEY("context", OPTION_STRING, common.context),
	FILE_KEY("listen", OPTION_STRING, common.listen),
	FILE_KEY("rescan-interval", OPTION_DURATION, rescan_interval_ms),
};
/* clang-format on */

const struct options_prose settings_run_prose = {
	.program = "hostdev-agent",
	.summary = "publishes the devices of a node in the Kubernetes API",
	.synopsis = " hostdev-agent [FLAG]...\n hostdev-agent inspect [FLAG]...",
	.description =
		"Keeps one PCIDevice per PCI function and one USBDevice per USB device of this node in "
		"the API group devices.harvesterhci.io/v1beta1, and follows the kernel: a device that is "
		"plugged in, removed or bound to another driver shows within a tenth of a second. It "
		"writes nothing while nothing changes, and touches no other node's objects.\n\n"
		"`hostdev-agent inspect` prints what it would publish, without a cluster; see "
		"`hostdev-agent inspect --help`.",
	.examples = "  hostdev-agent --node-name node1 --kubeconfig ~/.kube/config\n"
		    "  hostdev-agent inspect -o wide",
	.files = "  hostdev-helper   beside this program; it alone opens devices' files in /sys",
};

const struct options_prose settings_inspect_prose = {
	.program = "hostdev-agent inspect",
	.summary = "prints the devices of this machine as the agent would publish them",
	.synopsis = "hostdev-agent inspect [FLAG]...",
	.description =
		"Looks at the machine once and prints its PCI functions and USB devices, "
		"with the driver, the IOMMU group, and whether each could be claimed and why "
		"not. Needs no cluster and changes nothing.",
	.examples = "  hostdev-agent inspect\n"
		    "  hostdev-agent inspect -o wide\n"
		    "  hostdev-agent inspect -o json --node-name node1 | jq -r "
		    "'.items[].metadata.name'",
};

const struct option_row *settings_run_rows(size_t *ret_len)
{
	*ret_len = ARRAY_LEN(run_rows);
	return run_rows;
}

const struct option_row *settings_inspect_rows(size_t *ret_len)
{
	*ret_len = ARRAY_LEN(inspect_rows);
	return inspect_rows;
}

static int take_host_name(struct settings *s, struct err *err)
{
	char name[HOST_NAME_MAX + 1];

	if (gethostname(name, sizeof(name)) < 0)
		return err_set(err, ERR_INVALID, -errno,
			       "the host name cannot be read (%s); give --node-name",
			       strerror(errno));
	for (char *c = name; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	s->node_name = xstrdup(name);
	return 0;
}

int settings_complete(struct settings *s, struct err *err)
{
	if (!s->node_name && take_host_name(s, err) < 0)
		return err->code;
	if (!names_valid_object(s->node_name))
		return err_set(err, ERR_INVALID, -EINVAL,
			       "--node-name: not a node's name, which has lower-case letters, "
			       "digits, '-' and '.', 253 at most: '%s'",
			       s->node_name);
	if (!s->helper)
		s->helper = helper_run_default_path();
	return 0;
}

struct scan_options settings_scan_options(const struct settings *s)
{
	return (struct scan_options){
		.inventory = { .node_name = s->node_name,
			       .show_bridges = s->show_bridges,
			       .show_hubs = s->show_hubs },
		.helper_path = s->helper,
		.sysfs_root = s->sysfs_root,
		.proc_root = s->proc_root,
		.pci_ids = s->pci_ids,
		.usb_ids = s->usb_ids,
		.deadline_ms = s->scan_deadline_ms,
	};
}
