#include "unit/suite.h"

#include <stdbool.h>
#include <string.h>

#include "base/err.h"
#include "base/options.h"
#include "base/str.h"

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
	{ .name = "colour",
	  .type = OPTION_STRING,
	  .offset = offsetof(struct settings, other),
	  .file_only = true },
};

enum { WORDS = 6 };

static struct args_case {
	const char *name;
	const char *words[WORDS];
	int result;
	const char *error; /* the whole message */
	const char *node;
	uint64_t workers;
	uint64_t period_ms;
	int level;
	int rest;
} args_cases[] = {
	{ "without words the defaults hold", { 0 }, 0, NULL, NULL, 2, 300000, 1, 1 },
	{ "a value may be the next word", { "--node-name", "a" }, 0, NULL, "a", 2, 300000, 1, 3 },
	{ "a value may follow a sign", { "--node-name=a=b" }, 0, NULL, "a=b", 2, 300000, 1, 2 },
	{ "a value may be empty", { "--node-name=" }, 0, NULL, "", 2, 300000, 1, 2 },
	{ "a short flag takes the next word", { "-n", "a" }, 0, NULL, "a", 2, 300000, 1, 3 },
	{ "a short flag takes what sticks to it", { "-na" }, 0, NULL, "a", 2, 300000, 1, 2 },
	{ "a short flag takes what is behind its sign", { "-n=a" }, 0, NULL, "a", 2, 300000, 1, 2 },
	{ "that may be empty", { "-n=", "b" }, 0, NULL, "", 2, 300000, 1, 2 },
	{ "the last one counts", { "-na", "-nb" }, 0, NULL, "b", 2, 300000, 1, 3 },
	{ "numbers, durations and choices are read",
	  { "--workers=3", "--period=90s", "--log-level=warn" },
	  0,
	  NULL,
	  NULL,
	  3,
	  90000,
	  2,
	  4 },
	{ "a word that is no flag ends the flags",
	  { "-na", "inspect", "-nb" },
	  0,
	  NULL,
	  "a",
	  2,
	  300000,
	  1,
	  2 },
	{ "two dashes end the flags", { "-na", "--", "-nb" }, 0, NULL, "a", 2, 300000, 1, 3 },
	{ "one dash is a word", { "-" }, 0, NULL, NULL, 2, 300000, 1, 1 },
	{ "help is an outcome",
	  { "-na", "--help", "--bad" },
	  OPTIONS_HELP,
	  NULL,
	  "a",
	  2,
	  300000,
	  1,
	  0 },
	{ "short help, too", { "-h" }, OPTIONS_HELP, NULL, NULL, 2, 300000, 1, 0 },
	{ "version is an outcome", { "--version" }, OPTIONS_VERSION, NULL, NULL, 2, 300000, 1, 0 },
	{ "a typing error gets the nearest name",
	  { "--nod-nmae=x" },
	  -1,
	  "unknown flag '--nod-nmae': did you mean '--node-name'?",
	  NULL,
	  2,
	  300000,
	  1,
	  0 },
	{ "what is near nothing gets none",
	  { "--xyzzy" },
	  -1,
	  "unknown flag '--xyzzy': see --help",
	  NULL,
	  2,
	  300000,
	  1,
	  0 },
	{ "a prefix is not a name",
	  { "--node=x" },
	  -1,
	  "unknown flag '--node': see --help",
	  NULL,
	  2,
	  300000,
	  1,
	  0 },
	{ "an unknown letter is named",
	  { "-x" },
	  -1,
	  "unknown flag '-x': see --help",
	  NULL,
	  2,
	  300000,
	  1,
	  0 },
	{ "a missing value is named",
	  { "--node-name" },
	  -1,
	  "--node-name needs a value: --node-name NAME",
	  NULL,
	  2,
	  300000,
	  1,
	  0 },
	{ "a number is a number",
	  { "--workers=two" },
	  -1,
	  "--workers: 'two' is not a number",
	  NULL,
	  2,
	  300000,
	  1,
	  0 },
	{ "a limit may have one end only",
	  { "--period=1ms" },
	  -1,
	  "--period: '1ms' is less than 100ms",
	  NULL,
	  2,
	  300000,
	  1,
	  0 },
	{ "a number keeps its limits",
	  { "--workers=17" },
	  -1,
	  "--workers: '17' is not between 1 and 16",
	  NULL,
	  2,
	  300000,
	  1,
	  0 },
	{ "a duration is a duration",
	  { "--period=5x" },
	  -1,
	  "--period: '5x' is not a duration like 250ms, 30s or 5m",
	  NULL,
	  2,
	  300000,
	  1,
	  0 },
	{ "a choice is one of the choices",
	  { "--log-level=loud" },
	  -1,
	  "--log-level: 'loud' is not debug, info or warn",
	  NULL,
	  2,
	  300000,
	  1,
	  0 },
	{ "a bool takes a value with a sign only",
	  { "--dry-run=maybe" },
	  -1,
	  "--dry-run: 'maybe' is not true or false",
	  NULL,
	  2,
	  300000,
	  1,
	  0 },
};

