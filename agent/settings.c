#include "agent/settings.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "agent/hami/hami_hook.h"
#include "agent/nvidia/nvidia_type.h"
#include "agent/process/helper_run.h"
#include "api/names.h"
#include "base/err.h"
#include "base/mem.h"

enum {
	DRIVER_NAME_MAX = 63, /* as in the schema of spec.driver */
	CLASS_DIGITS_MIN = 2,
	CLASS_DIGITS_MAX = 6,
};

/* In the order of enum out_format. */
static const char *const outputs[] = { "table", "wide", "json", "yaml", NULL };

static const char *const mig_strategies[] = { "none", "single", "mixed", NULL };

enum label_mode { LABELS_AUTO, LABELS_OFF };

/* In its order. */
static const char *const label_modes[] = { "auto", "off", NULL };

/* In the order of enum hami_form. */
static const char *const hami_schedulers[] = { "auto", "2.7", "2.8", NULL };
/* Of --amd-resource-naming; mixed is 1. */
static const char *const amd_namings[] = { "single", "mixed", NULL };
/* In the order of enum registration_mode. */
static const char *const registrations[] = { "auto", "direct", "registry", NULL };
/* In the order of enum cdi_mode. */
static const char *const cdi_modes[] = { "auto", "on", "off", NULL };

/* clang-format off */
#define AT(member) .offset = offsetof(struct settings, member)

#define NODE_ROWS \
	{ .name = "node-name", .type = OPTION_STRING, AT(node_name), .env = "NODE_NAME", \
	  .argument = "NAME", .group = "Node", \
	  .help = "Name of the node that this machine is. Without it, the host name in lower " \
		  "case." }, \
	{ .name = "show-bridges", .type = OPTION_BOOL, AT(show_bridges), \
	  .help = "List PCI bridges and ports (class 0604), too." }, \
	{ .name = "show-hubs", .type = OPTION_BOOL, AT(show_hubs), \
	  .help = "List USB hubs, too." }, \
	{ .name = "sysfs-root", .type = OPTION_STRING, AT(sysfs_root), .argument = "DIR", \
	  .help = "Where the kernel's sysfs is mounted, if not at /sys; or a copy of another " \
		  "machine's." }, \
	{ .name = "proc-root", .type = OPTION_STRING, AT(proc_root), .argument = "DIR", \
	  .help = "Where the host's proc is mounted, if not beside its sysfs (/proc, or proc " \
		  "beside --sysfs-root)." }, \
	{ .name = "state-dir", .type = OPTION_STRING, AT(state_dir), .argument = "DIR", \
	  .fallback = "/var/lib/hostdev", \
	  .help = "Folder for the records of bound devices and their former drivers. It must " \
		  "survive restarts of the agent and reboots." }, \
	{ .name = "pci-ids", .type = OPTION_STRING, AT(pci_ids), .argument = "FILE", \
	  .help = "The list of PCI names, if not in its usual place." }, \
	{ .name = "usb-ids", .type = OPTION_STRING, AT(usb_ids), .argument = "FILE", \
	  .help = "The list of USB names, if not in its usual place." }, \
	{ .name = "helper", .type = OPTION_STRING, AT(helper), .argument = "FILE", \
	  .help = "The program hostdev-helper, if not beside this one; hostdev-names is beside " \
		  "it." }, \
	{ .name = "scan-deadline", .type = OPTION_DURATION, AT(scan_deadline_ms), \
	  .fallback = "30s", .min = 100, .argument = "TIME", \
	  .help = "How long one scan of the devices may take before it counts as stuck." }

