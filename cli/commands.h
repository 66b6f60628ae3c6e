/* commands: the subcommands of kubectl-hostdev, each in a file of its name. */
#pragma once

struct command;

extern const struct command tree_command;
