#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/client/session.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/map/map_view.h"
#include "kube/clock.h"

/* The user's runtime folder, if it exists and only the user can read it. */
static const char *private_folder(void)
{
	const char *folder = getenv("XDG_RUNTIME_DIR");
	struct stat st;

	if (folder && *folder == '/' && stat(folder, &st) == 0 && S_ISDIR(st.st_mode) &&
	    st.st_uid == geteuid() && (st.st_mode & 077) == 0)
		return folder;
	return "/tmp";
}

/* Write a file that only its owner can read and that redirects to @address. The address has the
 * token, which must not be on a command line that other users see. The caller unlinks and frees;
 * NULL: it cannot be written. */
static char *write_redirect(const char *address)
{
	static const char suffix[] = ".html";
	auto_free char *path = xasprintf("%s/hostdev-map-XXXXXX%s", private_folder(), suffix);
	auto_str struct str text = STR_INIT;
	auto_close int fd = mkostemps(path, (int)sizeof(suffix) - 1, O_CLOEXEC);

	if (fd < 0)
		return NULL;
	str_addf(&text,
		 "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n"
		 "<meta name=\"referrer\" content=\"no-referrer\">\n"
		 "<meta http-equiv=\"refresh\" content=\"0; url=%s\">\n"
		 "<title>kubectl hostdev map</title>\n<a href=\"%s\">kubectl hostdev map</a>\n",
		 address, address);
	if (file_write_all(fd, str_cstr(&text), text.len) == 0)
		return take_ptr(path);
	(void)unlink(path);
	return NULL;
}

/* Start the desktop's program that opens a file. It ends by itself; its output is ignored. */
static void open_browser(const char *file)
{
	char opener[] = "xdg-open";
	auto_free char *copy = file ? xstrdup(file) : NULL;
	char *const argv[] = { opener, copy, NULL };
	pid_t pid;

	if (!file || posix_spawnp(&pid, opener, NULL, NULL, argv, environ) != 0)
		command_note("%s: open the address by hand",
			     file ? "xdg-open cannot be started"
				  : "the file for xdg-open cannot be written");
}

static void print_line(const char *line)
{
	command_note("%s", line);
}

/* Only the port of the address can be chosen. */
static int fail(const struct command_run *run, int r, struct err *err)
{
	if (r == -EADDRINUSE)
		err_set(err, ERR_RETRY, r,
			"port %u of 127.0.0.1 is in use by another program: choose another with "
			"--port, or leave --port out for any that is free",
			(unsigned)run->settings.port);
	return command_fail(run, err);
}

/* Run until a signal, which is the usual end. */
static int serve(struct command_run *run, struct session *session, struct clock *clock)
{
	auto_free char *user = session_caller(session);
	struct map_view_options options = {
		.loop = session_loop(session),
		.clock = clock,
		.client = session_client(session),
		.cluster = session_server(session),
		.user = user,
		.port = (unsigned)run->settings.port,
		.print = print_line,
	};
	static const size_t for_ever = 1;
	auto_free char *redirect = NULL;
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
	command_note(
		"Keep the address secret: anyone who has it can see the devices. Ctrl-C ends the "
		"map.");
	if (run->settings.open) {
		redirect = write_redirect(map_view_address(view));
		open_browser(redirect);
	}
	(void)session_run(session, &for_ever);
	if (redirect)
		(void)unlink(redirect);
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
	/* Errors of watches are shown on the page (map_errors.h). */
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
	  .help = "The port of 127.0.0.1 to listen on. Without it, any free port." },
	{ .name = "open",
	  .type = OPTION_BOOL,
	  COMMAND_AT(open),
	  .help = "Open the page with xdg-open, which gets a file that only you can read." },
	COMMAND_CLUSTER_ROWS,
};

static const struct options_prose prose = {
	.program = "kubectl hostdev map",
	.summary = "shows the devices live in a browser",
	.synopsis = "kubectl hostdev map [--port PORT] [--open]",
	.description =
		"Serves a page on 127.0.0.1 that shows the nodes of the cluster, their buses, "
		"IOMMU groups and devices, and updates itself. Prints the page's address, and runs "
		"until Ctrl-C.\n"
		"\n"
		"It reads the cluster with the rights of your kubeconfig and changes nothing. The "
		"address contains a random token; requests without it are refused.",
	.examples = " kubectl hostdev map\n"
		    " kubectl hostdev map --port 8800 --open",
};

const struct command map_command = {
	.word = "map",
	.summary = "Show the devices live in a browser, with groups, states and events",
	COMMAND_LINE(prose, rows),
	.run = run_map,
};
