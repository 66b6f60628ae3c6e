/* hostdev-controller: the command line; what it does is in leader. */
#include <stdio.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/leader.h"
#include "controller/settings.h"
#include "kube/serve.h"

struct replica {
	struct program program;
	struct leader *leader;
};

static int check_ready(void *arg, struct err *err)
{
	if (leader_known(arg))
		return 0;
	return err_set(err, ERR_RETRY, -1, "the Lease has not been read yet");
}

static void on_resigned(void *arg)
{
	struct replica *replica = arg;

	program_stop(&replica->program);
}

/* SIGTERM: hand over first, then end. */
static void on_signal(void *arg)
{
	struct replica *replica = arg;

	leader_resign(replica->leader, on_resigned, replica);
}

static int run(const struct settings *s)
{
	struct leader_options options = { .ns = s->ns, .identity = s->pod_name };
	struct replica replica = { 0 };
	struct err err = { 0 };

	if (program_init(&replica.program, &s->common, "hostdev-controller/" HOSTDEV_VERSION,
			 &err) < 0)
		return program_cannot_start(settings_prose.program, &err);
	log_info("controller starts", log_str("version", HOSTDEV_VERSION),
		 log_str("identity", s->pod_name));
	replica.leader = leader_new(&replica.program.loop, replica.program.client, &options,
				    replica.program.metrics);
	serve_add_check(replica.program.serve, SERVE_READYZ, "election", check_ready,
			replica.leader);
	program_run(&replica.program, on_signal, &replica);
	leader_free(replica.leader);
	program_done(&replica.program);
	return 0;
}

/* One clear line and the status of a wrong call. */
static int misused(const char *message)
{
	(void)fprintf(stderr, "hostdev-controller: %s\n", message);
	return 2;
}

int main(int argc, char **argv)
{
	struct settings settings = { 0 };
	struct options options;
	struct err err = { 0 };
	size_t len;
	const struct option_row *rows = settings_rows(&len);
	char *const *words = argv;
	int status;

	options_init(&options, rows, len, &settings);
	status = program_options(&options, &settings.common, &settings_prose, &argc, &words);
	if (status < 0) {
		if (argc > 0)
			err_set(&err, ERR_INVALID, -1, "unexpected word '%s'; see --help",
				words[0]);
		else
			settings_complete(&settings, &err);
		status = err.code ? misused(err.msg) : run(&settings);
	}
	options_done(&options);
	return status;
}
