/*
 * bench_agents: hollow agents: what each of them watches at the API server, and nothing else.
 *
 *	bench_agents KUBECONFIG AGENTS
 *
 * Every agent has a client, that is a connection, of its own, and the informers that node_agent,
 * config, sriov and gpu open for the nodes that bench_load makes. Says "synced" on standard output
 * once all have their lists, and ends with SIGTERM. SIGUSR1 cuts all connections at once.
 */
#include <dirent.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <uv.h>

#include "api/hostdeviceconfig.h"
#include "api/mediateddevice.h"
#include "api/mediateddeviceparent.h"
#include "api/migconfiguration.h"
#include "api/names.h"
#include "api/node.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/sriovgpudevice.h"
#include "api/sriovnetworkdevice.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "api/vgpudevice.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "kube/client.h"
#include "kube/clock.h"
#include "kube/config.h"
#include "kube/informer.h"

enum { AGENTS_MAX = 5000 };

enum scope {
	SCOPE_ALL,
	SCOPE_LABEL,  /* of this node                  */
	SCOPE_NAME,   /* the object of the node's name */
	SCOPE_CONFIG, /* the one HostDeviceConfig      */
};

static const struct watch {
	const struct api_kind *kind;
	enum scope scope;
} watches[] = {
	{ &node_kind, SCOPE_NAME },
	{ &hostdeviceconfig_kind, SCOPE_CONFIG },
	{ &sriovnetworkdevice_kind, SCOPE_LABEL },
	{ &pcidevice_kind, SCOPE_LABEL },
	{ &pcideviceclaim_kind, SCOPE_ALL },
	{ &usbdevice_kind, SCOPE_LABEL },
	{ &usbdeviceclaim_kind, SCOPE_ALL },
	{ &mediateddevice_kind, SCOPE_LABEL },
	{ &mediateddeviceparent_kind, SCOPE_LABEL },
	{ &sriovgpudevice_kind, SCOPE_LABEL },
	{ &vgpudevice_kind, SCOPE_LABEL },
	{ &migconfiguration_kind, SCOPE_LABEL },
};

enum { WATCHES = ARRAY_LEN(watches) };

struct bench {
	uv_loop_t loop;
	uv_signal_t end;
	uv_signal_t cut;
	struct kube_config config;
	struct clock *clock;
	uint64_t agents;
	uint64_t waiting; /* informers without a list */
	struct kube_client *clients[AGENTS_MAX];
	struct informer *informers[AGENTS_MAX][WATCHES];
};

static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	(void)arg;
	(void)name;
	(void)before;
	(void)after;
}

static void on_synced(void *arg)
{
	struct bench *bench = arg;

	if (--bench->waiting > 0)
		return;
	(void)puts("synced");
	(void)fflush(stdout);
}

static void start_watch(struct bench *bench, uint64_t number, size_t i)
{
	const struct informer_deps deps = { .client = bench->clients[number],
					    .clock = bench->clock };
	auto_free char *label = xasprintf("%s=worker-%05u", NAMES_LABEL_NODE, (unsigned)number);
	auto_free char *self = xasprintf("metadata.name=worker-%05u", (unsigned)number);
	struct informer_spec spec = {
		.kind = watches[i].kind,
		.handlers = { .on_change = on_change, .on_synced = on_synced },
		.arg = bench,
	};

	if (watches[i].scope == SCOPE_LABEL)
		spec.label_selector = label;
	if (watches[i].scope == SCOPE_NAME)
		spec.field_selector = self;
	if (watches[i].scope == SCOPE_CONFIG)
		spec.field_selector = "metadata.name=" HOSTDEVICECONFIG_NAME;
	bench->informers[number][i] = informer_new(&deps, &spec);
	informer_start(bench->informers[number][i]);
}

static void start_agent(struct bench *bench, uint64_t number)
{
	auto_free char *agent = xasprintf("bench_agents/1 (worker-%05u)", (unsigned)number);

	bench->clients[number] = kube_client_new(&bench->loop, &bench->config, agent, NULL);
	for (size_t i = 0; i < WATCHES; i++)
		start_watch(bench, number, i);
}

static void stop_agent(struct bench *bench, uint64_t number)
{
	for (size_t i = 0; i < WATCHES; i++)
		informer_free(bench->informers[number][i]);
	kube_client_free(bench->clients[number]);
}

static void on_end(uv_signal_t *handle, int number)
{
	(void)number;
	uv_stop(handle->loop);
}

/* What a peer that goes away looks like; curl finds out by itself. */
static void on_cut(uv_signal_t *handle, int number)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	unsigned cut = 0;

	(void)handle;
	(void)number;
	while (dir && (entry = readdir(dir))) {
		struct sockaddr_in at = { 0 };
		socklen_t len = sizeof(at);
		uint64_t fd;

		if (!str_to_u64(entry->d_name, &fd) ||
		    getpeername((int)fd, (struct sockaddr *)&at, &len) < 0 ||
		    at.sin_family != AF_INET)
			continue;
		(void)shutdown((int)fd, SHUT_RDWR);
		cut++;
	}
	if (dir)
		(void)closedir(dir);
	(void)printf("cut %u\n", cut);
	(void)fflush(stdout);
}

static void run(struct bench *bench)
{
	uv_loop_init(&bench->loop);
	bench->clock = clock_new(&bench->loop);
	uv_signal_init(&bench->loop, &bench->end);
	uv_signal_init(&bench->loop, &bench->cut);
	uv_signal_start(&bench->end, on_end, SIGTERM);
	uv_signal_start(&bench->cut, on_cut, SIGUSR1);
	bench->waiting = bench->agents * WATCHES;
	for (uint64_t i = 0; i < bench->agents; i++)
		start_agent(bench, i);
	uv_run(&bench->loop, UV_RUN_DEFAULT);
	for (uint64_t i = 0; i < bench->agents; i++)
		stop_agent(bench, i);
	clock_free(bench->clock);
}

int main(int argc, char **argv)
{
	static struct bench bench;
	struct err err = { 0 };

	if (argc != 3 || !str_to_u64(argv[2], &bench.agents) || bench.agents == 0 ||
	    bench.agents > AGENTS_MAX) {
		(void)fputs("usage: bench_agents KUBECONFIG AGENTS\n", stderr);
		return 2;
	}
	if (kube_config_load(&(struct kube_config_source){ .path = argv[1] }, &bench.config, &err) <
	    0) {
		(void)fprintf(stderr, "bench_agents: %s\n", err.msg);
		return 2;
	}
	log_set_level(LOG_ERROR);
	(void)signal(SIGPIPE, SIG_IGN);
	run(&bench);
	kube_config_done(&bench.config);
	return 0;
}
