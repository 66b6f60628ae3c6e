/*
 * complete: what could stand next on the command line, for shells: as cobra programs answer __complete,
 * which is what kubectl expects of a plugin's kubectl_complete-NAME.
 */
#pragma once

#include <stddef.h>

#include "base/options.h"

struct cluster;
struct command;
struct command_settings;
struct option_row;
struct str;

/* What a command's words are. */
enum complete_words {
	COMPLETE_NOTHING,
	COMPLETE_NODES,
	COMPLETE_DEVICES,
	COMPLETE_CLAIMABLE, /* devices that may be claimed   */
	COMPLETE_CLAIMED,   /* devices that have a claim     */
	COMPLETE_SHELLS,
	COMPLETE_COMMANDS,
	COMPLETE_VALUES, /* of a flag: contexts, clusters, users, namespaces */
};

/* Directives that end an answer (cobra's ShellCompDirective). */
enum { COMPLETE_FILES = 0, COMPLETE_NO_FILES = 4 };

/* A line as far as it is typed. */
struct complete_line {
	const struct command *const *commands; /* NULL ends them */
	char *const *words; /* behind the program's; the last one is to be completed */
	size_t len;         /* at least 1 */
};

/* What is asked for in the end. */
struct complete_want {
	const struct command *command; /* NULL: none yet */
	enum complete_words words;
	const struct option_row *value; /* COMPLETE_VALUES: of this flag                      */
	char *before; /* what stands before the value in the same word: "--context=", or "" */
	struct options cluster; /* how the line says to reach the cluster: fills the settings */
	struct command_settings *settings;
	char **taken; /* the words that the command has already: not offered again */
	size_t taken_len;
};

/* Append what can be said without the cluster: commands, flags, choices, shells. The result is the
 * directive; *@ret_want says what else is wanted: COMPLETE_NOTHING, or names from the cluster. Pure.
 * Release @ret_want by complete_want_done(). */
int complete_line(const struct complete_line *line, struct complete_want *ret_want, struct str *to);
void complete_want_done(struct complete_want *want);

/* Append the names of @cluster that are wanted and begin with @prefix, with what they are. Pure. */
void complete_names(struct cluster *cluster, const struct complete_want *want, const char *prefix,
		    struct str *to);

/* Append @name, with @words about it (may be NULL), if it begins with @prefix. */
void complete_offer(struct str *to, const char *prefix, const char *name, const char *words);

/* `kubectl hostdev __complete WORD...`: the exit status. */
int complete_run(const struct complete_line *line);
