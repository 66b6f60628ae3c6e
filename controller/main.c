/* hostdev-controller: the command line. The work is done in leader, upkeep, gate and uninstall. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/standard_fds.h"
#include "controller/gate.h"
#include "controller/leader.h"
#include "controller/settings.h"
#include "controller/uninstall.h"
#include "controller/upkeep.h"
#include "kube/serve.h"
#include "page/page.h"

struct replica {
	struct program program;
	struct leader *leader;
	struct gate *gate;
	struct upkeep *upkeep;
};

static int check_ready(void *arg, struct err *err)
{
	if (leader_known(arg))
		return 0;
	return err_set(err, ERR_RETRY, -1, "the Lease has not been read yet");
}

static void on_drained(void *arg)
{
	struct replica *replica = arg;

	program_stop(&replica->program);
}

static void on_resigned(void *arg)
{
	struct replica *replica = arg;

	gate_drain(replica->gate, on_drained, replica);
}

/* SIGTERM: release the Lease, drain the webhook, then exit. */
static void on_signal(void *arg)
{
	struct replica *replica = arg;

	leader_resign(replica->leader, on_resigned, replica);
}

/* Does nothing if @listen is "off". */
static int serve_map(struct program *program, const char *listen, struct err *err)
{
	int r = serve_open_files(program->serve, &program->loop, listen, &page_files, err);
	unsigned port = serve_port(program->serve, SERVE_FILES);

	if (r == 0 && port > 0)
		log_info("map listening", log_int("port", port));
	return r;
}

static int run(const struct settings *s)
{
	struct leader_options options = { .ns = s->ns, .identity = s->pod_name };
	struct gate_options gate = { .listen = s->webhook_listen,
				     .ns = s->ns,
				     .hosts = &s->webhook_hosts,
				     .pod_name = s->pod_name,
				     .refuse_pinned = s->pinned_pods == PINNED_PODS_REFUSE,
				     .client_ca = s->webhook_client_ca };
	struct upkeep_options upkeep = {
		.ns = s->ns,
		.agents = s->agent_pods,
		.gone_ms = s->node_gone_after_ms,
		.machines = gate_opens(&gate),
		.kubevirt = (enum kubevirt_mode)s->kubevirt,
	};
	struct replica replica = { 0 };
	struct err err = { 0 };
	int status = 0;

	if (program_init(&replica.program, &s->common, "hostdev-controller/" HOSTDEV_VERSION,
			 &err) < 0)
		return program_cannot_start(settings_prose.program, &err);
	log_info("starting controller", log_str("version", HOSTDEV_VERSION),
		 log_str("identity", s->pod_name));
	replica.leader = leader_new(&replica.program.loop, replica.program.client, &options,
				    replica.program.metrics);
	serve_add_check(replica.program.serve, SERVE_READYZ, "election", check_ready,
			replica.leader);
	replica.upkeep = upkeep_new(&replica.program, replica.leader, &upkeep);
	if (serve_map(&replica.program, s->map_listen, &err) < 0 ||
	    gate_new(&replica.program, replica.leader, upkeep_cache(replica.upkeep), &gate,
		     &replica.gate, &err) < 0)
		status = program_cannot_start(settings_prose.program, &err);
	else
		program_run(&replica.program, on_signal, &replica);
	gate_free(replica.gate);
	upkeep_free(replica.upkeep);
	leader_free(replica.leader);
	program_done(&replica.program);
	return status;
}

/* Print one line and return the exit status for wrong usage. */
static int misused(const struct options_prose *prose, const char *message)
{
	(void)fprintf(stderr, "%s: %s\n", prose->program, message);
	return 2;
}

static int uninstall(const struct settings *s)
{
	struct program program;
	struct err err = { 0 };
	int status;

	if (program_init(&program, &s->common, "hostdev-controller/" HOSTDEV_VERSION, &err) < 0)
		return program_cannot_start(settings_uninstall_prose.program, &err);
	status = uninstall_run(&program, s->timeout_ms);
	program_done(&program);
	return status;
}

/* A command, its options and its function. */
static const struct command {
	const char *word; /* NULL: the default command */
	const struct option_row *(*rows)(size_t *ret_len);
	const struct options_prose *prose;
	int (*run)(const struct settings *s);
} commands[] = {
	{ "uninstall", settings_uninstall_rows, &settings_uninstall_prose, uninstall },
	{ NULL, settings_rows, &settings_prose, run },
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

	standard_fds_open();
	while (command->word && (argc < 2 || strcmp(argv[1], command->word) != 0))
		command++;
	if (command->word) {
		argc--;
		argv++;
	}
	return run_command(command, argc, argv);
}
