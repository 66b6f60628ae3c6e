/*
 * options: a program's settings from one table: flags, environment, file, defaults, help text.
 *
 *	static const struct option_row rows[] = {
 *		{ .name = "node-name", .type = OPTION_STRING,
 *		  .offset = offsetof(struct settings, node), .env = "NODE_NAME",
 *		  .argument = "NAME", .group = "Node",
 *		  .help = "Name of the node whose devices are published." },
 *	};
 *
 * A flag overrides the environment, which overrides the file, which overrides the default, in
 * whatever order they are read. The flag (--node-name) and the file's key (node-name) have the same
 * name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct str;

enum { OPTIONS_MAX = 64, OPTION_LIST_MAX = 256 };

enum option_type {                  /* C type of the field at the row's offset */
		   OPTION_STRING,   /* char *, NULL without a default */
		   OPTION_BOOL,     /* bool */
		   OPTION_U64,      /* uint64_t */
		   OPTION_DURATION, /* uint64_t, in ms */
		   OPTION_ENUM,     /* int, index of the choice */
		   OPTION_LIST,     /* struct option_list */
};

struct option_list {
	char **items;
	size_t len;
	size_t cap;
};

struct option_row {
	const char *name;
	char letter; /* short flag; 0: none */
	enum option_type type;
	size_t offset;
	const char *env;      /* NULL: none */
	const char *fallback; /* the default as a string; NULL: empty, zero, the first choice */
	const char *const
		*choices;     /* NULL-terminated; OPTION_STRING: only for help and completion */
	uint64_t min;         /* OPTION_U64, OPTION_DURATION (ms) */
	uint64_t max;         /* 0: no limit */
	const char *bare;     /* the value if the flag has none; other values need "=" */
	bool whole;           /* OPTION_LIST: commas do not separate items */
	const char *argument; /* placeholder in the help, "NAME" */
	const char *group;    /* heading in the help; NULL: that of the previous row */
	const char *help;     /* one or more sentences; NULL if file_only */
	bool common;          /* for all commands: in the help only if prose.common is NULL */
	bool unsuggested;     /* never suggested for a mistyped name */
	bool file_only; /* no flag, not in the help: the file has this key for another program */
};

/* Where a value comes from; later ones override earlier ones. */
enum option_source { OPTION_DEFAULT, OPTION_FILE, OPTION_ENV, OPTION_FLAG };

/* @rows are borrowed. */
struct options {
	const struct option_row *rows;
	size_t len;
	void *target;
	enum option_source source[OPTIONS_MAX];
};

/* Results of options_args(). */
enum { OPTIONS_OK, OPTIONS_HELP, OPTIONS_VERSION };

/* Set the defaults in @target, whose fields are overwritten. */
void options_init(struct options *o, const struct option_row *rows, size_t len, void *target);

/* Release what the fields own. */
void options_done(struct options *o);

/*
 * Parse "--name VALUE", "--name=VALUE", "-x VALUE", "-x=VALUE", "-xVALUE" and, for a bool, "--name"
 * and "-x", from @argv[1] up to "--" or the first argument that is not a flag; *@ret_rest is the
 * index after that. A list accepts commas and may be repeated. -h, --help and --version end parsing
 * with their result. Errors (ERR_INVALID) name the flag, and a suggestion if it is unknown; the
 * caller prints the message and exits with 2.
 */
int options_args(struct options *o, int argc, char *const *argv, int *ret_rest, struct err *err);

/* Read the table's environment variables from @variables ("NAME=value", NULL-terminated). Empty
 * ones count as unset. */
int options_env(struct options *o, char *const *variables, struct err *err);

/* Set the option @name, or add to it if it is a list, unless it has a value from a source that
 * overrides this one. Messages begin with @where. -ENOENT with a suggestion if there is no such
 * option. */
int options_set(struct options *o, const char *name, const char *value, enum option_source source,
		const char *where, struct err *err);

/* The text around the flags. Paragraphs are separated by "\n\n" and wrapped; a paragraph that
 * begins with a blank is not wrapped. NULL omits a section. */
struct options_prose {
	const char *program;
	const char *summary;  /* "publishes the devices of a node" */
	const char *synopsis; /* "hostdev-agent [FLAG]..." */
	const char *description;
	const char *examples;
	const char *files;
	const char *exit_status; /* NULL: the default for 0, 1 and 2 */
	const char *common;      /* where common rows are described; NULL: list them here */
};

/* A help page like a man page, at most 80 columns wide. */
void options_help(const struct options *o, const struct options_prose *prose, struct str *out);
