#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "agent/helper/command.h"
#include "agent/helper/sys/job.h"
#include "agent/helper/transition/transition.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"

/* clang-format off */
static const char *const verb_names[] = {
	[TRANSITION_BIND]         = "bind",
	[TRANSITION_RELEASE]      = "release",
	[TRANSITION_PLAN_BIND]    = "plan-bind",
	[TRANSITION_PLAN_RELEASE] = "plan-release",
};
/* clang-format on */

static enum transition_verb find_verb(const char *name)
{
	size_t i = 0;

	while (i + 1 < ARRAY_LEN(verb_names) && strcmp(verb_names[i], name) != 0)
		i++;
	return (enum transition_verb)i;
}

static int read_cancel_fd(const struct command *command, int *ret_fd, struct err *err)
{
	uint64_t fd = 0;

	if (!command->cancel_fd)
		return 0;
	if (!str_to_u64(command->cancel_fd, &fd) || fd > INT_MAX)
		return err_set(err, ERR_INVALID, -EINVAL, "--cancel-fd '%s' is no descriptor",
			       command->cancel_fd);
	*ret_fd = (int)fd;
	return 0;
}

static int run_job(const struct command *command, const char *verb, const struct job *job,
		   struct err *err)
{
	auto_machine struct command_machine machine;
	int cancel_fd = -1;

	if (command_machine_open(command, &machine, err) < 0 ||
	    read_cancel_fd(command, &cancel_fd, err) < 0)
		return err->code;
	return transition_run(find_verb(verb), &machine.options, cancel_fd, job, err);
}

static int read_job(const struct command *command, const char *verb, char **args,
		    struct job *ret_job, struct err *err)
{
	if (!command->group || !command->state_dir)
		return err_set(err, ERR_INVALID, -EINVAL, "%s needs --group and --state-dir", verb);
	if (!args[0])
		return err_set(err, ERR_INVALID, -EINVAL,
			       "%s needs the functions, beginning with address=", verb);
	return job_parse(command->group, args, ret_job, err);
}

int command_transition(const struct command *command, const char *verb, char **args)
{
	struct job job = { 0 };
	struct err err = { 0 };
	int r;

	if (read_job(command, verb, args, &job, &err) < 0)
		return command_fail(COMMAND_USAGE, &err);
	r = run_job(command, verb, &job, &err);
	job_done(&job);
	return r < 0 ? command_fail(EXIT_FAILURE, &err) : EXIT_SUCCESS;
}