static int read_words(struct options *o, const char *const *words, int *ret_rest, struct err *err)
{
	char *argv[WORDS + 2] = { xstrdup("program") };
	int argc = 1;
	int r;

	for (; argc <= WORDS && words[argc - 1]; argc++)
		argv[argc] = xstrdup(words[argc - 1]);
	r = options_args(o, argc, argv, ret_rest, err);
	while (argc > 0)
		free(argv[--argc]);
	return r;
}

static void words_are_read(void **state)
{
	const struct args_case *c = *state;
	struct settings settings;
	struct options o;
	struct err err = { 0 };
	int rest = 0;
	int r;

	options_init(&o, rows, ARRAY_LEN(rows), &settings);
	r = read_words(&o, c->words, &rest, &err);
	assert_int_equal(r < 0 ? -1 : r, c->result);
	if (c->error)
		assert_string_equal(err.msg, c->error);
	if (c->node)
		assert_string_equal(settings.node, c->node);
	else
		assert_null(settings.node);
	assert_int_equal(settings.workers, c->workers);
	assert_int_equal(settings.period_ms, c->period_ms);
	assert_int_equal(settings.level, c->level);
	assert_int_equal(rest, c->rest);
	options_done(&o);
}

static void later_sources_win_in_any_order(void **state)
{
	char variables[][20] = { "NODE_NAME=env", "PERIOD=", "X=1" };
	char *environment[] = { variables[0], variables[1], variables[2], NULL };
	const char *const words[WORDS] = { "--node-name", "flag" };
	struct err err = { 0 };

	(void)state;
	for (unsigned order = 0; order < 6; order++) {
		struct settings settings;
		struct options o;
		int rest;

		options_init(&o, rows, ARRAY_LEN(rows), &settings);
		for (unsigned step = 0; step < 3; step++) {
			unsigned what = (order + (order < 3 ? step : 2 * step)) % 3;

			if (what == 0)
				assert_int_equal(read_words(&o, words, &rest, &err), 0);
			else if (what == 1)
				assert_int_equal(options_env(&o, environment, &err), 0);
			else
				assert_int_equal(options_set(&o, "node-name", "file", OPTION_FILE,
							     "f", &err),
						 0);
		}
		assert_string_equal(settings.node, "flag");
		assert_int_equal(settings.period_ms, 300000);
		options_done(&o);
	}
}

static void the_environment_beats_the_file(void **state)
{
	char variable[] = "NODE_NAME=env";
	char *environment[] = { variable, NULL };
	struct settings settings;
	struct err err = { 0 };
	struct options o;

	(void)state;
	options_init(&o, rows, ARRAY_LEN(rows), &settings);
	assert_int_equal(options_set(&o, "node-name", "file", OPTION_FILE, "f", &err), 0);
	assert_string_equal(settings.node, "file");
	assert_int_equal(options_env(&o, environment, &err), 0);
	assert_string_equal(settings.node, "env");
	assert_int_equal(options_set(&o, "node-name", "file", OPTION_FILE, "f", &err), 0);
	assert_string_equal(settings.node, "env");
	options_done(&o);
}

