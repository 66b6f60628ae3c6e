#include "agent/helper/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/helper/sys/report.h"
#include "agent/helper/sys/sysfs.h"
#include "base/err.h"
#include "base/mem.h"

int command_fail(int status, const struct err *err)
{
	(void)fprintf(stderr, "hostdev-helper: %s\n", err->msg);
	return status;
}

int command_finish(struct report *report)
{
	struct err err = { 0 };
	int r = report_print(report, STDOUT_FILENO, &err);

	if (r == 0 && report->failure.code < 0)
		err = report->failure;
	report_done(report);
	return err.code < 0 ? command_fail(EXIT_FAILURE, &err) : EXIT_SUCCESS;
}

int command_open(const char *path, int *ret_fd, struct err *err)
{
	int fd = sysfs_open_dir(AT_FDCWD, path);

	if (fd < 0)
		return err_set(err, ERR_RETRY, -errno, "open '%s': %s", path, strerror(errno));
	*ret_fd = fd;
	return 0;
}

/* Unlike a scan, a change does without none of the trees. */
int command_machine_open(const struct command *command, struct command_machine *machine,
			 struct err *err)
{
	auto_free char *beside = xasprintf("%s/../proc", command->sysfs_root);
	struct run_options *options = &machine->options;

	machine->kernel = kernel_running();
	*options = (struct run_options){
		.sysfs_fd = -1,
		.proc_fd = -1,
		.dev_fd = -1,
		.state_dir = command->state_dir,
		.node_address = command->node_address,
		.kernel = &machine->kernel,
		.out_fd = STDOUT_FILENO,
	};
	if (command_open(command->sysfs_root, &options->sysfs_fd, err) < 0 ||
	    command_open(command->proc_root ? command->proc_root : beside, &options->proc_fd, err) <
		    0 ||
	    command_open(command->dev_root ? command->dev_root : "/dev", &options->dev_fd, err) < 0)
		return err->code;
	return 0;
}

void command_machine_close(struct command_machine *machine)
{
	const int fds[] = { machine->options.sysfs_fd, machine->options.proc_fd,
			    machine->options.dev_fd };

	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		if (fds[i] >= 0)
			close(fds[i]);
	}
}
