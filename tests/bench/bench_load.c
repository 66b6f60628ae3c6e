/*
 * bench_load: puts a large cluster into an API server: Nodes, and PCIDevices as agents publish
 * them.
 *
 *	bench_load KUBECONFIG apply|create NODES DEVICES-PER-NODE CONNECTIONS SECONDS
 *
 * apply: a device is applied, and its status behind it, by the requests of an agent that sees it
 * for the first time. create: both in one POST, which costs the API server a third of that; it
 * keeps the status only while the kind has no status subresource. The field manager is the agent's
 * either way. After SECONDS no further device is begun. Says every ten seconds, and at the end, how
 * many devices there are and how many ms it took.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <uv.h>

#include "api/json_map.h"
#include "api/node.h"
#include "api/pcidevice.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/timefmt.h"
#include "kube/apply.h"
#include "kube/client.h"
#include "kube/config.h"

enum {
	CONNECTIONS_MAX = 64,
	SLOTS = 8, /* requests at a time of one connection */
	MODELS = 20,
	TRIES = 5,
	TELL_MS = 10 * 1000,
};

struct load {
	uv_loop_t loop;
	uv_timer_t timer;
	struct kube_config config;
	struct kube_client *clients[CONNECTIONS_MAX];
	bool create;
	uint64_t nodes, each, connections, seconds;
	uint64_t next;    /* what is begun next: first the Nodes, then node by node the devices */
	uint64_t devices; /* whole, with their status                                        */
	uint64_t begun_ms;
	size_t busy; /* slots */
};

/* One object after the other. */
struct slot {
	struct load *load;
	struct kube_client *client;
	uint64_t number;
	bool status; /* of the device, which is there */
	unsigned tries;
};

static const char node_format[] =
	"{\"metadata\":{\"labels\":{\"kubernetes.io/os\":\"linux\",\"kubernetes.io/hostname\":\"%s\"}},"
	"\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":"
	"\"KubeletReady\",\"message\":\"\",\"lastHeartbeatTime\":\"2026-01-02T03:04:05Z\","
	"\"lastTransitionTime\":\"2026-01-02T03:04:05Z\"}],\"addresses\":[{\"type\":\"Hostname\","
	"\"address\":\"%s\"}]}}";

static const char device_format[] =
	"{\"metadata\":{\"labels\":{\"nodename\":\"%s\"},"
	"\"annotations\":{\"harvesterhci.io/pcideviceDriver\":\"e1000e\"}}}";

/* A network card in a group of its own. */
static const char status_format[] =
	"{\"status\":{\"address\":\"%s\",\"vendorId\":\"8086\",\"deviceId\":\"10d3\","
	"\"classId\":\"0200\",\"iommuGroup\":\"%u\",\"nodeName\":\"%s\",\"resourceName\":"
	"\"intel.com/82574L_GIGABIT_NETWORK_CONNECTION_%u\",\"description\":\"Ethernet controller: "
	"Intel Corporation 82574L Gigabit Network Connection\",\"kernelDriverInUse\":\"e1000e\","
	"\"numaNode\":0,\"subsystemVendorId\":\"8086\",\"subsystemDeviceId\":\"a01f\",\"revision\":"
	"\"00\",\"iommuGroupMembers\":[\"%s\"],\"role\":\"Function\",\"serialNumber\":"
	"\"52-54-00-ff-ff-12-34-56\",\"resetMethods\":[\"flr\",\"bus\"],\"conditions\":[{\"type\":"
	"\"Claimable\",\"status\":\"True\",\"reason\":\"Available\",\"message\":\"may be claimed\","
	"\"lastTransitionTime\":\"2026-01-02T03:04:05Z\"}]}}";

static void begin(struct slot *slot);
static void send_next(struct slot *slot);

static bool is_node(const struct slot *slot)
{
	return slot->number < slot->load->nodes;
}

static json_t *json_of(const char *text)
{
	json_t *json = NULL;
	struct err err = { 0 };

	if (json_map_load(text, strlen(text), &json, &err) < 0) {
		(void)fprintf(stderr, "bench_load: %s: %s\n", err.msg, text);
		exit(1);
	}
	return json;
}

static void on_done(void *arg, int result, const struct kube_response *response,
		    const struct err *err)
{
	struct slot *slot = arg;

	(void)response;
	if (result < 0 && result != -EEXIST && ++slot->tries == TRIES) {
		(void)fprintf(stderr, "bench_load: object %" PRIu64 ": %s\n", slot->number,
			      err->msg);
		exit(1);
	}
	if (result < 0 && result != -EEXIST) {
		send_next(slot);
		return;
	}
	slot->tries = 0;
	if (!is_node(slot) && !slot->status && !slot->load->create) {
		slot->status = true;
		send_next(slot);
		return;
	}
	slot->load->devices += !is_node(slot);
	begin(slot);
}

