/* hostdev-agent: the command line; what it does is in node_agent (run) and inspect. */
#include <stdio.h>
#include <string.h>

#include "agent/inspect.h"
#include "agent/node_agent.h"
#include "agent/settings.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/serve.h"

/* One clear line and the status of a wrong call. */
static int misused(const struct options_prose *prose, const char *message)
{
	(void)fprintf(stderr, "%s: %s\n", prose->program, message);
	return 2;
}

static int check_ready(void *arg, struct err *err)
{
	auto_str struct str reason = STR_INIT;

	if (node_agent_ready(arg, &reason))
		return 0;
	return err_set(err, ERR_RETRY, -1, "%s", str_cstr(&reason));
}

static int serve_node(const struct settings *s)
{
	auto_free char *user_agent =
		xasprintf("hostdev-agent/%s (%s)", HOSTDEV_VERSION, s->node_name);
	struct node_agent_options options = {
		.node_name = s->node_name,
		.look = { .scan = settings_scan_options(s), .interval_ms = s->rescan_interval_ms },
	};
	struct program program;
	struct node_agent *agent;
	struct err err = { 0 };

	if (program_init(&program, &s->common, user_agent, &err) < 0)
		return program_cannot_start(settings_run_prose.program, &err);
	log_info("agent starts", log_str("version", HOSTDEV_VERSION),
		 log_str("node", s->node_name));
	agent = node_agent_new(&program.loop, program.client, &options, program.metrics);
	serve_add_check(program.serve, SERVE_READYZ, "inventory", check_ready, agent);
	program_run(&program, NULL, NULL);
	node_agent_free(agent);
	program_done(&program);
	return 0;
}

static int print_devices(const struct settings *s)
{
	struct scan_options options = settings_scan_options(s);
	struct err err = { 0 };

	if (inspect_run(&options, (enum print_format)s->output, &err) == 0)
		return 0;
	(void)fprintf(stderr, "hostdev-agent inspect: %s\n", err.msg);
	return 1;
}

/* A command: its options, and what to do with them. */
static const struct command {
	const char *word; /* NULL: no word */
	const struct option_row *(*rows)(size_t *ret_len);
	const struct options_prose *prose;
	int (*run)(const struct settings *s);
} commands[] = {
	{ "inspect", settings_inspect_rows, &settings_inspect_prose, print_devices },
	{ NULL, settings_run_rows, &settings_run_prose, serve_node },
};

static int run_command(const struct command *command, int argc, char *const *argv)
{
	struct settings settings = { 0 };
	struct options options;
	struct err err = { 0 };
	size_t len;
	const struct option_row *rows = command->rows(&len);
	int status;

	options_init(&options, rows, len, &settings);
	status = program_options(&options, &settings.common, command->prose, &argc, &argv);
	if (status < 0) {
		if (argc > 0)
			err_set(&err, ERR_INVALID, -1, "unexpected word '%s'; see --help", argv[0]);
		else
			settings_complete(&settings, &err);
		status = err.code ? misused(command->prose, err.msg) : command->run(&settings);
	}
	options_done(&options);
	return status;
}

int main(int argc, char **argv)
{
	const struct command *command = commands;

	while (command->word && (argc < 2 || strcmp(argv[1], command->word) != 0))
		command++;
	if (command->word) {
		argc--;
		argv++;
	}
	return run_command(command, argc, argv);
}
