/*
 * options: a program's settings from one table: flags, environment, file, defaults, help text.
 *
 *	static const struct option_row rows[] = {
 *		{ .name = "node-name", .type = OPTION_STRING, .offset = offsetof(struct settings, node),
 *		  .env = "NODE_NAME", .argument = "NAME", .group = "Node",
 *		  .help = "Name of the node whose devices are published." },
 *	};
 *
 * A flag beats the environment, which beats the file, which beats the default, in whatever order
 * the three are read. The same name is the flag's (--node-name) and the file's key (node-name).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct str;

enum { OPTIONS_MAX = 64, OPTION_LIST_MAX = 256 };

enum option_type {                  /* the field at the row's offset   */
		   OPTION_STRING,   /* char *, NULL without a default  */
		   OPTION_BOOL,     /* bool                            */
		   OPTION_U64,      /* uint64_t                        */
		   OPTION_DURATION, /* uint64_t, in ms                 */
		   OPTION_ENUM,     /* int, the choice's index         */
		   OPTION_LIST,     /* struct option_list              */
};

struct option_list {
	char **items;
	size_t len;
	size_t cap;
};

struct option_row {
	const char *name;
	char letter; /* of the short flag; 0: none */
	enum option_type type;
	size_t offset;
	const char *env;      /* NULL: none */
	const char *fallback; /* the default as text; NULL: empty, zero, the first choice */
	const char *const
		*choices;     /* OPTION_ENUM: ends in NULL; OPTION_STRING: for help and shells */
	uint64_t min;         /* OPTION_U64, OPTION_DURATION (ms) */
	uint64_t max;         /* 0: no limit */
	const char *bare;     /* the value of the flag alone; any other only behind "="  */
	bool whole;           /* OPTION_LIST: a value is one item, commas and all        */
	const char *argument; /* what the help calls the value, "NAME" */
	const char *group;    /* the help's heading; NULL: the row's before */
	const char *help;     /* one or more sentences; NULL with file_only */
	bool common; /* of all commands of a program: in the help only where that has no prose.common */
	bool unsuggested; /* what nobody is to use by a slip is never the nearest name */
	bool file_only; /* no flag, not in the help: a key for another program that has the file */
};

/* Where a value is from; a later one wins. */
enum option_source { OPTION_DEFAULT, OPTION_FILE, OPTION_ENV, OPTION_FLAG };

/* @rows are borrowed. */
struct options {
	const struct option_row *rows;
	size_t len;
	void *target;
	enum option_source source[OPTIONS_MAX];
};

/* What options_args() finds besides values. */
enum { OPTIONS_OK, OPTIONS_HELP, OPTIONS_VERSION };

/* Put the defaults into @target, whose fields are overwritten. */
void options_init(struct options *o, const struct option_row *rows, size_t len, void *target);

/* Release what the fields own. */
void options_done(struct options *o);

/*
 * Read "--name VALUE", "--name=VALUE", "-x VALUE", "-x=VALUE", "-xVALUE" and, for a bool, "--name" and "-x",
 * from @argv[1] on, up to "--" or the first word that is not a flag; *@ret_rest is the index of
 * what follows. A list takes commas and may be repeated. -h, --help and --version end the reading
 * with their outcome. Errors (ERR_INVALID) name the flag, and the nearest one if it is unknown; the
 * caller prints the message and exits with 2.
 */
int options_args(struct options *o, int argc, char *const *argv, int *ret_rest, struct err *err);

/* Read the table's environment variables from @variables ("NAME=value", ends in NULL). Empty ones
 * count as unset. */
int options_env(struct options *o, char *const *variables, struct err *err);

/* Set (a list: add to) the option @name, unless it has a value from a later source. @where begins
 * messages. -ENOENT with the nearest name if there is none such. */
int options_set(struct options *o, const char *name, const char *value, enum option_source source,
		const char *where, struct err *err);

/* The prose around the flags. Paragraphs are parted by "\n\n" and wrapped; a paragraph that begins
 * with a blank is kept as it is. NULL leaves a section out. */
struct options_prose {
	const char *program;
	const char *summary;  /* "publishes the devices of a node" */
	const char *synopsis; /* "hostdev-agent [FLAG]..."         */
	const char *description;
	const char *examples;
	const char *files;
	const char *exit_status; /* NULL: the usual, 0, 1 and 2 */
	const char *common;      /* where rows that are common are explained; NULL: here */
};

/* A page like man(1) shows, at most 80 columns wide. */
void options_help(const struct options *o, const struct options_prose *prose, struct str *out);
