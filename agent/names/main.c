/*
 * hostdev-names: the short-lived child of the agent that looks names up in pci.ids and usb.ids.
 *
 * Apart from hostdev-helper, which is started far more often, because of what libpci needs to
 * start. Answers and problems go to standard output as one JSON object per line; what kept it from
 * running at all goes to standard error as one line. Exit status: 0 it ran, 1 it could not, 2 wrong
 * usage.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/helper/sys/report.h"
#include "agent/names/names.h"
#include "base/err.h"

enum {
	STATUS_USAGE = 2,
	LINE_MAX_LEN = 256,
};

/* clang-format off */
static const char usage_text[] =
	"hostdev-names: names devices by the lists of PCI and USB, for hostdev-agent\n"
	"\n"
	"  hostdev-names [OPTION]... [ID...]\n"
	"      Name the identifiers given, or those on standard input, one on each line:\n"
	"      pci:8086:10d3 pciclass:0200 usb:0627:0001 usbclass:03\n"
	"\n"
	"options\n"
	"  --pci-ids FILE          names of PCI (default /usr/share/misc/pci.ids)\n"
	"  --usb-ids FILE          names of USB (default /var/lib/usbutils/usb.ids, else\n"
	"                          /usr/share/misc/usb.ids)\n"
	"  --help, --version\n"
	"\n"
	"Output is one JSON object on each line.\n"
	"Exit status: 0 done; 1 not possible; 2 wrong usage.\n";

static const struct option options[] = {
	{ "pci-ids", required_argument, NULL, 'p' },
	{ "usb-ids", required_argument, NULL, 'u' },
	{ "help",    no_argument,       NULL, 'h' },
	{ "version", no_argument,       NULL, 'v' },
	{ NULL,      0,                 NULL, 0   },
};
/* clang-format on */

static int fail(int status, const struct err *err)
{
	(void)fprintf(stderr, "hostdev-names: %s\n", err->msg);
	return status;
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

static int look_up(char **args, const char *pci_ids, const char *usb_ids)
{
	struct names names = { 0 };
	struct report report = { 0 };
	struct err err = { 0 };
	int r;

	if (take_ids(args, &names, &err) < 0) {
		names_done(&names);
		return fail(STATUS_USAGE, &err);
	}
	names_find_pci(&names, pci_ids, &report);
	names_find_usb(&names, usb_ids, &report);
	names_write(&names, &report);
	names_done(&names);
	r = report_print(&report, STDOUT_FILENO, &err);
	report_done(&report);
	return r < 0 ? fail(EXIT_FAILURE, &err) : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	const char *pci_ids = "/usr/share/misc/pci.ids";
	const char *usb_ids = NULL;
	int c;

	/* A reader that is gone is an error of write, not the end of the process. */
	(void)signal(SIGPIPE, SIG_IGN);
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'p')
			pci_ids = optarg;
		else if (c == 'u')
			usb_ids = optarg;
		else if (c == 'h')
			return fputs(usage_text, stdout) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
		else if (c == 'v')
			return puts("hostdev-names " HOSTDEV_VERSION) < 0 ? EXIT_FAILURE
									  : EXIT_SUCCESS;
		else
			return STATUS_USAGE; /* getopt has said why */
	}
	return look_up(argv + optind, pci_ids, usb_ids ? usb_ids : default_usb_ids());
}
