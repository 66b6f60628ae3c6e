/*
 * hostdev-helper: the short-lived child of the agent that opens devices' files below /sys.
 *
 * One verb per run. Results and what was wrong with single devices go to standard output as one
 * JSON object per line; what kept the verb from running at all goes to standard error as one line.
 * Exit status: 0 the verb ran, 1 it could not, 2 wrong usage.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/helper/command.h"
#include "base/err.h"
#include "base/mem.h"

/* clang-format off */
static const char usage_text[] =
	"hostdev-helper: read and change the devices of this machine, for hostdev-agent\n"
	"\n"
	"  hostdev-helper scan [--sysfs-root DIR] [--proc-root DIR] [--node-address ADDRESS]\n"
	"                      [--state-dir DIR]\n"
	"      List the PCI functions, the USB devices, and what the host uses them for. With\n"
	"      --state-dir, also list the records of bound devices.\n"
	"  hostdev-helper bind --group N --state-dir DIR [OPTION]... FUNCTION...\n"
	"      Bind functions of one IOMMU group to their vfio driver, all of them or none.\n"
	"  hostdev-helper release --group N|- --state-dir DIR [OPTION]... FUNCTION...\n"
	"      Return them to their former driver. \"-\" if the device no longer has a group.\n"
	"  hostdev-helper plan-bind ..., hostdev-helper plan-release ...\n"
	"      Print what bind or release would do, and change nothing.\n"
	"  hostdev-helper open [--dev-root DIR] /dev/NODE\n"
	"      Open a character device once, so that the kernel loads its driver.\n"
	"  hostdev-helper mdev-create --state-dir DIR [OPTION]... parent=NAME type=ID owner=WORD\n"
	"                             uuid=UUID...\n"
	"      Create mediated devices of one type on one parent. Record OWNER for each.\n"
	"  hostdev-helper mdev-remove --state-dir DIR [OPTION]... parent=NAME owner=WORD "
	"uuid=UUID...\n"
	"      Remove those of them that have a record of OWNER and are not in use.\n"
	"  hostdev-helper vgpu-look [--sysfs-root DIR] ADDRESS...\n"
	"      Print the present and the possible vGPU types of virtual functions of NVIDIA "
	"cards.\n"
	"  hostdev-helper drm-look [--sysfs-root DIR]\n"
	"      Print the GPUs of the drivers amdgpu, i915 and xe, with their device nodes.\n"
	"  hostdev-helper vgpu-set --state-dir DIR [OPTION]... address=ADDRESS type=N\n"
	"      Set the vGPU type of a virtual function; 0 removes its vGPU.\n"
	"  hostdev-helper vfs --state-dir DIR [OPTION]... address=ADDRESS id=ID [serial=SERIAL]\n"
	"                     [count=N] [autoprobe=0|1] [vf=INDEX [mac=MAC] [vlan=N] [qos=N]\n"
	"                     [trust=0|1] [spoofcheck=0|1]]...\n"
	"      Set the number of virtual functions of a physical function, and their settings. To\n"
	"      change the number, all of them are removed first. Without count= the number stays.\n"
	"      autoprobe= decides whether drivers of the host bind the new functions.\n"
	"  hostdev-helper usb-rebind --state-dir DIR [OPTION]... port=PORT bus=N device=N\n"
	"                            [allow-unknown=1]\n"
	"      Unbind a USB device from its driver and bind it again, which ends all open "
	"descriptors of\n"
	"      its node in /dev/bus/usb. Not done to a device that the host uses.\n"
	"\n"
	"a FUNCTION is these words; address= comes first\n"
	"  address=0000:01:00.0    its address\n"
	"  id=8086:10d3            vendor and device; another device at the address is refused\n"
	"  serial=00-1b-21-...     its serial number, if it has one\n"
	"  identity=slot=3,...     what else distinguishes it from others of its model, if "
	"anything\n"
	"  driver=vfio-pci         the vfio driver\n"
	"  native=e1000e           the driver to which it returns; \"native=\" for none; without "
	"it the\n"
	"                          kernel chooses one\n"
	"  claim=NAME uid=UID      its claim\n"
	"  release=none            a release leaves it without a driver\n"
	"  allow-unknown=1         bind it even if the agent cannot see whether the host uses it\n"
	"\n"
	"options\n"
	"  --sysfs-root DIR        a sysfs tree (default /sys)\n"
	"  --proc-root DIR         the proc tree of the same machine (default: DIR/../proc of the\n"
	"                          sysfs tree). Without one, scan does not list how the host uses\n"
	"                          devices\n"
	"  --dev-root DIR          its device nodes (default /dev)\n"
	"  --node-address ADDRESS  the node's address; the host uses the interface with it\n"
	"  --state-dir DIR         folder of the records; it is created if it does not exist\n"
	"  --group N               the number of the IOMMU group\n"
	"  --cancel-fd N           bind: change nothing if this descriptor is closed at the other "
	"end\n"
	"                          before the first change\n"
	"  --help, --version\n"
	"\n"
	"Output is one JSON object on each line. The last object of bind and release is the "
	"result.\n"
	"Exit status: 0 done, or not done (see the last line); 1 not possible; 2 wrong usage.\n";