#define CLAIM_ROWS \
	{ .name = "vfio-driver", .type = OPTION_LIST, AT(vfio_drivers), .argument = "NAME", \
	  .group = "Claims", \
	  .help = "A driver that a claim may name (spec.driver) in addition to vfio-pci, such as " \
		  "mlx5_vfio_pci." }, \
	{ .name = "release-without-driver", .type = OPTION_LIST, AT(driverless), \
	  .argument = "CLASS", \
	  .help = "Leave devices whose PCI class begins with these digits without a driver after " \
		  "their claim, so that the host does not read what is on them; 01 is storage. A " \
		  "claim can request the same (spec.release)." }, \
	{ .name = "transition-deadline", .type = OPTION_DURATION, AT(transition_deadline_ms), \
	  .fallback = "4s", .min = 100, .argument = "TIME", \
	  .help = "How long one step of a driver change may take before the claim shows Stuck; " \
		  "the steps before the first change may take four times as long. If the step " \
		  "still uses a CPU, or the machine is busy, the limit is up to eight times as " \
		  "long. Nothing is undone after it, because the kernel cannot be interrupted." }, \
	{ .name = "dev-root", .type = OPTION_STRING, AT(dev_root), .argument = "DIR", \
	  .help = "Where the host's device nodes are, if not in /dev." }

#define GPU_ROWS \
	{ .name = "sriov-manage", .type = OPTION_STRING, AT(sriov_manage), .argument = "FILE", \
	  .fallback = "/usr/lib/nvidia/sriov-manage", .group = "NVIDIA graphics cards", \
	  .help = "The command of NVIDIA's vGPU driver that makes and removes the virtual " \
		  "functions of a card, called with -e or -d and its address. Empty: the agent " \
		  "writes the kernel's sriov_numvfs instead, which is enough for some drivers." }, \
	{ .name = "nvidia-smi", .type = OPTION_STRING, AT(nvidia_smi), .argument = "FILE", \
	  .fallback = "/usr/bin/nvidia-smi", \
	  .help = "NVIDIA's nvidia-smi, which divides a card into MIG instances." }, \
	{ .name = "gpu-deadline", .type = OPTION_DURATION, AT(gpu_deadline_ms), .fallback = "1m", \
	  .min = 100, .argument = "TIME", \
	  .help = "How long one run of these commands may take before it counts as stuck. It is " \
		  "not ended then." }

#define NVIDIA_ROWS \
	{ .name = "nvidia", .type = OPTION_BOOL, AT(nvidia), .group = "GPUs for containers", \
	  .help = "Offer the GPUs of NVIDIA's driver to containers as nvidia.com/gpu, as " \
		  "NVIDIA's device plugin does. While another plugin offers them on the node, " \
		  "nothing is offered." }, \
	{ .name = "nvidia-driver-root", .type = OPTION_STRING, AT(nvidia_driver_root), \
	  .env = "NVIDIA_DRIVER_ROOT", .argument = "DIR", \
	  .help = "Where the host's file system with libnvidia-ml.so.1 is mounted, if the " \
		  "library is not where the dynamic loader finds it." }, \
	{ .name = "nvidia-config-file", .type = OPTION_STRING, AT(nvidia_config_file), \
	  .env = "CONFIG_FILE", .argument = "FILE", \
	  .help = "A configuration file of NVIDIA's device plugin, version v1, with " \
		  "time-slicing. The agent follows its changes." }, \
	{ .name = "nvidia-config-dir", .type = OPTION_STRING, AT(nvidia_config_dir), \
	  .argument = "DIR", \
	  .help = "A folder with such files, of which the Node's label " \
		  "nvidia.com/device-plugin.config names one. Without the label: the file " \
		  "default, else the only file, else none." }, \
	{ .name = "nvidia-mig-strategy", .type = OPTION_STRING, AT(nvidia_mig), \
	  .env = "MIG_STRATEGY", .argument = "STRATEGY", .choices = mig_strategies, \
	  .help = "What is offered of GPUs in MIG mode: none (the whole GPU), single (their MIG " \
		  "devices as nvidia.com/gpu), mixed (their MIG devices by profile). If not set: " \
		  "as the configuration file says, else none." }, \
	{ .name = "nvidia-device-list", .type = OPTION_LIST, AT(nvidia_lists), \
	  .env = "DEVICE_LIST_STRATEGY", .argument = "WAY", \
	  .help = "How the container runtime is told which GPUs a container has: envvar, " \
		  "volume-mounts, cdi-annotations, cdi-cri. If not set: as the configuration " \
		  "file says, else envvar. CDI devices are nvidia.com/gpu=UUID; the node must " \
		  "have their CDI file." }, \
	{ .name = "nvidia-ctk", .type = OPTION_STRING, AT(nvidia_ctk), .argument = "FILE", \
	  .help = "NVIDIA's nvidia-ctk, which the agent runs to write /var/run/cdi/nvidia.yaml " \
		  "if CDI devices are used and no CDI file describes a GPU. If not set: the " \
		  "agent writes none." }, \
	{ .name = "nvidia-labels", .type = OPTION_ENUM, AT(nvidia_labels), \
	  .choices = label_modes, .fallback = "auto", .argument = "MODE", \
	  .help = "The Node's labels of GPU Feature Discovery: auto (the agent writes them, " \
		  "unless GPU Feature Discovery does) or off." }, \
	{ .name = "nvidia-ignored-xids", .type = OPTION_STRING, AT(nvidia_ignored_xids), \
	  .env = "DP_DISABLE_HEALTHCHECKS", .argument = "LIST", \
	  .help = "Xids that leave a GPU healthy, in addition to 13, 31, 43, 45, 68 and 109; all " \
		  "or xids: every Xid does, and the GPUs are not watched." }, \
	{ .name = "nvidia-fatal-xids", .type = OPTION_STRING, AT(nvidia_fatal_xids), \
	  .env = "DP_ENABLE_HEALTHCHECKS", .argument = "LIST", \
	  .help = "Xids that make a GPU unhealthy although it is among those; all: every Xid." }

