/* command: what it says of a wrong command line, and the flags that commands share. */
#include "unit/suite.h"

#include "base/err.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "unit/captured.h"

static struct misuse_case {
	const char *name;
	const char *word; /* NULL: kubectl hostdev itself */
	const char *message;
	const char *said;
} misuses[] = {
	{ "the help that is meant is named", "claim", "unknown flag '--x': see --help",
	  "kubectl hostdev claim: unknown flag '--x': see kubectl hostdev claim --help\n" },
	{ "without a command, too", NULL, "unknown flag '--x': see --help",
	  "kubectl hostdev: unknown flag '--x': see kubectl hostdev --help\n" },
	{ "only at the end", "claim", "see --help first", "kubectl hostdev claim: see --help first\n" },
	{ "a message without it stays, cleaned", "claim", "no \033 and no help",
	  "kubectl hostdev claim: no \\x1b and no help\n" },
};

static void misuse_is_told_so(void **state)
{
	const struct misuse_case *c = *state;
	struct captured captured;
	auto_free char *said = NULL;

	captured_begin(&captured);
	assert_int_equal(command_misuse(c->word, c->message), COMMAND_MISUSED);
	said = captured_end(&captured);
	assert_string_equal(said, c->said);
}

/* What claim does can be planned. */
static struct flag_case {
	const char *name;
	const struct command *command;
} flags[] = {
	{ "--release-without-driver of claim", &claim_command },
	{ "--release-without-driver of plan", &plan_command },
};

static void flag_is_known(void **state)
{
	const struct flag_case *c = *state;
	char program[] = "x", flag[] = "--release-without-driver";
	char *const argv[] = { program, flag, NULL };
	struct command_settings settings;
	struct options options;
	struct err err = { 0 };
	int rest = 0;

	options_init(&options, c->command->rows, c->command->rows_len, &settings);
	assert_int_equal(options_args(&options, 2, argv, &rest, &err), OPTIONS_OK);
	assert_true(settings.release_without_driver);
	options_done(&options);
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, misuses, misuse_is_told_so);
	suite_rows(&suite, flags, flag_is_known);
	return suite_run(&suite, "command");
}