static const struct {
	const char *name;
	int (*run)(const struct command *command, const char *verb, char **args);
} verbs[] = {
	{ "scan",         command_scan },
	{ "bind",         command_transition },
	{ "release",      command_transition },
	{ "open",         command_open_node },
	{ "plan-bind",    command_transition },
	{ "plan-release", command_transition },
	{ "mdev-create",  command_mdev },
	{ "mdev-remove",  command_mdev },
	{ "vgpu-look",    command_vgpu_look },
	{ "drm-look",     command_drm_look },
	{ "vgpu-set",     command_vgpu_set },
	{ "vfs",          command_vfs },
	{ "usb-rebind",   command_usb_rebind },
};

static const struct {
	const char *name;
	size_t offset;
} fields[] = {
	{ "sysfs-root",   offsetof(struct command, sysfs_root) },
	{ "proc-root",    offsetof(struct command, proc_root) },
	{ "dev-root",     offsetof(struct command, dev_root) },
	{ "state-dir",    offsetof(struct command, state_dir) },
	{ "group",        offsetof(struct command, group) },
	{ "node-address", offsetof(struct command, node_address) },
	{ "cancel-fd",    offsetof(struct command, cancel_fd) },
};
/* clang-format on */

/* 0, or < 0 after getopt has printed what it does not understand. */
static int parse_options(int argc, char **argv, struct command *command)
{
	struct option options[ARRAY_LEN(fields) + 1] = { 0 };
	int at = 0;
	int r;

	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		options[i] = (struct option){ fields[i].name, required_argument, NULL, 0 };
	while ((r = getopt_long(argc, argv, "", options, &at)) == 0)
		*(const char **)(void *)((char *)command + fields[at].offset) = optarg;
	return r == -1 ? 0 : -EINVAL;
}

static int run_verb(int argc, char **argv)
{
	struct command command = { .sysfs_root = "/sys" };
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (strcmp(argv[1], verbs[i].name) != 0)
			continue;
		optind = 2; /* behind the verb */
		if (parse_options(argc, argv, &command) < 0)
			return COMMAND_USAGE;
		return verbs[i].run(&command, argv[1], argv + optind);
	}
	(void)err_set(&err, ERR_INVALID, -EINVAL, "'%s' is no verb; see --help", argv[1]);
	return command_fail(COMMAND_USAGE, &err);
}

int main(int argc, char **argv)
{
	/* A reader that is gone is an error of write, not the end of the process. */
	(void)signal(SIGPIPE, SIG_IGN);
	if (argc < 2) {
		(void)fputs("hostdev-helper: a verb is needed; see --help\n", stderr);
		return COMMAND_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0)
		return fputs(usage_text, stdout) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
	if (strcmp(argv[1], "--version") == 0)
		return puts("hostdev-helper " HOSTDEV_VERSION) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
	return run_verb(argc, argv);
}
