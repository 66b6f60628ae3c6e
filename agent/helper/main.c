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
	"hostdev-helper: looks at the devices of this machine and changes them, for hostdev-agent\n"
	"\n"
	"  hostdev-helper scan [--sysfs-root DIR] [--proc-root DIR] [--node-address ADDRESS]\n"
	"                      [--state-dir DIR]\n"
	"      List the PCI functions, the USB devices, and what the host itself uses them for;\n"
	"      with --state-dir, the records of what was claimed.\n"
	"  hostdev-helper bind --group N --state-dir DIR [OPTION]... FUNCTION...\n"
	"      Move functions of one IOMMU group to their passthrough driver, all or none.\n"
	"  hostdev-helper release --group N|- --state-dir DIR [OPTION]... FUNCTION...\n"
	"      Give them back to the driver they had. \"-\" where the device has no group any more.\n"
	"  hostdev-helper open [--dev-root DIR] /dev/NODE\n"
	"      Open a character device once, so that the kernel loads its driver.\n"
	"  hostdev-helper plan-bind ..., hostdev-helper plan-release ...\n"
	"      Say what bind or release would do, and change nothing.\n"
	"  hostdev-helper mdev-create --state-dir DIR [OPTION]... parent=NAME type=ID owner=WORD\n"
	"                             uuid=UUID...\n"
	"      Make mediated devices of one type on one parent, each with a record that OWNER made it.\n"
	"  hostdev-helper mdev-remove --state-dir DIR [OPTION]... parent=NAME owner=WORD uuid=UUID...\n"
	"      Remove those of them that OWNER made by the record, and that nobody holds.\n"
	"  hostdev-helper vgpu-look [--sysfs-root DIR] ADDRESS...\n"
	"      Say which vGPU these virtual functions of NVIDIA cards are, and can be.\n"
	"  hostdev-helper vgpu-set --state-dir DIR [OPTION]... address=ADDRESS type=N\n"
	"      Make one of them a vGPU of the type with that number, 0: none.\n"
	"  hostdev-helper vfs --state-dir DIR [OPTION]... address=ADDRESS id=ID [serial=SERIAL]\n"
	"                     [count=N] [autoprobe=0|1] [vf=INDEX [mac=MAC] [vlan=N] [qos=N]\n"
	"                     [trust=0|1] [spoofcheck=0|1]]...\n"
	"      Give a physical function N virtual ones (by way of 0; without count= as many as there\n"
	"      are), with the drivers' autoprobe as said while they are made, and set what is said.\n"
	"\n"
	"a FUNCTION is these words, in this order or another behind the first\n"
	"  address=0000:01:00.0    where it is\n"
	"  id=8086:10d3            vendor and device; another one there is refused\n"
	"  serial=00-1b-21-...     its serial number, if it has one\n"
	"  identity=slot=3,...     what else tells it from others of its model, if anything\n"
	"  driver=vfio-pci         the passthrough driver\n"
	"  native=e1000e           the driver it goes back to; \"native=\" none; without it the\n"
	"                          kernel picks one\n"
	"  claim=NAME uid=UID      who claims it\n"
	"  release=none            a release leaves it without driver\n"
	"  allow-unknown=1         bind it even if the agent cannot see whether the host uses it\n"
	"\n"
	"options\n"
	"  --sysfs-root DIR        a sysfs tree (default /sys)\n"
	"  --proc-root DIR         the proc tree of the same machine (default: DIR/../proc of the\n"
	"                          sysfs tree; scan does without one, and then leaves out the\n"
	"                          host's use of devices)\n"
	"  --dev-root DIR          its device nodes (default /dev)\n"
	"  --node-address ADDRESS  the node's own address; its interface counts as the host's\n"
	"  --state-dir DIR         where records are kept; it need not be there yet\n"
	"  --group N               the number of the IOMMU group\n"
	"  --cancel-fd N           bind: change nothing if this descriptor is hung up before the\n"
	"                          first change\n"
	"  --help, --version\n"
	"\n"
	"Output is one JSON object on each line; the last one of bind and release says how it ended.\n"
	"Exit status: 0 done, or not done as the last line says; 1 not possible; 2 wrong usage.\n";

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
	{ "vgpu-set",     command_vgpu_set },
	{ "vfs",          command_vfs },
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
