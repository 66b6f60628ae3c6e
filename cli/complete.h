/*
 * complete: completions for shells, in the form in which cobra programs answer __complete. kubectl
 * expects it of a plugin's kubectl_complete-NAME.
 */
#pragma once

#include <stddef.h>

#include "base/options.h"

struct cluster;
struct command;
struct command_settings;
struct option_row;
struct str;

/* What completes the words of a command. */
enum complete_words {
	COMPLETE_NOTHING,
	COMPLETE_NODES,
	COMPLETE_DEVICES,
	COMPLETE_CLAIMABLE, /* devices that may be claimed   */
	COMPLETE_CLAIMED,   /* devices that have a claim     */
	COMPLETE_SHELLS,
	COMPLETE_COMMANDS,
	COMPLETE_VALUES,    /* of a flag: contexts, clusters, users, namespaces */
	COMPLETE_RESOURCES, /* likewise: resources with a device that may be claimed */
};

/* Directives that end an answer (cobra's ShellCompDirective). */
enum { COMPLETE_FILES = 0, COMPLETE_NO_FILES = 4 };

/* The command line that is being typed. */
struct complete_line {
	const struct command *const *commands; /* NULL ends them */
	char *const *words; /* without the program's name; the last one is to be completed */
	size_t len;         /* at least 1 */
};

/* What the last word is to be completed with. */
struct complete_want {
	const struct command *command; /* NULL: none yet */
	enum complete_words words;
	const struct option_row *value; /* COMPLETE_VALUES: of this flag                      */
	/* Of a flag: text before the value in the same word: "--context=", or "". NULL: no flag. */
	char *before;
	struct options cluster; /* the line's connection flags, which fill the settings */
	struct command_settings *settings;
	char **taken; /* words that the command already has; they are not suggested again */
	size_t taken_len;
};

/* Append the completions that need no cluster: commands, flags, choices, shells. Returns the
 * directive. *@ret_want says what else is needed: COMPLETE_NOTHING, or names from the cluster.
 * Pure. Release @ret_want with complete_want_done(). */
int complete_line(const struct complete_line *line, struct complete_want *ret_want, struct str *to);
void complete_want_done(struct complete_want *want);

/* Append the wanted names of @cluster that begin with @prefix, with a description. Pure. */
void complete_names(struct cluster *cluster, const struct complete_want *want, const char *prefix,
		    struct str *to);

/* Run `kubectl hostdev __complete WORD...`. Returns the exit status. */
int complete_run(const struct complete_line *line);
