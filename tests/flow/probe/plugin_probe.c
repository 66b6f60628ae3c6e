/*
 * plugin-probe: the agent's device plugins without devices, for kubelets that a test makes.
 *
 *	plugin-probe DIR
 *
 * DIR is the kubelet's device-plugins folder. A line on standard input is a command, and the end of
 * the input the program's:
 *
 *	offer RESOURCE N [DIGITS]  the resource has N healthy devices: device-0 and so on, with so many digits
 *	                           at least; 0: it is withdrawn
 *	later RESOURCE N           the same; an Allocate waits: "asked DEVICE", its first one
 *	answer DEVICE              gives it as a CDI device, with an annotation: "answered DEVICE", or "unwanted DEVICE"
 *	                           if nobody waits for it any more
 *	refuse DEVICE              likewise, with an error
 *	sync                       "in sync", when all before it was done
 *
 * Prints "ready", one line for each event of the plugins, and "closed 0" when nothing is left on
 * the loop.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "agent/plugin/kubelet_watch.h"
#include "agent/plugin/plugins.h"
#include "base/err.h"
#include "base/lines.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "kube/clock.h"

enum { COMMAND_MAX = 4096, WORDS_MAX = 4, DEVICES_MAX = 100000, DIGITS_MAX = 64, LATER_MAX = 64 };

struct later {
	char *device; /* NULL: none */
	struct deferred *deferred;
};

struct probe {
	uv_loop_t loop;
	uv_poll_t input;
	struct lines commands;
	struct clock *clock;
	struct kubelet_watch *watch;
	struct plugins *plugins;
	struct later later[LATER_MAX];
};

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (vprintf(fmt, args) < 0 || putchar('\n') == EOF || fflush(stdout) == EOF)
		exit(1);
	va_end(args);
}

/* --- the devices ------------------------------------------------------------------------------ */

static int toys_allocate(void *arg, const char *resource, const struct json_strs *ids,
			 struct allocation *allocation, struct err *err)
{
	(void)arg;
	(void)resource;
	(void)err;
	for (size_t i = 0; i < ids->len; i++) {
		auto_free char *node = xasprintf("/dev/toy/%s", ids->items[i]);

		allocation_add_device(allocation, node, "mrw");
	}
	return 0;
}

static const struct device_type toy_type = { .name = "toy", .allocate = toys_allocate };

static void later_allocate(void *arg, const char *resource, const struct json_strs *ids,
			   struct deferred *deferred)
{
	struct probe *probe = arg;
	size_t i = 0;

	(void)resource;
	while (probe->later[i].device) {
		if (++i == LATER_MAX)
			exit(2);
	}
	probe->later[i] = (struct later){ xstrdup(ids->items[0]), deferred };
	say("asked %s", ids->items[0]);
}

static const struct device_type later_type = { .name = "later", .allocate_later = later_allocate };

static void later_answer(const struct later *later, bool refuses)
{
	struct allocation allocation = { 0 };
	auto_free char *name = xasprintf("example.com/toy=%s", later->device);
	struct err err = { 0 };

	say("%s %s", deferred_is_wanted(later->deferred) ? "answered" : "unwanted", later->device);
	if (!refuses && allocation_add_cdi_device(&allocation, name, &err) == 0) {
		json_pairs_set(&allocation.annotations, "cdi.k8s.io/toy", name);
		deferred_answer(later->deferred, &allocation);
		return;
	}
	err_set(&err, ERR_RETRY, -EIO, "device '%s' does not answer", later->device);
	deferred_refuse(later->deferred, &err);
}

static void later_take(struct probe *probe, const char *device, bool refuses)
{
	for (size_t i = 0; i < LATER_MAX; i++) {
		struct later later = probe->later[i];

		if (!later.device || (device && strcmp(later.device, device) != 0))
			continue;
		probe->later[i] = (struct later){ 0 };
		later_answer(&later, refuses);
		free(later.device);
	}
}

static void toys_offer(struct probe *probe, const struct device_type *type, const char *name,
		       uint64_t n, uint64_t digits)
{
	auto_free struct plugin_device *devices = xcalloc(n + 1, sizeof(*devices));
	auto_free char **ids = xcalloc(n + 1, sizeof(char *));
	const struct plugin_resource resource = { .name = name, .devices = devices, .ndevices = n };

	for (uint64_t i = 0; i < n; i++) {
		ids[i] = xasprintf("device-%0*" PRIu64, (int)digits, i);
		devices[i] =
			(struct plugin_device){ .id = ids[i], .healthy = true, .numa_node = -1 };
	}
	plugins_set(probe->plugins, type, probe, &resource, n > 0);
	for (uint64_t i = 0; i < n; i++)
		free(ids[i]);
}

