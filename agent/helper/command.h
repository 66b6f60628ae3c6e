/*
 * command: the verbs of hostdev-helper, one command_<verb>.c each. They own standard output while
 * they run.
 */
#pragma once

#include "agent/helper/frame/run.h"
#include "agent/helper/sys/kernel.h"

struct err;
struct report;

enum { COMMAND_USAGE = 2 };

/* The options; borrowed texts, NULL where one is not given. */
struct command {
	const char *sysfs_root;
	const char *proc_root;
	const char *dev_root;
	const char *state_dir;
	const char *group;
	const char *node_address;
	const char *cancel_fd;
};

/* Each runs @verb with the words @args (ends in NULL) and returns the exit status: 0 it ran, 1 it
 * could not, COMMAND_USAGE. */
int command_scan(const struct command *command, const char *verb, char **args);
int command_transition(const struct command *command, const char *verb, char **args);
int command_open_node(const struct command *command, const char *verb, char **args);
int command_mdev(const struct command *command, const char *verb, char **args);
int command_vgpu_look(const struct command *command, const char *verb, char **args);
int command_vgpu_set(const struct command *command, const char *verb, char **args);
int command_vfs(const struct command *command, const char *verb, char **args);

/* Say on standard error what is wrong; returns @status. */
int command_fail(int status, const struct err *err);

/* Write @report to standard output and release it; returns the exit status. */
int command_finish(struct report *report);

/* Open the folder @path into *@ret_fd; < 0 with @err set. */
int command_open(const char *path, int *ret_fd, struct err *err);

/* What a verb that changes something runs on: the trees, open, and the running kernel. */
struct command_machine {
	struct kernel kernel;
	struct run_options options;
};

/* Open all trees of @command; < 0 with @err set. command_machine_close() must follow in any case. */
int command_machine_open(const struct command *command, struct command_machine *machine,
			 struct err *err);
void command_machine_close(struct command_machine *machine);

#define auto_machine __attribute__((cleanup(command_machine_close)))