#define HAMI_ROWS \
	{ .name = "hami", .type = OPTION_BOOL, AT(hami), \
	  .help = "Be the node side of HAMi, in place of its device plugin: divide the GPUs of " \
		  "NVIDIA's driver among containers as HAMi's scheduler decides. Includes " \
		  "--nvidia." }, \
	{ .name = "hami-scheduler", .type = OPTION_ENUM, AT(hami_form), \
	  .choices = hami_schedulers, .fallback = "auto", .argument = "VERSION", \
	  .help = "HAMi's scheduler: 2.7 (and earlier), 2.8 (and later), or auto: as the Node's " \
		  "annotation of GPUs is written already, else 2.8." }, \
	{ .name = "hami-config-file", .type = OPTION_STRING, AT(hami_config_file), \
	  .argument = "FILE", \
	  .help = "device-config.yaml of HAMi's scheduler. The agent follows its changes." }, \
	{ .name = "hami-node-config-file", .type = OPTION_STRING, AT(hami_node_config_file), \
	  .argument = "FILE", \
	  .help = "config.json of HAMi's device plugin, whose entry for this node goes before " \
		  "that file." }, \
	{ .name = "hami-hook-path", .type = OPTION_STRING, AT(hami_hook), .argument = "DIR", \
	  .fallback = HAMI_HOOK, \
	  .help = "Where HAMi-core is on the host: DIR/vgpu/libvgpu.so and " \
		  "DIR/vgpu/ld.so.preload." }

#define DRM_ROWS \
	{ .name = "amd", .type = OPTION_BOOL, AT(amd), \
	  .help = "Offer the GPUs of AMD's driver to containers as amd.com/gpu, as AMD's device " \
		  "plugin does. While that plugin runs on the node, nothing is offered." }, \
	{ .name = "amd-resource-naming", .type = OPTION_ENUM, AT(amd_naming), \
	  .choices = amd_namings, .fallback = "single", .argument = "NAMING", \
	  .help = "single offers the parts of a divided GPU as amd.com/gpu, too; mixed names " \
		  "them by how it is divided, such as amd.com/cpx_nps4." }, \
	{ .name = "intel", .type = OPTION_BOOL, AT(intel), \
	  .help = "Offer the GPUs of Intel's drivers to containers as gpu.intel.com/i915 and " \
		  "gpu.intel.com/xe, as Intel's device plugin does. While that plugin runs on " \
		  "the node, nothing is offered." }, \
	{ .name = "intel-shared-dev-num", .type = OPTION_U64, AT(intel_shares), \
	  .fallback = "1", .min = 1, .argument = "COUNT", \
	  .help = "How many containers may have one GPU of Intel at a time; 1000 at most." }

