#include "unit/base/options_tool.h"

#include <string.h>

#include "base/str.h"

/* clang-format off */
static struct args_case {
	const char *name;
	const char *words[WORDS];
	int result;
	const char *node;
	uint64_t workers;
	uint64_t period_ms;
	int level;
	int rest;
} args_cases[] = {
	{ "without words the defaults hold", { 0 }, 0, NULL, 2, 300000, 1, 1 },
	{ "a value may be the next word", { "--node-name", "a" }, 0, "a", 2, 300000, 1, 3 },
	{ "a value may follow a sign", { "--node-name=a=b" }, 0, "a=b", 2, 300000, 1, 2 },
	{ "a value may be empty", { "--node-name=" }, 0, "", 2, 300000, 1, 2 },
	{ "a short flag takes the next word", { "-n", "a" }, 0, "a", 2, 300000, 1, 3 },
	{ "a short flag takes what sticks to it", { "-na" }, 0, "a", 2, 300000, 1, 2 },
	{ "a short flag takes what is behind its sign", { "-n=a" }, 0, "a", 2, 300000, 1, 2 },
	{ "that may be empty", { "-n=", "b" }, 0, "", 2, 300000, 1, 2 },
	{ "the last one counts", { "-na", "-nb" }, 0, "b", 2, 300000, 1, 3 },
	{ "numbers, durations and choices are read", { "--workers=3", "--period=90s", "--log-level=warn" }, 0, NULL, 3,
	  90000, 2, 4 },
	{ "a word that is no flag ends the flags", { "-na", "inspect", "-nb" }, 0, "a", 2, 300000, 1, 2 },
	{ "two dashes end the flags", { "-na", "--", "-nb" }, 0, "a", 2, 300000, 1, 3 },
	{ "one dash is a word", { "-" }, 0, NULL, 2, 300000, 1, 1 },
	{ "help is an outcome", { "-na", "--help", "--bad" }, OPTIONS_HELP, "a", 2, 300000, 1, 0 },
	{ "short help, too", { "-h" }, OPTIONS_HELP, NULL, 2, 300000, 1, 0 },
	{ "version is an outcome", { "--version" }, OPTIONS_VERSION, NULL, 2, 300000, 1, 0 },
};

static struct wrong_case {
	const char *name;
	const char *words[WORDS];
	const char *error; /* the whole message */
} wrong_cases[] = {
	{ "a typing error gets the nearest name", { "--nod-nmae=x" },
	  "unknown flag '--nod-nmae': did you mean '--node-name'?" },
	{ "what is near nothing gets none", { "--xyzzy" },
	  "unknown flag '--xyzzy': see --help" },
	{ "what is not for a slip is near to nothing", { "--ass" },
	  "unknown flag '--ass': see --help" },
	{ "a prefix is not a name", { "--node=x" },
	  "unknown flag '--node': see --help" },
	{ "an unknown letter is named", { "-x" },
	  "unknown flag '-x': see --help" },
	{ "a missing value is named", { "--node-name" },
	  "--node-name needs a value: --node-name NAME" },
	{ "a number is a number", { "--workers=two" },
	  "--workers: 'two' is not a number" },
	{ "a limit may have one end only", { "--period=1ms" },
	  "--period: '1ms' is less than 100ms" },
	{ "a number keeps its limits", { "--workers=17" },
	  "--workers: '17' is not between 1 and 16" },
	{ "a duration is a duration", { "--period=5x" },
	  "--period: '5x' is not a duration like 250ms, 30s or 5m" },
	{ "a choice is one of the choices", { "--log-level=loud" },
	  "--log-level: 'loud' is not debug, info or warn" },
	{ "a bool takes a value with a sign only", { "--dry-run=maybe" },
	  "--dry-run: 'maybe' is not true or false" },
};
/* clang-format on */

static void words_are_read(void **state)
{
	const struct args_case *c = suite_row(state);
	struct tool *tool = *state;

	assert_int_equal(tool_read(tool, c->words), c->result);
	if (c->node)
		assert_string_equal(tool->settings.node, c->node);
	else
		assert_null(tool->settings.node);
	assert_int_equal(tool->settings.workers, c->workers);
	assert_int_equal(tool->settings.period_ms, c->period_ms);
	assert_int_equal(tool->settings.level, c->level);
	assert_int_equal(tool->rest, c->rest);
}

static void wrong_words_are_named(void **state)
{
	const struct wrong_case *c = suite_row(state);
	struct tool *tool = *state;

	assert_true(tool_read(tool, c->words) < 0);
	assert_string_equal(tool->err.msg, c->error);
	assert_null(tool->settings.node);
	assert_int_equal(tool->settings.workers, 2);
	assert_int_equal(tool->settings.period_ms, 300000);
	assert_int_equal(tool->settings.level, 1);
	assert_int_equal(tool->rest, 0);
}

static void later_sources_win_in_any_order(void **state)
{
	char variables[][20] = { "NODE_NAME=env", "PERIOD=", "X=1" };
	char *environment[] = { variables[0], variables[1], variables[2], NULL };
	const char *const words[WORDS] = { "--node-name", "flag" };

	for (unsigned order = 0; order < 6; order++) {
		struct tool tool;

		tool_init(&tool);
		for (unsigned step = 0; step < 3; step++) {
			unsigned what = (order + (order < 3 ? step : 2 * step)) % 3;

			if (what == 0)
				assert_int_equal(tool_read(&tool, words), 0);
			else if (what == 1)
				assert_int_equal(options_env(&tool.o, environment, &tool.err), 0);
			else
				tool_set(&tool, "node-name", "file");
		}
		assert_string_equal(tool.settings.node, "flag");
		assert_int_equal(tool.settings.period_ms, 300000);
		tool_done(&tool);
	}
}