static void bad_variables_and_keys_are_named(void **state)
{
	char variable[] = "PERIOD=soon";
	char *environment[] = { variable, NULL };
	struct settings settings;
	struct err err = { 0 };
	struct options o;

	(void)state;
	options_init(&o, rows, ARRAY_LEN(rows), &settings);
	assert_true(options_env(&o, environment, &err) < 0);
	assert_string_equal(err.msg, "environment variable PERIOD: 'soon' is not a duration like "
				     "250ms, 30s or 5m");
	assert_true(options_set(&o, "drivers", "x", OPTION_FILE, "/etc/s.yaml", &err) < 0);
	assert_string_equal(err.msg, "/etc/s.yaml: unknown key 'drivers': did you mean 'driver'?");
	assert_true(options_set(&o, "workers", "x", OPTION_FILE, "/etc/s.yaml", &err) < 0);
	assert_string_equal(err.msg, "/etc/s.yaml: workers: 'x' is not a number");
	options_done(&o);
}

static void a_key_of_the_file_only_is_no_flag(void **state)
{
	const char *const words[WORDS] = { "--colour", "red" };
	auto_str struct str text = STR_INIT;
	struct settings settings;
	struct err err = { 0 };
	struct options o;
	int rest;

	(void)state;
	options_init(&o, rows, ARRAY_LEN(rows), &settings);
	assert_int_equal(options_set(&o, "colour", "blue", OPTION_FILE, "f", &err), 0);
	assert_string_equal(settings.other, "blue");
	assert_true(read_words(&o, words, &rest, &err) < 0);
	assert_string_equal(err.msg, "unknown flag '--colour': see --help");
	options_help(&o, &(struct options_prose){ .program = "tool", .summary = "" }, &text);
	assert_null(strstr(str_cstr(&text), "colour"));
	options_done(&o);
}

static void lists_grow_within_a_source_and_restart_with_the_next(void **state)
{
	const char *const words[WORDS] = { "--driver=a,b", "--driver", "c,,d" };
	struct settings settings;
	struct err err = { 0 };
	struct options o;
	int rest;

	(void)state;
	options_init(&o, rows, ARRAY_LEN(rows), &settings);
	assert_int_equal(settings.drivers.len, 1);
	assert_int_equal(options_set(&o, "driver", "x,y", OPTION_FILE, "f", &err), 0);
	assert_int_equal(settings.drivers.len, 1);
	assert_string_equal(settings.drivers.items[0], "x,y");
	assert_int_equal(read_words(&o, words, &rest, &err), 0);
	assert_int_equal(settings.drivers.len, 4);
	assert_string_equal(settings.drivers.items[3], "d");
	options_done(&o);
}

static void a_bool_needs_no_value(void **state)
{
	const char *const words[WORDS] = { "-d", "inspect" };
	struct settings settings;
	struct err err = { 0 };
	struct options o;
	int rest = 0;

	(void)state;
	options_init(&o, rows, ARRAY_LEN(rows), &settings);
	assert_false(settings.dry_run);
	assert_int_equal(read_words(&o, words, &rest, &err), 0);
	assert_true(settings.dry_run);
	assert_int_equal(rest, 2);
	options_done(&o);
}

static void a_flag_alone_leaves_the_next_word(void **state)
{
	const char *const words[WORDS] = { "-w", "info", "--way=debug" };
	struct settings settings;
	struct err err = { 0 };
	struct options o;
	int rest = 0;

	(void)state;
	options_init(&o, rows, ARRAY_LEN(rows), &settings);
	assert_int_equal(read_words(&o, words, &rest, &err), 0);
	assert_int_equal(settings.way, 2);
	assert_int_equal(rest, 2);
	assert_int_equal(read_words(&o, words + 2, &rest, &err), 0);
	assert_int_equal(settings.way, 0);
	options_done(&o);
}