#define OFFERS_ROWS \
	{ .name = "device-plugins", .type = OPTION_BOOL, AT(device_plugins), .fallback = "true", \
	  .group = "Kubelet", \
	  .help = "Offer claimed devices to the node's kubelet, which allocates them to pods. If " \
		  "no kubelet runs, the agent waits for one." }, \
	{ .name = "kubelet-dir", .type = OPTION_STRING, AT(kubelet_dir), .argument = "DIR", \
	  .fallback = "/var/lib/kubelet", \
	  .help = "The kubelet's folder. Its sockets are in device-plugins, plugins_registry and " \
		  "pod-resources below it." }, \
	{ .name = "cdi-dir", .type = OPTION_STRING, AT(cdi_dir), .argument = "DIR", \
	  .fallback = "/var/run/cdi", \
	  .help = "Where the container runtime reads the CDI files of ResourceClaims." }, \
	{ .name = "host-root", .type = OPTION_STRING, AT(host_root), .argument = "DIR", \
	  .help = "Where the host's file system is mounted, if not at /; used for the sockets in " \
		  "the HostDeviceConfig and the CDI files of GPUs." }, \
	{ .name = "registration", .type = OPTION_ENUM, AT(registration), .choices = registrations, \
	  .fallback = "auto", .argument = "WAY", \
	  .help = "How resources are registered with the kubelet: direct calls its registration " \
		  "socket, registry puts sockets into plugins_registry, auto is registry if that " \
		  "folder exists, else direct." }, \
	{ .name = "cdi", .type = OPTION_ENUM, AT(cdi), .choices = cdi_modes, .fallback = "auto", \
	  .argument = "MODE", \
	  .help = "Whether the node's container runtime adds CDI devices to containers, without " \
		  "which nothing is offered by DRA: on, off, or auto, which is on for containerd " \
		  "2 and CRI-O 1.23 or newer. containerd 1.7 has CDI if its configuration says " \
		  "so." }

static const struct option_row run_rows[] = {
	PROGRAM_LOG_ROWS(struct settings, common),
	PROGRAM_CLUSTER_ROWS(struct settings, common, "127.0.0.1:9807"),
	NODE_ROWS,
	{ .name = "rescan-interval", .type = OPTION_DURATION, AT(rescan_interval_ms),
	  .fallback = "10m", .argument = "TIME",
	  .help = "Scan the devices at least this often, even without uevents from the kernel. "
		  "0 disables it. If uevents cannot be received, it is at most one minute." },
	CLAIM_ROWS,
	GPU_ROWS,
	NVIDIA_ROWS,
	HAMI_ROWS,
	DRM_ROWS,
	OFFERS_ROWS,
};

static const struct option_row inspect_rows[] = {
	{ .name = "output", .letter = 'o', .type = OPTION_ENUM, AT(output), .choices = outputs,
	  .fallback = "table", .argument = "FORMAT", .group = "Output",
	  .help = "The output format. On a terminal, table is cut to its width; wide has more "
		  "columns and is not cut. yaml and json print one v1 List of the objects that "
		  "the agent would apply." },
	NODE_ROWS,
	PROGRAM_LOG_ROWS(struct settings, common),
};

static const struct option_row plan_rows[] = {
	{ .name = "include-iommu-group", .type = OPTION_BOOL, AT(include_group), .group = "Claim",
	  .help = "Assume spec.includeIOMMUGroup: true in the claims." },
	{ .name = "driver", .type = OPTION_STRING, AT(driver), .argument = "NAME",
	  .help = "Assume this driver in spec.driver of the claims." },
	{ .name = "release", .type = OPTION_BOOL, AT(release),
	  .help = "Show what deleting the claims would do." },
	CLAIM_ROWS,
	NODE_ROWS,
	PROGRAM_LOG_ROWS(struct settings, common),
};
/* clang-format on */

