/* command: what all commands say of a wrong command line, and what they share: flags, ages,
 * names. */
#include "unit/suite.h"

#include "base/err.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/model/age.h"
#include "unit/captured.h"
#include "unit/cli/made.h"

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
	{ "only at the end", "claim", "see --help first",
	  "kubectl hostdev claim: see --help first\n" },
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

static struct age_case {
	const char *name;
	const char *since;
	const char *age;
} ages[] = {
	{ "seconds", "2026-01-02T03:59:01Z", "59s" },
	{ "up to two minutes", "2026-01-02T03:58:01Z", "119s" },
	{ "minutes and seconds", "2026-01-02T03:55:50Z", "4m10s" },
	{ "whole minutes", "2026-01-02T03:55:00Z", "5m" },
	{ "minutes alone", "2026-01-02T02:30:30Z", "89m" },
	{ "hours and minutes", "2026-01-01T23:30:00Z", "4h30m" },
	{ "hours alone", "2026-01-01T04:00:00Z", "24h" },
	{ "days", "2025-12-25T04:00:00Z", "8d" },
	{ "what is yet to come is now", "2026-01-02T05:00:00Z", "0s" },
	{ "what is no time has no age", "yesterday", "" },
	{ "nor has nothing", NULL, "" },
};

static void age_reads_so(void **state)
{
	const struct age_case *c = *state;
	char buf[AGE_MAX];

	assert_string_equal(age_text(c->since, 1767326400000, buf), c->age);
}

static void kinds_are_named_as_kubectl_does(void **state)
{
	auto_str struct str text = STR_INIT;

	out_kind_name(&text, cluster_kind(CLUSTER_PCICLAIM), "vm1-000003000");
	assert_string_equal(str_cstr(&text),
			    "pcideviceclaim.devices.harvesterhci.io/vm1-000003000");
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, misuses, misuse_is_told_so);
	suite_rows(&suite, flags, flag_is_known);
	suite_rows(&suite, ages, age_reads_so);
	suite_add(&suite, "kinds are named as kubectl does", kinds_are_named_as_kubectl_does, NULL);
	return suite_run(&suite, "command");
}
