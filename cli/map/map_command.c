#include <errno.h>
#include <spawn.h>
#include <stdio.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/ask/session.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/map/map_view.h"
#include "kube/clock.h"

/* The desktop's way to open an address; it ends by itself, and what it says is its own. */
static void open_browser(const char *address)
{
	char opener[] = "xdg-open";
	auto_free char *copy = xstrdup(address);
	char *const argv[] = { opener, copy, NULL };
	pid_t pid;

	if (posix_spawnp(&pid, opener, NULL, NULL, argv, environ) != 0)
		command_note("xdg-open cannot be started: open the address by hand");
}

static void say_line(const char *line)
{
	command_note("%s", line);
}

/* The port is all that is chosen here of an address to listen on. */
static int fail(const struct command_run *run, int r, struct err *err)
{
	if (r == -EADDRINUSE)
		err_set(err, ERR_RETRY, r,
			"port %u of 127.0.0.1 is in use by another program: choose another with "
			"--port, or leave --port out for any that is free",
			(unsigned)run->settings.port);
	return command_fail(run, err);
}

/* Until a signal comes, which is how it is meant to end. */
static int serve(struct command_run *run, struct session *session, struct clock *clock)
{
	struct map_view_options options = {
		.loop = session_loop(session),
		.clock = clock,
		.client = session_client(session),
		.cluster = session_server(session),
		.port = (unsigned)run->settings.port,
		.say = say_line,
	};
	static const size_t for_ever = 1;
	struct map_view *view;
	struct err err = { 0 };
	int r;

	r = map_view_new(&options, &view, &err);
	if (r < 0)
		return fail(run, r, &err);
	str_addf(&run->out.text, "%s\n", map_view_address(view));
	if (!out_flush(&run->out)) {
		map_view_free(view);
		return COMMAND_FAILED;
	}
	command_note("The address is for you alone: who has it sees the devices. Ctrl-C ends it.");
	if (run->settings.open)
		open_browser(map_view_address(view));
	(void)session_run(session, &for_ever);
	map_view_free(view);
	return COMMAND_OK;
}

static int run_map(struct command_run *run)
{
	struct session *session = command_session(run);
	struct clock *clock;
	int status;

	if (!session)
		return COMMAND_FAILED;
	/* What goes wrong with a watch is told on the page, and in words of its own (map_trouble.h). */
	log_set_level(LOG_ERROR);
	session_catch_signals(session);
	clock = clock_new(session_loop(session));
	status = serve(run, session, clock);
	clock_free(clock);
	return status;
}

static const struct option_row rows[] = {
	{ .name = "port",
	  .type = OPTION_U64,
	  COMMAND_AT(port),
	  .max = 65535,
	  .argument = "PORT",
	  .group = "Page",
	  .help = "Listen on this port of 127.0.0.1. Without it: on any that is free." },
	{ .name = "open",
	  .type = OPTION_BOOL,
	  COMMAND_AT(open),
	  .help = "Open the page with xdg-open." },
	COMMAND_CLUSTER_ROWS,
};

static const struct options_prose prose = {
	.program = "kubectl hostdev map",
	.summary = "shows the devices live in a browser",
	.synopsis = "kubectl hostdev map [--port PORT] [--open]",
	.description =
		"Serves a page on 127.0.0.1 that shows the nodes of the cluster, their buses, IOMMU "
		"groups and devices, and follows every change; prints its address, and runs until "
		"Ctrl-C.\n\n"
		"It reads the cluster with the rights of your kubeconfig and changes nothing. The "
		"address has a random token in it: who does not have it gets no answer.",
	.examples = " kubectl hostdev map\n"
		    " kubectl hostdev map --port 8800 --open",
};

const struct command map_command = {
	.word = "map",
	.summary = "Show the devices live in a browser, with groups, states and events",
	.prose = &prose,
	.rows = rows,
	.rows_len = ARRAY_LEN(rows),
	.run = run_map,
};
