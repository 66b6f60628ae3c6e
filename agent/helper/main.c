/*
 * hostdev-helper: the short-lived child of the agent that opens devices' files below /sys.
 *
 * One verb per run. Results and what was wrong with single devices go to standard output as one
 * JSON object per line, written when all of it is known; what kept the verb from running at all goes
 * to standard error as one line. Exit status: 0 the verb ran, 1 it could not, 2 wrong usage.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/helper/names.h"
#include "agent/helper/report.h"
#include "agent/helper/scan.h"
#include "agent/helper/sysfs.h"
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"

enum { EXIT_USAGE = 2, LINE_MAX_LEN = 256 };

enum option_id { OPT_SYSFS = 256, OPT_PROC, OPT_ADDRESS, OPT_PCI_IDS, OPT_USB_IDS, OPT_HELP };

struct settings {
	const char *sysfs_root;
	const char *proc_root;
	const char *node_address;
	const char *pci_ids;
	const char *usb_ids;
};

static const char usage_text[] =
	"hostdev-helper: looks at the devices of this machine and changes them, for hostdev-agent\n"
	"\n"
	"  hostdev-helper scan [--sysfs-root DIR] [--proc-root DIR] [--node-address ADDRESS]\n"
	"      List the PCI functions, the USB devices, and what the host itself uses them for.\n"
	"  hostdev-helper names [--pci-ids FILE] [--usb-ids FILE] [ID...]\n"
	"      Name the identifiers given, or those on standard input, one on each line:\n"
	"      pci:8086:10d3 pciclass:0200 usb:0627:0001 usbclass:03\n"
	"\n"
	"options\n"
	"  --sysfs-root DIR        a sysfs tree (default /sys)\n"
	"  --proc-root DIR         the proc tree of the same machine (default: DIR/../proc of the\n"
	"                          sysfs tree; without one, the host's use of devices is left out)\n"
	"  --node-address ADDRESS  the node's own address; its interface counts as the host's\n"
	"  --pci-ids FILE          names of PCI (default /usr/share/misc/pci.ids)\n"
	"  --usb-ids FILE          names of USB (default /var/lib/usbutils/usb.ids, else\n"
	"                          /usr/share/misc/usb.ids)\n"
	"  --help, --version\n"
	"\n"
	"Output is one JSON object on each line. Exit status: 0 done, 1 not possible, 2 wrong usage.\n";

static int fail(int status, const struct err *err)
{
	(void)fprintf(stderr, "hostdev-helper: %s\n", err->msg);
	return status;
}

/* Write all of @text to standard output: a reader must never take a part for the whole. */
static int write_out(const char *text, size_t len, struct err *err)
{
	while (len > 0) {
		ssize_t n = write(STDOUT_FILENO, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, ERR_RETRY, -errno, "write the result: %s",
				       strerror(errno));
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

static int finish(struct report *report)
{
	struct err err = { 0 };
	int r;

	str_add_mem(&report->lines, str_cstr(&report->problems), report->problems.len);
	r = write_out(str_cstr(&report->lines), report->lines.len, &err);
	report_done(report);
	return r < 0 ? fail(EXIT_FAILURE, &err) : EXIT_SUCCESS;
}

static int run_scan(const struct settings *settings, char **args)
{
	auto_free char *beside = xasprintf("%s/../proc", settings->sysfs_root);
	const char *proc_root = settings->proc_root ? settings->proc_root : beside;
	auto_close int sysfs_fd = -1;
	auto_close int proc_fd = -1;
	struct report report = { 0 };
	struct err err = { 0 };

	if (args[0]) {
		(void)err_set(&err, ERR_INVALID, -EINVAL, "scan takes no argument '%s'", args[0]);
		return fail(EXIT_USAGE, &err);
	}
	sysfs_fd = sysfs_open_dir(AT_FDCWD, settings->sysfs_root);
	if (sysfs_fd < 0) {
		(void)err_set(&err, ERR_RETRY, -errno, "open '%s': %s", settings->sysfs_root,
			      strerror(errno));
		return fail(EXIT_FAILURE, &err);
	}
	proc_fd = sysfs_open_dir(AT_FDCWD, proc_root);
	if (proc_fd < 0 && settings->proc_root) {
		(void)err_set(&err, ERR_RETRY, -errno, "open '%s': %s", proc_root, strerror(errno));
		return fail(EXIT_FAILURE, &err);
	}
	scan_run(&(struct scan_options){ sysfs_fd, proc_fd, settings->node_address }, &report);
	return finish(&report);
}

static int read_ids(FILE *in, struct names *names, struct err *err)
{
	char line[LINE_MAX_LEN];

	while (fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\r\n")] = '\0';
		if (line[0] && names_add(names, line, err) < 0)
			return err->code;
	}
	if (ferror(in))
		return err_set(err, ERR_RETRY, -EIO, "read identifiers from standard input");
	return 0;
}

static int take_ids(char **args, struct names *names, struct err *err)
{
	if (!args[0])
		return read_ids(stdin, names, err);
	for (; *args; args++) {
		if (names_add(names, *args, err) < 0)
			return err->code;
	}
	return 0;
}

static const char *default_usb_ids(void)
{
	static const char first[] = "/var/lib/usbutils/usb.ids";

	return access(first, R_OK) == 0 ? first : "/usr/share/misc/usb.ids";
}

static int run_names(const struct settings *settings, char **args)
{
	struct names names = { 0 };
	struct report report = { 0 };
	struct err err = { 0 };

	if (take_ids(args, &names, &err) < 0) {
		names_done(&names);
		return fail(EXIT_USAGE, &err);
	}
	names_find_pci(&names, settings->pci_ids, &report);
	names_find_usb(&names, settings->usb_ids ? settings->usb_ids : default_usb_ids(), &report);
	names_write(&names, &report);
	names_done(&names);
	return finish(&report);
}

static const struct {
	const char *name;
	int (*run)(const struct settings *settings, char **args);
} verbs[] = {
	{ "scan", run_scan },
	{ "names", run_names },
};

/* clang-format off */
static const struct option options[] = {
	{ "sysfs-root",   required_argument, NULL, OPT_SYSFS },
	{ "proc-root",    required_argument, NULL, OPT_PROC },
	{ "node-address", required_argument, NULL, OPT_ADDRESS },
	{ "pci-ids",      required_argument, NULL, OPT_PCI_IDS },
	{ "usb-ids",      required_argument, NULL, OPT_USB_IDS },
	{ NULL, 0, NULL, 0 },
};
/* clang-format on */

/* 0, or < 0 after getopt has printed what it does not understand. */
static int parse_options(int argc, char **argv, struct settings *settings)
{
	int id;

	while ((id = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (id == OPT_SYSFS)
			settings->sysfs_root = optarg;
		else if (id == OPT_PROC)
			settings->proc_root = optarg;
		else if (id == OPT_ADDRESS)
			settings->node_address = optarg;
		else if (id == OPT_PCI_IDS)
			settings->pci_ids = optarg;
		else if (id == OPT_USB_IDS)
			settings->usb_ids = optarg;
		else
			return -EINVAL;
	}
	return 0;
}

static int run_verb(int argc, char **argv)
{
	struct settings settings = {
		.sysfs_root = "/sys",
		.pci_ids = "/usr/share/misc/pci.ids",
	};
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
		if (strcmp(argv[1], verbs[i].name) != 0)
			continue;
		optind = 2; /* behind the verb */
		if (parse_options(argc, argv, &settings) < 0)
			return EXIT_USAGE;
		return verbs[i].run(&settings, argv + optind);
	}
	(void)err_set(&err, ERR_INVALID, -EINVAL, "'%s' is no verb; see --help", argv[1]);
	return fail(EXIT_USAGE, &err);
}

int main(int argc, char **argv)
{
	/* A reader that is gone is an error of write, not the end of the process. */
	(void)signal(SIGPIPE, SIG_IGN);
	if (argc < 2) {
		(void)fputs("hostdev-helper: a verb is needed; see --help\n", stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0)
		return fputs(usage_text, stdout) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
	if (strcmp(argv[1], "--version") == 0)
		return puts("hostdev-helper " HOSTDEV_VERSION) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
	return run_verb(argc, argv);
}
