/*
 * bench_plugin: the agent's part that lends devices, alone, with 64 devices, for measurements.
 *
 *	bench_plugin direct|registry KUBELET_DIR REGISTRY_DIR
 *
 * Offers them to whatever kubelet serves in these folders. For each line on standard input one
 * device changes its health, and the time at which that began is said on standard output, in ns of
 * CLOCK_MONOTONIC; ends when the input does.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "agent/plugin/kubelet_watch.h"
#include "agent/plugin/plugins.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"

enum { DEVICES = 64 };

static const char resource[] = "example.com/nic";

struct bench {
	uv_loop_t loop;
	uv_poll_t input;
	struct clock *clock;
	struct kubelet_watch *watch;
	struct plugins *plugins;
	char ids[DEVICES][sizeof("0000:00:00.0")];
	struct plugin_device devices[DEVICES];
	unsigned changes;
};

/* What a function on vfio-pci gives its container. */
static int allocate(void *arg, const char *name, const struct json_strs *ids,
		    struct allocation *allocation, struct err *err)
{
	auto_str struct str addresses = STR_INIT;

	(void)arg;
	(void)name;
	(void)err;
	allocation_add_device(allocation, "/dev/vfio/vfio", "mrw");
	for (size_t i = 0; i < ids->len; i++) {
		auto_free char *group = xasprintf("/dev/vfio/%s", ids->items[i]);

		allocation_add_device(allocation, group, "mrw");
		str_addf(&addresses, "%s%s", i ? "," : "", ids->items[i]);
	}
	json_pairs_set(&allocation->envs, "PCI_RESOURCE_EXAMPLE_COM_NIC", str_cstr(&addresses));
	return 0;
}

static const struct device_type type = { .name = "bench", .allocate = allocate };

static void on_event(void *arg, const struct plugin_event *event)
{
	(void)arg;
	(void)event;
}

static void offer(struct bench *bench)
{
	struct plugin_resource all = { .name = resource,
				       .devices = bench->devices,
				       .ndevices = DEVICES };

	plugins_set(bench->plugins, &type, NULL, &all, 1);
}

static void change(struct bench *bench)
{
	uint64_t began_ns = uv_hrtime();
	struct plugin_device *device = &bench->devices[bench->changes++ % DEVICES];

	device->healthy = !device->healthy;
	offer(bench);
	printf("%" PRIu64 "\n", began_ns);
	(void)fflush(stdout);
}

static void end(struct bench *bench)
{
	uv_close((uv_handle_t *)&bench->input, NULL);
	bench->plugins = plugins_free(bench->plugins);
	bench->watch = kubelet_watch_free(bench->watch);
}

static void on_input(uv_poll_t *poll, int status, int events)
{
	struct bench *bench = poll->data;
	char lines[64];
	ssize_t n = status < 0 ? 0 : read(STDIN_FILENO, lines, sizeof(lines));

	(void)events;
	for (ssize_t i = 0; i < n; i++) {
		if (lines[i] == '\n')
			change(bench);
	}
	if (n <= 0)
		end(bench);
}

static void devices_init(struct bench *bench)
{
	for (unsigned i = 0; i < DEVICES; i++) {
		(void)snprintf(bench->ids[i], sizeof(bench->ids[i]), "0000:%02x:00.0", i);
		bench->devices[i] = (struct plugin_device){ .id = bench->ids[i],
							    .healthy = true,
							    .numa_node = (int)(i % 2) };
	}
}

static void begin(struct bench *bench, enum registration_mode mode, const char *kubelet_dir,
		  const char *registry_dir)
{
	struct plugins_deps deps = { .fn = on_event, .arg = bench };

	bench->clock = clock_new(&bench->loop);
	bench->watch = kubelet_watch_new(&bench->loop, bench->clock, kubelet_dir);
	deps.registration = (struct registration_deps){ .loop = &bench->loop,
							.clock = bench->clock,
							.watch = bench->watch,
							.kubelet_dir = kubelet_dir,
							.registry_dir = registry_dir,
							.mode = mode };
	bench->plugins = plugins_new(&deps);
	devices_init(bench);
	offer(bench);
}

int main(int argc, char **argv)
{
	struct bench *bench = xcalloc(1, sizeof(*bench));
	bool direct = argc > 1 && strcmp(argv[1], "direct") == 0;

	if (argc != 4 || (!direct && strcmp(argv[1], "registry") != 0)) {
		(void)fputs("usage: bench_plugin direct|registry KUBELET_DIR REGISTRY_DIR\n",
			    stderr);
		return 2;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	uv_loop_init(&bench->loop);
	begin(bench, direct ? REGISTRATION_DIRECT : REGISTRATION_REGISTRY, argv[2], argv[3]);
	uv_poll_init(&bench->loop, &bench->input, STDIN_FILENO);
	bench->input.data = bench;
	uv_poll_start(&bench->input, UV_READABLE, on_input);
	uv_run(&bench->loop, UV_RUN_DEFAULT);
	clock_free(bench->clock);
	uv_loop_close(&bench->loop);
	free(bench);
	return 0;
}
