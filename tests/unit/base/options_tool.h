/* options_tool: a made-up program's settings, and what its flags make of them. */
#pragma once

#include <stdbool.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/options.h"
#include "unit/suite.h"

struct settings {
	char *node;
	bool dry_run;
	uint64_t workers;
	uint64_t period_ms;
	int level;
	struct option_list drivers;
	char *other;
	int way;
	struct option_list groups;
	char *as;
};

static const char *const levels[] = { "debug", "info", "warn", NULL };

static const struct option_row rows[] = {
	{ .name = "node-name",
	  .letter = 'n',
	  .type = OPTION_STRING,
	  .offset = offsetof(struct settings, node),
	  .env = "NODE_NAME",
	  .argument = "NAME",
	  .group = "NODE",
	  .help = "Name of the node." },
	{ .name = "dry-run",
	  .letter = 'd',
	  .type = OPTION_BOOL,
	  .offset = offsetof(struct settings, dry_run),
	  .help = "Write nothing." },
	{ .name = "workers",
	  .type = OPTION_U64,
	  .offset = offsetof(struct settings, workers),
	  .fallback = "2",
	  .min = 1,
	  .max = 16,
	  .help = "How many at a time." },
	{ .name = "period",
	  .type = OPTION_DURATION,
	  .offset = offsetof(struct settings, period_ms),
	  .fallback = "5m",
	  .min = 100,
	  .env = "PERIOD",
	  .help = "Time between two looks." },
	{ .name = "log-level",
	  .type = OPTION_ENUM,
	  .offset = offsetof(struct settings, level),
	  .fallback = "info",
	  .choices = levels,
	  .group = "LOG",
	  .help = "Least level to log." },
	{ .name = "driver",
	  .type = OPTION_LIST,
	  .offset = offsetof(struct settings, drivers),
	  .fallback = "vfio-pci",
	  .env = "DRIVERS",
	  .help = "Drivers to allow." },
	{ .name = "way",
	  .letter = 'w',
	  .type = OPTION_ENUM,
	  .offset = offsetof(struct settings, way),
	  .choices = levels,
	  .bare = "warn",
	  .argument = "LEVEL",
	  .help = "A flag that needs no value." },
	{ .name = "group",
	  .type = OPTION_LIST,
	  .offset = offsetof(struct settings, groups),
	  .whole = true,
	  .argument = "NAME",
	  .help = "Names with commas." },
	{ .name = "as",
	  .type = OPTION_STRING,
	  .offset = offsetof(struct settings, as),
	  .common = true,
	  .unsuggested = true,
	  .help = "Act as somebody else." },
	{ .name = "colour",
	  .type = OPTION_STRING,
	  .offset = offsetof(struct settings, other),
	  .file_only = true },
};

enum { WORDS = 6 };

struct tool {
	struct settings settings;
	struct options o;
	struct err err; /* of the last that went wrong   */
	int rest;       /* of the last words that were read */
};

static inline void tool_init(struct tool *tool)
{
	*tool = (struct tool){ 0 };
	options_init(&tool->o, rows, ARRAY_LEN(rows), &tool->settings);
}

static inline void tool_done(struct tool *tool)
{
	options_done(&tool->o);
}

SUITE_FIXTURE(tool, struct tool, tool_init, tool_done);

/* What options_args() returns for @words, which end in NULL if there are fewer. */
static inline int tool_read(struct tool *tool, const char *const *words)
{
	char *argv[WORDS + 2] = { xstrdup("program") };
	int argc = 1;
	int r;

	for (; argc <= WORDS && words[argc - 1]; argc++)
		argv[argc] = xstrdup(words[argc - 1]);
	r = options_args(&tool->o, argc, argv, &tool->rest, &tool->err);
	while (argc > 0)
		free(argv[--argc]);
	return r;
}

/* Of a file "f". */
static inline void tool_set(struct tool *tool, const char *name, const char *value)
{
	assert_int_equal(options_set(&tool->o, name, value, OPTION_FILE, "f", &tool->err), 0);
}
