#include <errno.h>
#include <stdlib.h>

#include "agent/helper/command.h"
#include "agent/helper/scan/scan.h"
#include "agent/helper/sys/report.h"
#include "base/err.h"
#include "base/mem.h"

int command_scan(const struct command *command, const char *verb, char **args)
{
	auto_free char *beside = xasprintf("%s/../proc", command->sysfs_root);
	const char *proc_root = command->proc_root ? command->proc_root : beside;
	auto_close int sysfs_fd = -1;
	auto_close int proc_fd = -1;
	auto_close int state_fd = -1;
	struct report report = { 0 };
	struct err err = { 0 };

	if (args[0]) {
		(void)err_set(&err, ERR_INVALID, -EINVAL, "%s takes no argument '%s'", verb,
			      args[0]);
		return command_fail(COMMAND_USAGE, &err);
	}
	if (command_open(command->sysfs_root, &sysfs_fd, &err) < 0)
		return command_fail(EXIT_FAILURE, &err);
	if (command_open(proc_root, &proc_fd, &err) < 0 && command->proc_root)
		return command_fail(EXIT_FAILURE, &err);
	/* Before the first claim there is no state directory. */
	if (command->state_dir && command_open(command->state_dir, &state_fd, &err) < 0 &&
	    err.code != -ENOENT)
		return command_fail(EXIT_FAILURE, &err);
	scan_run(&(struct scan_options){ sysfs_fd, proc_fd, state_fd, command->node_address },
		 &report);
	return command_finish(&report);
}
