#include <errno.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "agent/helper/command.h"
#include "agent/helper/sys/kernel.h"
#include "agent/helper/vf/vf_change.h"
#include "agent/helper/vf/vf_job.h"
#include "agent/helper/vf/vf_link.h"
#include "base/err.h"
#include "base/mem.h"

/* The network interfaces are the running kernel's, whatever tree is looked at. */
static bool is_sysfs(int sysfs_fd)
{
	struct statfs fs;

	return fstatfs(sysfs_fd, &fs) == 0 && fs.f_type == SYSFS_MAGIC;
}

static int run_job(const struct command *command, const struct vf_job *job, struct err *err)
{
	auto_free char *beside = xasprintf("%s/../proc", command->sysfs_root);
	struct kernel kernel = kernel_running();
	struct vf_links links = vf_links_running();
	auto_close int sysfs_fd = -1;
	auto_close int proc_fd = -1;
	auto_close int dev_fd = -1;
	struct vf_change_options options;

	if (command_open(command->sysfs_root, &sysfs_fd, err) < 0 ||
	    command_open(command->proc_root ? command->proc_root : beside, &proc_fd, err) < 0 ||
	    command_open(command->dev_root ? command->dev_root : "/dev", &dev_fd, err) < 0)
		return err->code;
	options = (struct vf_change_options){
		.sysfs_fd = sysfs_fd,
		.proc_fd = proc_fd,
		.dev_fd = dev_fd,
		.state_dir = command->state_dir,
		.node_address = command->node_address,
		.kernel = &kernel,
		.links = is_sysfs(sysfs_fd) ? &links : NULL,
		.out_fd = STDOUT_FILENO,
	};
	return vf_change_run(&options, job, err);
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
