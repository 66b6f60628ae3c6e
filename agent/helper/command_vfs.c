#include <errno.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/vfs.h>

#include "agent/helper/command.h"
#include "agent/helper/vf/vf_change.h"
#include "agent/helper/vf/vf_job.h"
#include "agent/helper/vf/vf_link.h"
#include "base/err.h"

/* The network interfaces are the running kernel's, whatever tree is looked at. */
static bool is_sysfs(int sysfs_fd)
{
	struct statfs fs;

	return fstatfs(sysfs_fd, &fs) == 0 && fs.f_type == SYSFS_MAGIC;
}

static int run_job(const struct command *command, const struct vf_job *job, struct err *err)
{
	auto_machine struct command_machine machine;
	struct vf_links links = vf_links_running();

	if (command_machine_open(command, &machine, err) < 0)
		return err->code;
	return vf_change_run(&machine.options, is_sysfs(machine.options.sysfs_fd) ? &links : NULL,
			     job, err);
}

int command_vfs(const struct command *command, const char *verb, char **args)
{
	struct vf_job job = { 0 };
	struct err err = { 0 };
	int r;

	if (!command->state_dir)
		r = err_set(&err, ERR_INVALID, -EINVAL, "%s needs --state-dir", verb);
	else
		r = vf_job_parse(args, &job, &err);
	if (r < 0)
		return command_fail(COMMAND_USAGE, &err);
	r = run_job(command, &job, &err);
	vf_job_done(&job);
	return r < 0 ? command_fail(EXIT_FAILURE, &err) : EXIT_SUCCESS;
}