/* --- what the plugins tell -------------------------------------------------------------------- */

static void on_event(void *arg, const struct plugin_event *event)
{
	static const char *const names[] = {
		[PLUGIN_REGISTERED] = "registered",       [PLUGIN_WAITING] = "waiting",
		[PLUGIN_ALLOCATED] = "allocated",         [PLUGIN_REFUSED] = "refused",
		[PLUGIN_NOT_ALLOCATED] = "not allocated", [PLUGIN_WITHDRAWN] = "withdrawn",
	};

	(void)arg;
	if (event->kind == PLUGIN_ALLOCATED || event->kind == PLUGIN_NOT_ALLOCATED ||
	    event->kind == PLUGIN_LISTED)
		return;
	say("%s %s%s%s", names[event->kind], event->resource, event->err ? ": " : "",
	    event->err ? event->err->msg : "");
}

static void on_stopped(void *arg)
{
	struct probe *probe = arg;

	probe->plugins = plugins_free(probe->plugins);
	probe->watch = kubelet_watch_free(probe->watch);
}

/* --- commands --------------------------------------------------------------------------------- */

static void command_offer(struct probe *probe, const struct device_type *type, char *const *words)
{
	uint64_t n = 0;
	uint64_t digits = 1;

	if (!str_to_u64(words[2], &n) || n > DEVICES_MAX)
		exit(2);
	if (words[3] && (!str_to_u64(words[3], &digits) || digits > DIGITS_MAX))
		exit(2);
	toys_offer(probe, type, words[1], n, digits);
}

static int on_command(void *arg, const char *line, size_t len, struct err *err)
{
	auto_free char *text = xstrndup(line, len);
	char *words[WORDS_MAX] = { 0 };
	char *rest = text;

	(void)err;
	for (size_t i = 0; i < WORDS_MAX && rest; i++)
		words[i] = strsep(&rest, " ");
	if (words[0] && strcmp(words[0], "offer") == 0)
		command_offer(arg, &toy_type, words);
	else if (words[0] && strcmp(words[0], "later") == 0)
		command_offer(arg, &later_type, words);
	else if (words[0] && words[1] && strcmp(words[0], "answer") == 0)
		later_take(arg, words[1], false);
	else if (words[0] && words[1] && strcmp(words[0], "refuse") == 0)
		later_take(arg, words[1], true);
	else
		say("in sync");
	return 0;
}

static void on_input(uv_poll_t *poll, int status, int events)
{
	struct probe *probe = poll->data;
	char chunk[COMMAND_MAX];
	ssize_t n = status < 0 ? 0 : read(STDIN_FILENO, chunk, sizeof(chunk));

	(void)events;
	if (n > 0) {
		lines_feed(&probe->commands, chunk, (size_t)n, on_command, probe, NULL);
		return;
	}
	uv_close((uv_handle_t *)poll, NULL);
	plugins_stop(probe->plugins, on_stopped, probe);
}

static void start(struct probe *probe, const char *dir)
{
	struct plugins_deps deps = { .fn = on_event, .arg = probe };

	probe->clock = clock_new(&probe->loop);
	probe->watch = kubelet_watch_new(&probe->loop, probe->clock, dir);
	deps.registration = (struct registration_deps){ .loop = &probe->loop,
							.clock = probe->clock,
							.watch = probe->watch,
							.kubelet_dir = dir,
							.registry_dir = "/nonexistent",
							.mode = REGISTRATION_DIRECT };
	probe->plugins = plugins_new(&deps);
	uv_poll_init(&probe->loop, &probe->input, STDIN_FILENO);
	probe->input.data = probe;
	uv_poll_start(&probe->input, UV_READABLE, on_input);
}

int main(int argc, char **argv)
{
	struct probe *probe = xcalloc(1, sizeof(*probe));
	int closed;

	if (argc != 2) {
		(void)fputs("usage: plugin-probe DIR\n", stderr);
		return 2;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	log_set_level(LOG_WARN);
	probe->commands.max = COMMAND_MAX;
	uv_loop_init(&probe->loop);
	start(probe, argv[1]);
	say("ready");
	uv_run(&probe->loop, UV_RUN_DEFAULT);
	clock_free(probe->clock);
	uv_run(&probe->loop, UV_RUN_DEFAULT);
	closed = uv_loop_close(&probe->loop);
	later_take(probe, NULL, true);
	say("closed %d", closed);
	lines_done(&probe->commands);
	free(probe);
	return closed == 0 ? 0 : 1;
}
