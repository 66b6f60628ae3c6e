#include "unit/base/options_tool.h"

#include <string.h>

#include "base/str.h"

static void help_names_everything_within_80_columns(void **state)
{
	static const char *const wanted[] = {
		"NAME\n       tool - does things\n",
		"SYNOPSIS\n       tool [FLAG]...\n",
		"\nNODE\n       -n, --node-name NAME\n              Name of the node. Environment: NODE_NAME.\n",
		"       -d, --dry-run\n",
		"       -w, --way[=LEVEL]\n",
		"Names with commas. Takes several values, by repeating the flag.",
		"separated by commas or",
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
	struct tool *tool = *state;
	const char *line;

	options_help(&tool->o, &prose, &text);
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		if (!strstr(str_cstr(&text), wanted[i]))
			fail_msg("no \"%s\" in:\n%s", wanted[i], str_cstr(&text));
	}
	assert_non_null(strstr(str_cstr(&text), "EXIT STATUS\n       0 on success, 1 "));
	assert_null(strstr(str_cstr(&text), "FILES"));
	for (line = str_cstr(&text); *line; line += strcspn(line, "\n") + 1)
		assert_in_range(strcspn(line, "\n"), 0, 80);
}

static void help_has_the_exit_statuses_of_the_program(void **state)
{
	const struct options_prose prose = { .program = "tool",
					     .summary = "",
					     .exit_status = "0 or 3." };
	auto_str struct str text = STR_INIT;
	struct tool *tool = *state;

	options_help(&tool->o, &prose, &text);
	assert_non_null(strstr(str_cstr(&text), "\nEXIT STATUS\n       0 or 3.\n"));
	assert_null(strstr(str_cstr(&text), "on success"));
}

/* A program of several commands explains once what all of them take. */
static void common_rows_are_explained_elsewhere(void **state)
{
	static const struct option_row common = { .name = "as", .common = true, .help = "Act." };
	struct options_prose prose = { .program = "tool",
				       .summary = "",
				       .common = "See tool options." };
	struct settings settings;
	struct options o;
	auto_str struct str text = STR_INIT;
	struct tool *tool = *state;

	options_help(&tool->o, &prose, &text);
	assert_null(strstr(str_cstr(&text), "--as"));
	assert_non_null(strstr(str_cstr(&text), "--way[=LEVEL]"));
	assert_non_null(strstr(str_cstr(&text), "Show the version.\n\n       See tool options.\n"));
	str_clear(&text);
	prose.common = NULL;
	options_help(&tool->o, &prose, &text);
	assert_non_null(strstr(str_cstr(&text), "       --as TEXT\n"));
	/* Where there are no others. */
	str_clear(&text);
	prose.common = "See tool options.";
	options_init(&o, &common, 1, &settings);
	options_help(&o, &prose, &text);
	assert_non_null(strstr(str_cstr(&text), "\nFlags\n       -h, --help\n"));
	options_done(&o);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_fixture(&suite, &tool_fixture);
	suite_add(&suite, "help names everything within 80 columns",
		  help_names_everything_within_80_columns, NULL);
	suite_add(&suite, "common rows are explained elsewhere",
		  common_rows_are_explained_elsewhere, NULL);
	suite_add(&suite, "help has the exit statuses of the program",
		  help_has_the_exit_statuses_of_the_program, NULL);
	return suite_run(&suite, "options_help");
}
