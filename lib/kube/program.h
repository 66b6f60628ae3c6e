/*
 * program: the common parts of both programs: read settings, connect to the API server, serve
 * probes, end on a signal.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/options.h"
#include "kube/config.h"
#include "kube/metrics.h"

struct err;
struct kube_client;
struct metrics;
struct serve;

/* The settings that both programs share. */
struct program_settings {
	char *config_file;
	int log_level; /* enum log_level */
	char *kubeconfig;
	char *context;
	char *listen;
	char *probe_listen;
};

extern const char *const program_log_levels[];

/* clang-format off */
/* Option rows for settings of type @type_, whose member @m_ is a struct program_settings. Both
 * are used in an offsetof and must not be put in parentheses. */
/* NOLINTBEGIN(bugprone-macro-parentheses) */
#define PROGRAM_LOG_ROWS(type_, m_) \
	{ .name = "config", .type = OPTION_STRING, .offset = offsetof(type_, m_.config_file), \
	  .argument = "FILE", .group = "General", \
	  .help = "Read settings from this YAML file: a mapping with the names of these flags as " \
		  "keys. Flags and environment win over it." }, \
	{ .name = "log-level", .type = OPTION_ENUM, .offset = offsetof(type_, m_.log_level), \
	  .choices = program_log_levels, .fallback = "info", .argument = "LEVEL", \
	  .help = "What to log on standard error." }

#define PROGRAM_CLUSTER_ROWS(type_, m_, listen_) \
	{ .name = "kubeconfig", .type = OPTION_STRING, .offset = offsetof(type_, m_.kubeconfig), \
	  .argument = "FILE", .group = "Cluster", \
	  .help = "How to reach the API server. Without it: the files in $KUBECONFIG, else the " \
		  "pod's service account, else ~/.kube/config." }, \
	{ .name = "context", .type = OPTION_STRING, .offset = offsetof(type_, m_.context), \
	  .argument = "NAME", \
	  .help = "The kubeconfig's context to use instead of its current one." }, \
	{ .name = "listen", .type = OPTION_STRING, .offset = offsetof(type_, m_.listen), \
	  .fallback = (listen_), .argument = "ADDRESS:PORT", \
	  .help = "Serve /healthz, /readyz and /metrics here; \":PORT\" for all addresses, " \
		  "\"off\" for none." }, \
	{ .name = "probe-listen", .type = OPTION_STRING, \
	  .offset = offsetof(type_, m_.probe_listen), \
	  .fallback = "off", .argument = "ADDRESS:PORT", \
	  .help = "Also serve /healthz and /readyz here, without metrics: readers of metrics " \
		  "then need no access to the probes." }
/* NOLINTEND(bugprone-macro-parentheses) */
/* clang-format on */

/*
 * Fill the settings from flags, environment and file, and advance @argc and @argv to the first
 * argument that is not a flag. Returns < 0 to continue, else the exit status: 0 if help or version
 * was printed, 2 if one line about an error was printed.
 */
int program_options(struct options *o, const struct program_settings *common,
		    const struct options_prose *prose, int *argc, char *const **argv);

/* Print one line about a wrong command line and return its exit status. */
int program_misused(const struct options_prose *prose, const char *message);

/*
 * Read the settings in @path, a YAML mapping with flag names as keys and scalars or lists of
 * scalars as values. Errors: -ENOENT and others from reading the file; ERR_INVALID for invalid
 * content, with file and key in the message.
 */
int program_read_file(struct options *o, const char *path, struct err *err);

struct program {
	uv_loop_t loop;
	struct kube_config config;
	struct metrics *metrics;
	struct process_metrics process;
	struct kube_client *client;
	struct serve *serve;

	uv_signal_t signals[2];
	void (*on_signal)(void *arg);
	void *arg;
};

/* Load the configuration, create the client, listen. The API server need not be reachable yet.
 * On error nothing is left open. */
int program_init(struct program *p, const struct program_settings *settings, const char *user_agent,
		 struct err *err);

/* Report why program_init() failed and return the exit status: 2 and one plain line for a wrong
 * setting, 1 and a log line for a failure that may be temporary. */
int program_cannot_start(const char *name, const struct err *err);

/* Run until program_stop(). On SIGTERM or SIGINT, @signal_fn is called once (NULL:
 * program_stop()); a second signal ends the process at once. */
void program_run(struct program *p, void (*signal_fn)(void *arg), void *arg);

void program_stop(struct program *p);

/* Release; all other owners of handles on the loop must be released before. */
void program_done(struct program *p);
