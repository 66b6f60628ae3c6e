/* kubectl-hostdev: parses the command line of `kubectl hostdev`. Each subcommand is in a file of
 * its own. */
#include <errno.h>
#ifdef HOSTDEV_STATIC
#include <nss.h>
#endif
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/standard_fds.h"
#include "base/str.h"
#include "cli/client/session.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/complete.h"

/* clang-format off */
static const struct command *const commands[] = {
	&tree_command,
	&why_command,
	&who_command,
	&log_command,
	&plan_command,
	&claim_command,
	&release_command,
	&top_command,
	&map_command,
	&completion_command,
	&version_command,
	NULL,
};
/* clang-format on */

/* --- help ------------------------------------------------------------------------------------- */

static void add_help(struct str *to)
{
	str_add(to,
		"kubectl hostdev shows, claims and releases the devices of the cluster's nodes.\n\n"
		"Commands:\n");
	for (size_t i = 0; commands[i]; i++) {
		if (!commands[i]->hidden)
			str_addf(to, "  %-11s %s\n", commands[i]->word, commands[i]->summary);
	}
	str_add(to, "\nUsage:\n  kubectl hostdev COMMAND [ARGUMENT]... [FLAG]...\n\n"
		    "A DEVICE is the name of its object (vm1-000001000), NODE/ADDRESS\n"
		    "(vm1/0000:01:00.0, vm1/1-2.3), or an address that only one node has.\n\n"
		    "Use \"kubectl hostdev COMMAND --help\" for more about a command.\n"
		    "Use \"kubectl hostdev options\" for the flags that all commands take.\n");
}

static int print(const char *text, int status)
{
	struct out out;

	out_init(&out, OUT_TABLE);
	str_add(&out.text, text);
	if (!out_flush(&out))
		status = COMMAND_FAILED;
	str_done(&out.text);
	return status;
}

static int print_help(void)
{
	auto_str struct str text = STR_INIT;

	add_help(&text);
	return print(str_cstr(&text), COMMAND_OK);
}

static int print_command_help(const struct command *command, const struct options *options)
{
	auto_str struct str text = STR_INIT;
	struct options_prose prose = *command->prose;

	prose.common =
		"Use \"kubectl hostdev options\" for the flags that all commands take, such as "
		"--context and --namespace.";
	options_help(options, &prose, &text);
	return print(str_cstr(&text), COMMAND_OK);
}

static const struct option_row common_rows[] = { COMMAND_CLUSTER_ROWS };

/* kubectl hostdev options, as kubectl options */
static int print_options(void)
{
	static const struct options_prose prose = {
		.program = "kubectl hostdev options",
		.summary = "lists the flags that all commands take",
		.synopsis = "kubectl hostdev COMMAND [FLAG]...",
		.description = "These flags have the same meaning as in kubectl.",
		.examples = " kubectl hostdev tree --context lab\n"
			    " kubectl hostdev who -n team-a --as jane --as-group team-a",
	};
	auto_str struct str text = STR_INIT;
	struct command_settings ignored;
	struct options options;

	options_init(&options, common_rows, ARRAY_LEN(common_rows), &ignored);
	options_help(&options, &prose, &text);
	options_done(&options);
	return print(str_cstr(&text), COMMAND_OK);
}

static int print_version(void)
{
	return print("kubectl-hostdev " HOSTDEV_VERSION "\n", COMMAND_OK);
}

/* --- the command line ------------------------------------------------------------------------- */

/* Flags may be before, between and after words; "--" ends them. */
static int read_line(struct options *options, int argc, char *const *argv, struct command_run *run,
		     char **words, struct err *err)
{
	int rest = 0;
	int r;

	while (argc > 1) {
		r = options_args(options, argc, argv, &rest, err);
		if (r != OPTIONS_OK)
			return r;
		if (rest > 1 && strcmp(argv[rest - 1], "--") == 0) {
			while (rest < argc)
				words[run->words_len++] = argv[rest++];
			break;
		}
		if (rest >= argc)
			break;
		words[run->words_len++] = argv[rest];
		argc -= rest;
		argv += rest;
	}
	return OPTIONS_OK;
}

static const char *const *formats_of(const struct command *command)
{
	for (size_t i = 0; i < command->rows_len; i++) {
		if (strcmp(command->rows[i].name, "output") == 0)
			return command->rows[i].choices;
	}
	return out_formats;
}

static int check_line(struct command_run *run, struct err *err)
{
	const struct command *command = run->command;
	enum out_format format = OUT_TABLE;
	const char *jsonpath = NULL;

	if (run->words_len < command->words_min)
		return err_set(err, ERR_INVALID, -EINVAL, "%s is missing; see --help",
			       command->words);
	if (run->words_len > command->words_max)
		return err_set(err, ERR_INVALID, -EINVAL, "unexpected word '%s'; see --help",
			       run->words[command->words_max]);
	if (run->settings.output && out_format_parse(run->settings.output, formats_of(command),
						     &format, &jsonpath, err) < 0)
		return err->code;
	out_init(&run->out, format);
	run->out.jsonpath = jsonpath;
	return 0;
}

static int run_command(struct command_run *run)
{
	int status;

	run->out.headless = run->settings.no_headers;
	if (run->settings.all_namespaces) {
		free(run->settings.ns);
		run->settings.ns = NULL;
	}
	if (run->settings.ns && !run->command->of_pods)
		command_note(
			"kubectl hostdev %s: devices and claims are cluster-scoped: --namespace "
			"has no effect",
			run->command->word);
	status = run->command->run(run);
	str_done(&run->out.text);
	session_free(run->session);
	return status;
}

