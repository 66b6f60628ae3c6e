/* hostdev-agent: the command line and `inspect`; node_agent and plan have the rest. */
#include <stdio.h>
#include <string.h>
#include <uv.h>

#include "agent/monitor/scan.h"
#include "agent/node_agent.h"
#include "agent/plan.h"
#include "agent/print.h"
#include "agent/settings.h"
#include "agent/standby.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/standard_fds.h"
#include "base/str.h"
#include "kube/loop.h"
#include "kube/serve.h"
#include "text/out.h"

/* The agent at its work, once it is its turn. */
struct serving {
	struct program program;
	struct node_agent_options options;
	struct standby *standby;
	struct node_agent *agent; /* NULL before its turn */
};

static int check_ready(void *arg, struct err *err)
{
	struct serving *serving = arg;
	auto_str struct str reason = STR_INIT;

	if (standby_locked(serving->standby, &reason) &&
	    (serving->agent ? node_agent_ready(serving->agent, &reason)
			    : standby_ready(serving->standby, &reason)))
		return 0;
	return err_set(err, ERR_RETRY, -1, "%s", str_cstr(&reason));
}

static void on_turn(void *arg)
{
	struct serving *serving = arg;
	struct program *program = &serving->program;
	struct node_agent_seen seen = { 0 };

	standby_take(serving->standby, &seen.monitor, &seen.inventory);
	serving->agent = node_agent_new(&program->loop, program->client, &serving->options, &seen,
					program->metrics);
}

static void on_stopped(void *arg)
{
	struct serving *serving = arg;

	program_stop(&serving->program);
}

/* The kubelet is to know it first. */
static void on_signal(void *arg)
{
	struct serving *serving = arg;

	if (serving->agent)
		node_agent_stop(serving->agent, on_stopped, serving);
	else
		program_stop(&serving->program);
}

static void serve(struct serving *serving)
{
	struct program *program = &serving->program;

	serving->standby = standby_new(&(struct standby_deps){
		.loop = &program->loop,
		.client = program->client,
		.kubelet_dir = serving->options.node.kubelet_dir,
		.monitor = &serving->options.monitor,
		.metrics = program->metrics,
		.on_turn = on_turn,
		.arg = serving,
	});
	serve_add_check(program->serve, SERVE_READYZ, "inventory", check_ready, serving);
	program_run(program, on_signal, serving);
	node_agent_free(serving->agent);
	standby_free(serving->standby);
	program_done(program);
}

static int serve_node(const struct settings *s, char *const *words)
{
	auto_free char *user_agent =
		xasprintf("hostdev-agent/%s (%s)", HOSTDEV_VERSION, s->node_name);
	struct serving serving = { .options = {
					   .node_name = s->node_name,
					   .node = settings_node_options(s),
					   .monitor = { .scan = settings_scan_options(s),
							.interval_ms = s->rescan_interval_ms },
					   .offers = settings_offers_options(s),
					   .gpu = settings_gpu_options(s),
					   .nvidia = settings_nvidia_options(s),
					   .hami = settings_hami_options(s),
					   .drm = settings_drm_options(s),
					   .driverless = settings_driverless(s),
				   } };
	struct err err = { 0 };

	(void)words;
	if (program_init(&serving.program, &s->common, user_agent, &err) < 0)
		return program_cannot_start(settings_run_prose.program, &err);
	log_info("agent starts", log_str("version", HOSTDEV_VERSION),
		 log_str("node", s->node_name));
	serve(&serving);
	return 0;
}

struct inspection {
	struct inventory *inventory;
	struct err err;
};

static void on_scanned(void *arg, struct inventory *inventory, const struct err *err)
{
	struct inspection *inspection = arg;

	inspection->inventory = inventory;
	if (!inventory)
		inspection->err = *err;
}

/* Scan once, on a loop of its own. NULL: @err says why there is no inventory. */
static struct inventory *inspect(const struct scan_options *options, struct err *err)
{
	struct inspection inspection = { 0 };
	struct scan *scan;
	uv_loop_t loop;

	if (loop_open(&loop, err) < 0)
		return NULL;
	scan = scan_new(&loop, options, on_scanned, &inspection);
	scan_start(scan);
	while (!inspection.inventory && !inspection.err.code && uv_run(&loop, UV_RUN_ONCE))
		;
	scan_free(scan);
	loop_close(&loop);
	if (!inspection.inventory)
		*err = inspection.err;
	return inspection.inventory;
}

static int print_devices(const struct settings *s, char *const *words)
{
	struct scan_options options = settings_scan_options(s);
	struct err err = { 0 };
	struct inventory *inventory = inspect(&options, &err);
	struct out out;
	int r = -1;

	(void)words;
	if (inventory) {
		out_init(&out, (enum out_format)s->output);
		print_inventory(&out, inventory);
		inventory_free(inventory);
		r = print_text(&out.text, &err);
		str_done(&out.text);
	}
	if (r == 0)
		return 0;
	(void)fprintf(stderr, "hostdev-agent inspect: %s\n", err.msg);
	return 1;
}

static int print_plan(const struct settings *s, char *const *words)
{
	struct json_strs drivers = settings_vfio_drivers(s);
	struct json_strs driverless = settings_driverless(s);
	struct plan_options options = {
		.scan = settings_scan_options(s),
		.binder = settings_binder_options(s),
		.vfio_drivers = &drivers,
		.driverless = &driverless,
		.driver = s->driver,
		.include_group = s->include_group,
		.release = s->release,
	};
	struct err err = { 0 };
	int r;

	if (!words[0])
		return program_misused(
			&settings_plan_prose,
			"which claim? give its name, the device's, or a PCI address");
	r = plan_run(&options, words, &err);
	if (r >= 0)
		return r;
	if (err.kind == ERR_INVALID)
		return program_misused(&settings_plan_prose, err.msg);
	(void)fprintf(stderr, "hostdev-agent plan: %s\n", err.msg);
	return 1;
}

/* A command: its options, and what to do with them. */
static const struct command {
	const char *word; /* NULL: no word */
	enum settings_command options;
	const struct options_prose *prose;
	bool words; /* it takes words behind the flags */
	int (*run)(const struct settings *s, char *const *words); /* NULL ends the words */
} commands[] = {
	{ "inspect", SETTINGS_INSPECT, &settings_inspect_prose, false, print_devices },
	{ "plan", SETTINGS_PLAN, &settings_plan_prose, true, print_plan },
	{ NULL, SETTINGS_RUN, &settings_run_prose, false, serve_node },
};

static int run_command(const struct command *command, int argc, char *const *argv)
{
	struct settings settings = { 0 };
	struct options options;
	struct err err = { 0 };
	struct settings_rows rows;
	int status;

	settings_rows(command->options, &rows);
	options_init(&options, rows.items, rows.len, &settings);
	status = program_options(&options, &settings.common, command->prose, &argc, &argv);
	if (status < 0) {
		if (argc > 0 && !command->words)
			err_set(&err, ERR_INVALID, -1, "unexpected word '%s'; see --help", argv[0]);
		else
			settings_complete(&settings, &err);
		status = err.code ? program_misused(command->prose, err.msg)
				  : command->run(&settings, argv);
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
