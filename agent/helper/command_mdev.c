#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/helper/command.h"
#include "agent/helper/mdev/mdev_change.h"
#include "agent/helper/mdev/mdev_job.h"
#include "base/err.h"

static int run_job(const struct command *command, bool create, const struct mdev_job *job,
		   struct err *err)
{
	auto_machine struct command_machine machine;

	if (command_machine_open(command, &machine, err) < 0)
		return err->code;
	return create ? mdev_create(&machine.options, job, err)
		      : mdev_remove(&machine.options, job, err);
}

static int read_job(const struct command *command, const char *verb, bool create, char **args,
		    struct mdev_job *ret_job, struct err *err)
{
	if (!command->state_dir)
		return err_set(err, ERR_INVALID, -EINVAL, "%s needs --state-dir", verb);
	if (mdev_job_parse(args, ret_job, err) < 0)
		return -EINVAL;
	if (!create || ret_job->type)
		return 0;
	return err_set(err, ERR_INVALID, -EINVAL, "a word 'type=' is needed");
}

int command_mdev(const struct command *command, const char *verb, char **args)
{
	bool create = strcmp(verb, "mdev-create") == 0;
	struct mdev_job job = { 0 };
	struct err err = { 0 };
	int r = read_job(command, verb, create, args, &job, &err);

	if (r < 0) {
		mdev_job_done(&job);
		return command_fail(COMMAND_USAGE, &err);
	}
	r = run_job(command, create, &job, &err);
	mdev_job_done(&job);
	return r < 0 ? command_fail(EXIT_FAILURE, &err) : EXIT_SUCCESS;
}