static int read_and_run(const struct command *command, int argc, char *const *argv)
{
	auto_free char **words = xcalloc((size_t)argc + 1, sizeof(*words));
	struct command_run run = { .command = command, .words = words };
	struct options options;
	struct err err = { 0 };
	int status;
	int r;

	options_init(&options, command->rows, command->rows_len, &run.settings);
	r = read_line(&options, argc, argv, &run, words, &err);
	if (r == OPTIONS_HELP)
		status = print_command_help(command, &options);
	else if (r == OPTIONS_VERSION)
		status = print_version();
	else if (r < 0 || check_line(&run, &err) < 0)
		status = command_misuse(command->word, err.msg);
	else
		status = run_command(&run);
	options_done(&options);
	return status;
}

/* Find the subcommand's word, after the flags that all commands take. */
static int find_word(int argc, char *const *argv, int *ret_at, struct err *err)
{
	struct command_settings ignored;
	struct options options;
	int r;

	options_init(&options, common_rows, ARRAY_LEN(common_rows), &ignored);
	r = options_args(&options, argc, argv, ret_at, err);
	options_done(&options);
	return r;
}

/* The command that @unknown means: by a word of kubectl's that the plugin does not have, or by
 * spelling. NULL: none. */
static const char *meant_command(const char *unknown)
{
	static const struct {
		const char *kubectls;
		const char *ours;
	} words[] = { { "explain", "why" }, { "describe", "why" }, { "get", "tree" },
		      { "list", "tree" },   { "ls", "tree" },      { "delete", "release" },
		      { "logs", "log" } };
	const char *nearest = NULL;
	size_t least = str_far(unknown);

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		if (strcmp(unknown, words[i].kubectls) == 0)
			return words[i].ours;
	}
	for (size_t i = 0; commands[i]; i++) {
		size_t distance = str_distance(unknown, commands[i]->word);

		if (distance < least && !commands[i]->hidden) {
			least = distance;
			nearest = commands[i]->word;
		}
	}
	return nearest;
}

/* @word: the command that the user ran; NULL: kubectl hostdev itself. */
static int unknown_command(const char *word, const char *unknown)
{
	const char *nearest = meant_command(unknown);
	auto_free char *message = NULL;

	message = nearest ? xasprintf("unknown command '%s': did you mean '%s'?", unknown, nearest)
			  : xasprintf("unknown command '%s': see kubectl hostdev --help", unknown);
	return command_misuse(word, message);
}

/* Run the command with the rest of the line: argv without the subcommand's word. */
static int run_line(int argc, char *const *argv, int at)
{
	const struct command *command = command_find(commands, argv[at]);
	auto_free char **line = NULL;

	if (!command)
		return unknown_command(NULL, argv[at]);
	line = xcalloc((size_t)argc + 1, sizeof(*line));
	for (int i = 0, to = 0; i < argc; i++) {
		if (i != at)
			line[to++] = argv[i];
	}
	return read_and_run(command, argc - 1, line);
}

/* kubectl hostdev help [COMMAND] */
static int run_help(int argc, char *const *argv, int at)
{
	const char *word = at + 1 < argc && argv[at + 1][0] != '-' ? argv[at + 1] : "help";
	const struct command *command = command_find(commands, word);
	struct command_settings ignored;
	struct options options;
	int status;

	if (strcmp(word, "help") == 0)
		return print_help();
	if (strcmp(word, "options") == 0)
		return print_options();
	if (!command)
		return unknown_command("help", word);
	options_init(&options, command->rows, command->rows_len, &ignored);
	status = print_command_help(command, &options);
	options_done(&options);
	return status;
}

/* kubectl hostdev __complete [WORD]... WORD-AS-FAR-AS-IT-IS-TYPED */
static int run_complete(int argc, char *const *argv, int at)
{
	static char empty[] = "";
	static char *const nothing[] = { empty };
	struct complete_line line = { .commands = commands, .words = nothing, .len = 1 };

	if (at + 1 < argc) {
		line.words = argv + at + 1;
		line.len = (size_t)(argc - at - 1);
	}
	return complete_run(&line);
}

/* A static program has the name services "files" and "dns" in it (glibc 2.34 and later). Any other
 * that nsswitch.conf names, such as "resolve", it would load from the machine, and a library for
 * another glibc can end the program. */
static void keep_to_own_name_services(void)
{
#ifdef HOSTDEV_STATIC
	(void)__nss_configure_lookup("hosts", "files dns");
#endif
}

int main(int argc, char *argv[])
{
	struct err err = { 0 };
	int at = argc;
	int r;

	standard_fds_open();
	keep_to_own_name_services();
	/* Log lines are for services. Here, errors are printed by the commands. */
	log_set_level(LOG_ERROR);
	/* With SIGPIPE ignored, a closed connection is an error of write(). out_flush() handles
	 * a closed standard output. */
	(void)signal(SIGPIPE, SIG_IGN);
	r = find_word(argc, argv, &at, &err);
	if (r < 0)
		return command_misuse(NULL, err.msg);
	if (r == OPTIONS_VERSION)
		return print_version();
	if (r == OPTIONS_HELP || at >= argc)
		return print_help();
	if (strcmp(argv[at], "__complete") == 0)
		return run_complete(argc, argv, at);
	if (strcmp(argv[at], "help") == 0)
		return run_help(argc, argv, at);
	if (strcmp(argv[at], "options") == 0)
		return print_options();
	return run_line(argc, argv, at);
}