static void a_name_may_have_commas(void **state)
{
	const char *const words[WORDS] = { "--group=a,b", "--group", "c" };
	struct settings settings;
	struct err err = { 0 };
	struct options o;
	int rest = 0;

	(void)state;
	options_init(&o, rows, ARRAY_LEN(rows), &settings);
	assert_int_equal(read_words(&o, words, &rest, &err), 0);
	assert_int_equal(settings.groups.len, 2);
	assert_string_equal(settings.groups.items[0], "a,b");
	options_done(&o);
}

static void help_names_everything_within_80_columns(void **state)
{
	static const char *const wanted[] = {
		"NAME\n       tool - does things\n",
		"SYNOPSIS\n       tool [FLAG]...\n",
		"\nNODE\n       -n, --node-name NAME\n              Name of the node. Environment: NODE_NAME.\n",
		"       -d, --dry-run\n",
		"       -w, --way[=LEVEL]\n",
		"Names with commas. Takes several values, by repeating the flag.",
		"parted by commas or",
		"Default: 5m.",
		"One of: debug, info, warn. Default: info.",
		"\nLOG\n",
		"       $ tool  --dry-run\n",
		"--version",
		"EXIT STATUS\n",
	};
	const struct options_prose prose = {
		.program = "tool",
		.summary = "does things",
		.synopsis = "tool [FLAG]...",
		.description =
			"A long description, which is to be wrapped at the eightieth column, so "
			"that it can be read in any terminal of the usual width.\n\nAnd a second "
			"paragraph.",
		.examples = " $ tool  --dry-run",
	};
	auto_str struct str text = STR_INIT;
	struct settings settings;
	struct options o;
	const char *line;

	(void)state;
	options_init(&o, rows, ARRAY_LEN(rows), &settings);
	options_help(&o, &prose, &text);
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		if (!strstr(str_cstr(&text), wanted[i]))
			fail_msg("no \"%s\" in:\n%s", wanted[i], str_cstr(&text));
	}
	assert_non_null(strstr(str_cstr(&text), "EXIT STATUS\n       0 when all went well, 1 "));
	assert_null(strstr(str_cstr(&text), "FILES"));
	for (line = str_cstr(&text); *line; line += strcspn(line, "\n") + 1)
		assert_in_range(strcspn(line, "\n"), 0, 80);
	options_done(&o);
}

static void help_has_the_exit_statuses_of_the_program(void **state)
{
	const struct options_prose prose = { .program = "tool",
					     .summary = "",
					     .exit_status = "0 or 3." };
	auto_str struct str text = STR_INIT;
	struct settings settings;
	struct options o;

	(void)state;
	options_init(&o, rows, ARRAY_LEN(rows), &settings);
	options_help(&o, &prose, &text);
	assert_non_null(strstr(str_cstr(&text), "\nEXIT STATUS\n       0 or 3.\n"));
	assert_null(strstr(str_cstr(&text), "went well"));
	options_done(&o);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, args_cases, words_are_read);
	suite_add(&suite, "later sources win in any order", later_sources_win_in_any_order, NULL);
	suite_add(&suite, "the environment beats the file", the_environment_beats_the_file, NULL);
	suite_add(&suite, "bad variables and keys are named", bad_variables_and_keys_are_named,
		  NULL);
	suite_add(&suite, "a key of the file only is no flag", a_key_of_the_file_only_is_no_flag,
		  NULL);
	suite_add(&suite, "lists grow within a source and restart with the next",
		  lists_grow_within_a_source_and_restart_with_the_next, NULL);
	suite_add(&suite, "help has the exit statuses of the program",
		  help_has_the_exit_statuses_of_the_program, NULL);
	suite_add(&suite, "a bool needs no value", a_bool_needs_no_value, NULL);
	suite_add(&suite, "a flag that needs no value leaves the next word",
		  a_flag_alone_leaves_the_next_word, NULL);
	suite_add(&suite, "a name may have commas", a_name_may_have_commas, NULL);
	suite_add(&suite, "help names everything within 80 columns",
		  help_names_everything_within_80_columns, NULL);
	return suite_run(&suite, "options");
}
