#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/helper/command.h"
#include "agent/helper/sys/devpath.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/vgpu.h"
#include "base/err.h"
#include "base/mem.h"

static int check_address(const char *word, struct err *err)
{
	if (pci_address_valid(word, strlen(word)))
		return 0;
	return err_set(err, ERR_INVALID, -EINVAL, "'%s' is no PCI address", word);
}

int command_vgpu_look(const struct command *command, const char *verb, char **args)
{
	auto_close int sysfs_fd = -1;
	struct report report = { 0 };
	struct err err = { 0 };

	if (!args[0]) {
		(void)err_set(&err, ERR_INVALID, -EINVAL, "%s needs addresses", verb);
		return command_fail(COMMAND_USAGE, &err);
	}
	for (size_t i = 0; args[i]; i++) {
		if (check_address(args[i], &err) < 0)
			return command_fail(COMMAND_USAGE, &err);
	}
	if (command_open(command->sysfs_root, &sysfs_fd, &err) < 0)
		return command_fail(EXIT_FAILURE, &err);
	for (size_t i = 0; args[i]; i++)
		vgpu_write_line(sysfs_fd, args[i], &report);
	return command_finish(&report);
}

/* The value of the word "@key=..." among @args, NULL if it is not there. */
static const char *value_of(char **args, const char *key)
{
	size_t len = strlen(key);

	for (; *args; args++) {
		if (strncmp(*args, key, len) == 0 && (*args)[len] == '=')
			return *args + len + 1;
	}
	return NULL;
}

static int check_words(const struct command *command, const char *verb, char **args,
		       struct err *err)
{
	const char *address = value_of(args, "address");
	const char *type = value_of(args, "type");

	if (!command->state_dir || !address || !type || (args[0] && args[1] && args[2]))
		return err_set(err, ERR_INVALID, -EINVAL,
			       "%s needs --state-dir, address= and type=, and nothing else", verb);
	if (!vgpu_type_check(type))
		return err_set(err, ERR_INVALID, -EINVAL, "'%s' is no number of a vGPU type", type);
	return check_address(address, err);
}

static int run_set(const struct command *command, char **args, struct err *err)
{
	auto_machine struct command_machine machine;

	if (command_machine_open(command, &machine, err) < 0)
		return err->code;
	return vgpu_set(&machine.options, value_of(args, "address"), value_of(args, "type"), err);
}

int command_vgpu_set(const struct command *command, const char *verb, char **args)
{
	struct err err = { 0 };

	if (check_words(command, verb, args, &err) < 0)
		return command_fail(COMMAND_USAGE, &err);
	if (run_set(command, args, &err) < 0)
		return command_fail(EXIT_FAILURE, &err);
	return EXIT_SUCCESS;
}