static void send_node(struct slot *slot)
{
	auto_free char *name = xasprintf("worker-%05u", (unsigned)slot->number);
	auto_free char *text = xasprintf(node_format, name, name);
	auto_json json_t *body = json_of(text);
	const struct apply_request request = {
		.kind = &node_kind, .name = name, .field_manager = "kubelet", .object = body
	};

	apply_create(slot->client, &request, on_done, slot);
}

/* The object, its status, or both. */
static json_t *body_of(const struct slot *slot, const char *node, const char *address, unsigned at)
{
	auto_free char *object = xasprintf(device_format, node);
	auto_free char *status = xasprintf(status_format, address, at, node, at % MODELS, address);
	json_t *body = json_of(slot->status ? status : object);

	if (slot->load->create) {
		auto_json json_t *rest = json_of(status);

		json_object_update(body, rest);
	}
	return body;
}

static void send_device(struct slot *slot)
{
	const struct load *load = slot->load;
	unsigned number = (unsigned)(slot->number - load->nodes);
	unsigned at = number % (unsigned)load->each;
	auto_free char *node = xasprintf("worker-%05u", number / (unsigned)load->each);
	auto_free char *address = xasprintf("0000:%02x:%02x.0", at / 32, at % 32);
	auto_free char *name = xasprintf("%s-0000%02x%02x0", node, at / 32, at % 32);
	auto_json json_t *body = body_of(slot, node, address, at);
	const struct apply_request request = {
		.kind = &pcidevice_kind,
		.name = name,
		.subresource = slot->status ? "status" : NULL,
		.field_manager = "hostdev-agent",
		.force = true,
		.object = body,
	};

	if (load->create)
		apply_create(slot->client, &request, on_done, slot);
	else
		apply_send(slot->client, &request, on_done, slot);
}

static void send_next(struct slot *slot)
{
	if (is_node(slot))
		send_node(slot);
	else
		send_device(slot);
}

static void tell(const struct load *load)
{
	(void)printf("%" PRIu64 " %" PRIu64 "\n", load->devices, timefmt_now_ms() - load->begun_ms);
	(void)fflush(stdout);
}

static void begin(struct slot *slot)
{
	struct load *load = slot->load;
	bool late = timefmt_now_ms() - load->begun_ms > load->seconds * 1000;

	slot->status = false;
	slot->number = load->next;
	if (load->next == load->nodes + load->nodes * load->each || (late && !is_node(slot))) {
		if (--load->busy == 0)
			uv_stop(&load->loop);
		return;
	}
	load->next++;
	send_next(slot);
}

static void on_timer(uv_timer_t *timer)
{
	tell(timer->data);
}

static void start(struct load *load, struct slot *slots)
{
	for (size_t i = 0; i < load->connections; i++)
		load->clients[i] =
			kube_client_new(&load->loop, &load->config, "bench_load/1", NULL);
	load->busy = load->connections * SLOTS;
	for (size_t i = 0; i < load->connections * SLOTS; i++) {
		slots[i] = (struct slot){ .load = load, .client = load->clients[i / SLOTS] };
		begin(&slots[i]);
	}
}

static bool numbers(struct load *load, int argc, char **argv)
{
	load->create = argc > 2 && strcmp(argv[2], "create") == 0;
	return argc == 7 && (load->create || strcmp(argv[2], "apply") == 0) &&
	       str_to_u64(argv[3], &load->nodes) && str_to_u64(argv[4], &load->each) &&
	       str_to_u64(argv[5], &load->connections) && str_to_u64(argv[6], &load->seconds) &&
	       load->nodes > 0 && load->nodes < 100000 && load->each > 0 && load->each <= 1024 &&
	       load->connections > 0 && load->connections <= CONNECTIONS_MAX;
}

int main(int argc, char **argv)
{
	static struct slot slots[CONNECTIONS_MAX * SLOTS];
	static struct load load;
	struct err err = { 0 };

	if (!numbers(&load, argc, argv)) {
		(void)fputs("usage: bench_load KUBECONFIG apply|create NODES DEVICES-PER-NODE "
			    "CONNECTIONS SECONDS\n",
			    stderr);
		return 2;
	}
	if (kube_config_load(&(struct kube_config_source){ .path = argv[1] }, &load.config, &err) <
	    0) {
		(void)fprintf(stderr, "bench_load: %s\n", err.msg);
		return 2;
	}
	uv_loop_init(&load.loop);
	uv_timer_init(&load.loop, &load.timer);
	load.timer.data = &load;
	uv_timer_start(&load.timer, on_timer, TELL_MS, TELL_MS);
	load.begun_ms = timefmt_now_ms();
	start(&load, slots);
	uv_run(&load.loop, UV_RUN_DEFAULT);
	tell(&load);
	for (size_t i = 0; i < load.connections; i++)
		kube_client_free(load.clients[i]);
	kube_config_done(&load.config);
	return 0;
}