const struct options_prose settings_run_prose = {
	.program = "hostdev-agent",
	.summary = "publish the devices of a node in the Kubernetes API and offer them to pods",
	.synopsis = " hostdev-agent [FLAG]...\n hostdev-agent inspect [FLAG]...\n"
		    " hostdev-agent plan [FLAG]... CLAIM|DEVICE|ADDRESS...",
	.description =
		"Keeps one PCIDevice per PCI function and one USBDevice per USB device of this "
		"node in the API group devices.harvesterhci.io/v1beta1, and follows the kernel: a "
		"device that is plugged in, removed or bound to another driver shows within a "
		"tenth of a second. It writes nothing while nothing changes, and does not write "
		"objects of other nodes. Carries out the node's claims: binds claimed devices to "
		"vfio-pci, offers them to the kubelet, and returns them to their drivers when the "
		"claims are deleted.\n\n"
		"Two commands need no cluster: `hostdev-agent inspect` prints the objects that the "
		"agent would publish, `hostdev-agent plan` prints what a claim would do. Each has "
		"its own --help.",
	.examples = "  hostdev-agent --node-name node1 --kubeconfig ~/.kube/config\n"
		    "  hostdev-agent inspect -o wide",
	.files = "  hostdev-helper   beside this program; it alone opens devices' files in /sys\n"
		 "  hostdev-names    beside hostdev-helper; looks up the names of devices\n"
		 "  hostdev-nvml     beside hostdev-helper; reads and watches NVIDIA GPUs "
		 "(--nvidia)\n"
		 "  /var/lib/hostdev/devices\n"
		 "                   one record per bound device (--state-dir)",
};

const struct options_prose settings_inspect_prose = {
	.program = "hostdev-agent inspect",
	.summary = "print the devices of this machine as the agent would publish them",
	.synopsis = "hostdev-agent inspect [FLAG]...",
	.description =
		"Scans the machine once and prints its PCI functions and USB devices, "
		"with the driver, the IOMMU group, and whether each could be claimed and why "
		"not. Needs no cluster and changes nothing.",
	.examples = "  hostdev-agent inspect\n"
		    "  hostdev-agent inspect -o wide\n"
		    "  hostdev-agent inspect -o json --node-name node1 | jq -r "
		    "'.items[].metadata.name'",
};

const struct options_prose settings_plan_prose = {
	.program = "hostdev-agent plan",
	.summary = "print what claims would do, and change nothing",
	.synopsis = "hostdev-agent plan [FLAG]... CLAIM|DEVICE|ADDRESS...",
	.description =
		"Shows whether claims of devices of this machine would be carried out, and if not, "
		"why; which functions would change their driver, in which steps, and what uses "
		"them. Name all claims that should exist together, such as those of one IOMMU "
		"group. Needs no cluster.\n\n"
		"Exit status: 0 all would be carried out, 1 not all, 2 wrong usage.",
	.examples = "  hostdev-agent plan 0000:04:00.0\n"
		    "  hostdev-agent plan --include-iommu-group node1-000004000\n"
		    "  hostdev-agent plan --release node1-000004000",
};

static void add_rows(struct settings_rows *to, const struct option_row *rows, size_t len)
{
	assert(to->len + len <= ARRAY_LEN(to->items));
	memcpy(&to->items[to->len], rows, len * sizeof(*rows));
	to->len += len;
}

static bool has_row(const struct settings_rows *rows, const char *name)
{
	for (size_t i = 0; i < rows->len; i++) {
		if (strcmp(rows->items[i].name, name) == 0)
			return true;
	}
	return false;
}