static void the_environment_beats_the_file(void **state)
{
	char variable[] = "NODE_NAME=env";
	char *environment[] = { variable, NULL };
	struct tool *tool = *state;

	tool_set(tool, "node-name", "file");
	assert_string_equal(tool->settings.node, "file");
	assert_int_equal(options_env(&tool->o, environment, &tool->err), 0);
	assert_string_equal(tool->settings.node, "env");
	tool_set(tool, "node-name", "file");
	assert_string_equal(tool->settings.node, "env");
}

static void bad_variables_and_keys_are_named(void **state)
{
	char variable[] = "PERIOD=soon";
	char *environment[] = { variable, NULL };
	struct tool *tool = *state;

	assert_true(options_env(&tool->o, environment, &tool->err) < 0);
	assert_string_equal(tool->err.msg,
			    "environment variable PERIOD: 'soon' is not a duration like "
			    "250ms, 30s or 5m");
	assert_true(options_set(&tool->o, "drivers", "x", OPTION_FILE, "/etc/s.yaml", &tool->err) <
		    0);
	assert_string_equal(tool->err.msg,
			    "/etc/s.yaml: unknown key 'drivers': did you mean 'driver'?");
	assert_true(options_set(&tool->o, "workers", "x", OPTION_FILE, "/etc/s.yaml", &tool->err) <
		    0);
	assert_string_equal(tool->err.msg, "/etc/s.yaml: workers: 'x' is not a number");
}

static void a_key_of_the_file_only_is_no_flag(void **state)
{
	const char *const words[WORDS] = { "--colour", "red" };
	auto_str struct str text = STR_INIT;
	struct tool *tool = *state;

	tool_set(tool, "colour", "blue");
	assert_string_equal(tool->settings.other, "blue");
	assert_true(tool_read(tool, words) < 0);
	assert_string_equal(tool->err.msg, "unknown flag '--colour': see --help");
	options_help(&tool->o, &(struct options_prose){ .program = "tool", .summary = "" }, &text);
	assert_null(strstr(str_cstr(&text), "colour"));
}

static void lists_grow_within_a_source_and_restart_with_the_next(void **state)
{
	const char *const words[WORDS] = { "--driver=a,b", "--driver", "c,,d" };
	struct tool *tool = *state;

	assert_int_equal(tool->settings.drivers.len, 1);
	tool_set(tool, "driver", "x,y");
	assert_int_equal(tool->settings.drivers.len, 1);
	assert_string_equal(tool->settings.drivers.items[0], "x,y");
	assert_int_equal(tool_read(tool, words), 0);
	assert_int_equal(tool->settings.drivers.len, 4);
	assert_string_equal(tool->settings.drivers.items[3], "d");
}

static void a_bool_needs_no_value(void **state)
{
	const char *const words[WORDS] = { "-d", "inspect" };
	struct tool *tool = *state;

	assert_false(tool->settings.dry_run);
	assert_int_equal(tool_read(tool, words), 0);
	assert_true(tool->settings.dry_run);
	assert_int_equal(tool->rest, 2);
}

static void a_flag_alone_leaves_the_next_word(void **state)
{
	const char *const words[WORDS] = { "-w", "info", "--way=debug" };
	struct tool *tool = *state;

	assert_int_equal(tool_read(tool, words), 0);
	assert_int_equal(tool->settings.way, 2);
	assert_int_equal(tool->rest, 2);
	assert_int_equal(tool_read(tool, words + 2), 0);
	assert_int_equal(tool->settings.way, 0);
}

static void a_name_may_have_commas(void **state)
{
	const char *const words[WORDS] = { "--group=a,b", "--group", "c" };
	struct tool *tool = *state;

	assert_int_equal(tool_read(tool, words), 0);
	assert_int_equal(tool->settings.groups.len, 2);
	assert_string_equal(tool->settings.groups.items[0], "a,b");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_add(&suite, "later sources win in any order", later_sources_win_in_any_order, NULL);
	suite_fixture(&suite, &tool_fixture);
	suite_rows(&suite, args_cases, words_are_read);
	suite_rows(&suite, wrong_cases, wrong_words_are_named);
	suite_add(&suite, "the environment beats the file", the_environment_beats_the_file, NULL);
	suite_add(&suite, "bad variables and keys are named", bad_variables_and_keys_are_named,
		  NULL);
	suite_add(&suite, "a key of the file only is no flag", a_key_of_the_file_only_is_no_flag,
		  NULL);
	suite_add(&suite, "lists grow within a source and restart with the next",
		  lists_grow_within_a_source_and_restart_with_the_next, NULL);
	suite_add(&suite, "a bool needs no value", a_bool_needs_no_value, NULL);
	suite_add(&suite, "a flag that needs no value leaves the next word",
		  a_flag_alone_leaves_the_next_word, NULL);
	suite_add(&suite, "a name may have commas", a_name_may_have_commas, NULL);
	return suite_run(&suite, "options");
}
