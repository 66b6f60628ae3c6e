/*
 * hostdev-nvml: the child of the agent that talks to NVIDIA's library.
 *
 * A program of its own, because a call can block for as long as a failing card lets it: this
 * process can be killed, the agent not. Two roles, because a wait for events blocks as well.
 * Answers, events and problems go to standard output as one JSON object per line; what the library
 * itself prints goes to standard error.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/nvml/ask.h"
#include "agent/nvml/gpus.h"
#include "agent/nvml/nvml.h"
#include "agent/nvml/watch.h"
#include "base/err.h"
#include "base/standard_fds.h"

enum { STATUS_USAGE = 2 };

/* clang-format off */
static const char usage_text[] =
	"hostdev-nvml: read and watch NVIDIA GPUs by the driver's library, for hostdev-agent\n"
	"\n"
	"  hostdev-nvml ask [OPTION]...\n"
	"      Answer questions of standard input, one JSON object on each line:\n"
	"      {\"n\":1,\"ask\":\"inventory\"}\n"
	"      {\"n\":2,\"ask\":\"topology\"}\n"
	"      {\"n\":3,\"ask\":\"probe\",\"gpus\":[\"0000:3b:00.0\"]}\n"
	"      {\"n\":4,\"ask\":\"release\",\"gpus\":[\"0000:3b:00.0\"]}\n"
	"          turns persistence mode off and the drain state on, so that the card can be "
	"unbound\n"
	"      {\"n\":5,\"ask\":\"attach\",\"gpus\":[\"0000:3b:00.0\"],\"persistence\":true}\n"
	"          turns the drain state off, and persistence mode on\n"
	"  hostdev-nvml watch [OPTION]... [ADDRESS...]\n"
	"      Print the events of the GPUs at these PCI addresses (default: of all GPUs), until\n"
	"      standard input is closed\n"
	"\n"
	"options\n"
	"  --library FILE          the library (default libnvidia-ml.so.1)\n"
	"  --driver-root DIR       look for it in the folders of drivers below DIR\n"
	"  --help, --version\n"
	"\n"
	"Output is one JSON object on each line. An answer ends with a line \"end\" or "
	"\"failed\".\n"
	"Exit status: 0 done; 1 not possible; 2 wrong usage.\n";

static const struct option options[] = {
	{ "library",     required_argument, NULL, 'l' },
	{ "driver-root", required_argument, NULL, 'r' },
	{ "help",        no_argument,       NULL, 'h' },
	{ "version",     no_argument,       NULL, 'v' },
	{ NULL,          0,                 NULL, 0   },
};
/* clang-format on */

static int usage_error(const char *word, const char *what)
{
	(void)fprintf(stderr, "hostdev-nvml: '%s' %s; see --help\n", word, what);
	return STATUS_USAGE;
}

/*
 * Without a driver, the library runs nvidia-modprobe and creates /dev/nvidiactl when it may. Both
 * are the administrator's to do, so this process, and what it starts, may not.
 */
static void give_up_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = { 0 };
	const uint32_t dropped = 1U << CAP_MKNOD | 1U << CAP_SYS_MODULE;

	/* What root executes gets no more than root has here. */
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_capget, &header, data) < 0)
		return;
	data[0].effective &= ~dropped;
	data[0].permitted &= ~dropped;
	data[0].inheritable &= ~dropped;
	(void)syscall(SYS_capset, &header, data);
}

/* A descriptor for our lines; standard output becomes standard error, for what the library
 * prints. */
static int own_output(void)
{
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	if (fd < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
		return -1;
	return fd;
}

static int take_addresses(char **args, struct gpu_addresses *addresses)
{
	for (; *args; args++) {
		if (!nvml_is_address(*args))
			return usage_error(*args, "is not a PCI address such as 0000:3b:00.0");
		if (addresses->len == NVML_GPUS_MAX)
			return usage_error(*args, "is one address too many");
		memcpy(addresses->items[addresses->len++], *args, strlen(*args) + 1);
	}
	return 0;
}

static int run_role(const char *role, char **args, const struct nvml_place *place)
{
	struct gpu_addresses addresses = { .len = 0 };
	int fd;
	int r;

	if (strcmp(role, "ask") != 0 && strcmp(role, "watch") != 0)
		return usage_error(role, "is neither ask nor watch");
	if (strcmp(role, "ask") == 0 && *args)
		return usage_error(*args, "is an argument, and ask takes none");
	r = take_addresses(args, &addresses);
	if (r != 0)
		return r;
	/* One that hangs in a call never sees that its input is closed, and would hold its GPU for
	 * good. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	give_up_capabilities();
	fd = own_output();
	if (fd < 0) {
		(void)fprintf(stderr, "hostdev-nvml: standard output: %s\n", strerror(errno));
		return EXIT_FAILURE;
	}
	if (strcmp(role, "ask") == 0)
		return ask_run(place, fd);
	return watch_run(place, &addresses, fd);
}

int main(int argc, char **argv)
{
	struct nvml_place place = { .file = "libnvidia-ml.so.1" };
	int c;

	standard_fds_open();
	/* A reader that is gone is an error of write, not the end of the process. */
	(void)signal(SIGPIPE, SIG_IGN);
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'l')
			place.file = optarg;
		else if (c == 'r')
			place.driver_root = optarg;
		else if (c == 'h')
			return fputs(usage_text, stdout) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
		else if (c == 'v')
			return puts("hostdev-nvml " HOSTDEV_VERSION) < 0 ? EXIT_FAILURE
									 : EXIT_SUCCESS;
		else
			return STATUS_USAGE; /* getopt has said why */
	}
	if (!argv[optind]) {
		(void)fputs("hostdev-nvml: a role is needed, ask or watch; see --help\n", stderr);
		return STATUS_USAGE;
	}
	return run_role(argv[optind], argv + optind + 1, &place);
}