/* The keys of another command, which may be in the file, and have no effect here. */
static void add_file_keys(struct settings_rows *to, const struct option_row *rows, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		const struct option_row key = { .name = rows[i].name,
						.type = rows[i].type,
						.offset = rows[i].offset,
						.choices = rows[i].choices,
						.file_only = true };

		if (!has_row(to, key.name))
			add_rows(to, &key, 1);
	}
}

void settings_rows(enum settings_command command, struct settings_rows *ret_rows)
{
	static const struct {
		const struct option_row *rows;
		size_t len;
	} own[] = {
		[SETTINGS_RUN] = { run_rows, ARRAY_LEN(run_rows) },
		[SETTINGS_INSPECT] = { inspect_rows, ARRAY_LEN(inspect_rows) },
		[SETTINGS_PLAN] = { plan_rows, ARRAY_LEN(plan_rows) },
	};

	ret_rows->len = 0;
	add_rows(ret_rows, own[command].rows, own[command].len);
	add_file_keys(ret_rows, run_rows, ARRAY_LEN(run_rows));
	add_file_keys(ret_rows, inspect_rows, ARRAY_LEN(inspect_rows));
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

/* As the kernel names its drivers, and no path. */
static bool is_driver_name(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_-";
	size_t len = strlen(name);

	return len > 0 && len <= DRIVER_NAME_MAX && strspn(name, allowed) == len;
}

static int check_drivers(const struct settings *s, struct err *err)
{
	for (size_t i = 0; i < s->vfio_drivers.len; i++) {
		if (!is_driver_name(s->vfio_drivers.items[i]))
			return err_set(err, ERR_INVALID, -EINVAL,
				       "--vfio-driver: not a driver's name, which has letters, "
				       "digits, '_' and '-', %d at most: '%s'",
				       DRIVER_NAME_MAX, s->vfio_drivers.items[i]);
	}
	return 0;
}

static int check_classes(const struct settings *s, struct err *err)
{
	for (size_t i = 0; i < s->driverless.len; i++) {
		const char *class_code = s->driverless.items[i];
		size_t len = strlen(class_code);

		if (len < CLASS_DIGITS_MIN || len > CLASS_DIGITS_MAX ||
		    strspn(class_code, "0123456789abcdef") != len)
			return err_set(
				err, ERR_INVALID, -EINVAL,
				"--release-without-driver: not the beginning of a PCI class, "
				"which has %d to %d lower-case hexadecimal digits, such as 01 "
				"or 0108: '%s'",
				CLASS_DIGITS_MIN, CLASS_DIGITS_MAX, class_code);
	}
	return 0;
}

static int check_nvidia(const struct settings *s, struct err *err)
{
	enum nvidia_mig_strategy mig;

	if (s->nvidia_mig && !nvidia_mig_strategy_from_text(s->nvidia_mig, &mig))
		return err_set(err, ERR_INVALID, -EINVAL,
			       "--nvidia-mig-strategy: not none, single or mixed: '%s'",
			       s->nvidia_mig);
	if (s->nvidia_config_file && s->nvidia_config_dir)
		return err_set(err, ERR_INVALID, -EINVAL,
			       "--nvidia-config-file and --nvidia-config-dir: set one of them");
	for (size_t i = 0; i < s->nvidia_lists.len; i++) {
		if (!nvidia_list_from_text(s->nvidia_lists.items[i]))
			return err_set(err, ERR_INVALID, -EINVAL,
				       "--nvidia-device-list: not envvar, volume-mounts, "
				       "cdi-annotations or cdi-cri: '%s'",
				       s->nvidia_lists.items[i]);
	}
	return 0;
}

static int check_hami(struct settings *s, struct err *err)
{
	if (!s->hami)
		return 0;
	if (s->nvidia_config_file || s->nvidia_config_dir)
		return err_set(
			err, ERR_INVALID, -EINVAL,
			"--hami and a configuration file of NVIDIA's device plugin: set one of "
			"them");
	if (s->hami_hook && (s->hami_hook[0] != '/' || strlen(s->hami_hook) > HAMI_HOOK_MAX))
		return err_set(
			err, ERR_INVALID, -EINVAL,
			"--hami-hook-path: not an absolute path of at most %d bytes: '%.80s'",
			HAMI_HOOK_MAX, s->hami_hook);
	s->nvidia = true;
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
	if (s->intel_shares > DRM_SHARES_MAX)
		return err_set(err, ERR_INVALID, -EINVAL, "--intel-shared-dev-num: at most %d",
			       DRM_SHARES_MAX);
	if (check_drivers(s, err) < 0 || check_classes(s, err) < 0 || check_nvidia(s, err) < 0 ||
	    check_hami(s, err) < 0)
		return err->code;
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
		.dev_root = s->dev_root,
		.state_dir = s->state_dir,
		.drm = s->amd || s->intel,
		.pci_ids = s->pci_ids,
		.usb_ids = s->usb_ids,
		.deadline_ms = s->scan_deadline_ms,
	};
}

