/*
 * command: the verbs of hostdev-helper: their words, and what they run on. They own standard output
 * while they run.
 */
#pragma once

struct err;

enum { COMMAND_USAGE = 2 };

/* The options; borrowed texts, NULL where not set. */
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
int command_drm_look(const struct command *command, const char *verb, char **args);
int command_vgpu_set(const struct command *command, const char *verb, char **args);
int command_vfs(const struct command *command, const char *verb, char **args);
int command_usb_rebind(const struct command *command, const char *verb, char **args);

/* Say on standard error what is wrong; returns @status. */
int command_fail(int status, const struct err *err);
