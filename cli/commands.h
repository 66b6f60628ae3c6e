/* commands: the subcommands of kubectl-hostdev, each in a file of its name. */
#pragma once

struct command;

extern const struct command claim_command;
extern const struct command completion_command;
extern const struct command log_command;
extern const struct command plan_command;
extern const struct command release_command;
extern const struct command top_command;
extern const struct command tree_command;
extern const struct command version_command;
extern const struct command who_command;
extern const struct command why_command;
extern const struct command map_command; /* cli/map/map_command.c */