static struct helper_place helper_place(const struct settings *s)
{
	return (struct helper_place){
		.path = s->helper,
		.state_dir = s->state_dir,
		.sysfs_root = s->sysfs_root,
		.proc_root = s->proc_root,
		.dev_root = s->dev_root,
	};
}

struct this_node_options settings_node_options(const struct settings *s)
{
	return (struct this_node_options){
		.helper = helper_place(s),
		.deadline_ms = s->transition_deadline_ms,
		.kubelet_dir = s->kubelet_dir,
		.host_root = s->host_root,
		.vfio_drivers = settings_vfio_drivers(s),
		.cdi = (enum cdi_mode)s->cdi,
	};
}

struct binder_options settings_binder_options(const struct settings *s)
{
	return (struct binder_options){
		.helper = helper_place(s),
		.deadline_ms = s->transition_deadline_ms,
	};
}

struct offers_options settings_offers_options(const struct settings *s)
{
	return (struct offers_options){
		.off = !s->device_plugins,
		.registration = (enum registration_mode)s->registration,
		.cdi_dir = s->cdi_dir,
	};
}

struct gpu_options settings_gpu_options(const struct settings *s)
{
	return (struct gpu_options){
		.sriov_manage = s->sriov_manage,
		.nvidia_smi = s->nvidia_smi,
		.deadline_ms = s->gpu_deadline_ms,
	};
}

struct nvidia_options settings_nvidia_options(const struct settings *s)
{
	struct nvidia_options options = {
		.on = s->nvidia,
		.chosen = s->hami,
		.driver_root = s->nvidia_driver_root,
		.config_file = s->nvidia_config_file,
		.config_dir = s->nvidia_config_dir,
		.mig = s->nvidia_mig,
		.ctk = s->nvidia_ctk,
		.ignored_xids = s->nvidia_ignored_xids,
		.fatal_xids = s->nvidia_fatal_xids,
		.no_labels = s->nvidia_labels == LABELS_OFF,
	};

	for (size_t i = 0; i < s->nvidia_lists.len; i++)
		options.lists |= nvidia_list_from_text(s->nvidia_lists.items[i]);
	return options;
}

struct hami_options settings_hami_options(const struct settings *s)
{
	return (struct hami_options){
		.on = s->hami,
		.form = (enum hami_form)s->hami_form,
		.config_file = s->hami_config_file,
		.node_config_file = s->hami_node_config_file,
		.hook = s->hami_hook,
	};
}

struct drm_options settings_drm_options(const struct settings *s)
{
	return (struct drm_options){
		.amd = s->amd,
		.intel = s->intel,
		.amd_mixed = s->amd_naming == 1,
		.intel_shares = s->intel_shares,
	};
}

struct json_strs settings_driverless(const struct settings *s)
{
	return (struct json_strs){ .items = s->driverless.items, .len = s->driverless.len };
}

struct json_strs settings_vfio_drivers(const struct settings *s)
{
	return (struct json_strs){ .items = s->vfio_drivers.items, .len = s->vfio_drivers.len };
}
