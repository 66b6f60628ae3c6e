/*
 * bench_pools: what the controller keeps of a large cluster, for pools, nodes and the rules of
 * admission: bytes per device and per claim, and how long the first list and one change take. Every
 * tenth device is claimed. bench_pools [NODES [DEVICES-PER-NODE]]
 */
#include <assert.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/timefmt.h"
#include "controller/admission/resources.h"
#include "controller/cache/view.h"
#include "controller/nodes/node_index.h"
#include "controller/pools/pool_index.h"
#include "controller/pools/pools.h"
#include "kube/store.h"

enum { MODELS = 20, CHANGES = 100 * 1000, CLAIMED = 10 };

struct bench {
	struct api_kind kinds[VIEW_KINDS];
	struct store *stores[VIEW_KINDS]; /* of devices and claims */
	enum view_kind changing;
	struct pool_index *pools;
	struct node_index *nodes;
	struct resources *resources;
	uint64_t told;
};

/* As an agent publishes a network card. */
static char *device_text(size_t node, size_t device, unsigned version)
{
	return xasprintf(
		"{\"apiVersion\":\"devices.harvesterhci.io/v1beta1\",\"kind\":\"PCIDevice\",\"metadata\":{"
		"\"annotations\":{\"harvesterhci.io/pcideviceDriver\":\"e1000e\"},\"creationTimestamp\":"
		"\"2026-01-02T03:04:05Z\",\"generation\":1,\"labels\":{\"nodename\":\"worker-%05zu\"},"
		"\"managedFields\":[{\"apiVersion\":\"devices.harvesterhci.io/v1beta1\",\"fieldsType\":"
		"\"FieldsV1\",\"fieldsV1\":{\"f:metadata\":{\"f:annotations\":{},\"f:labels\":{}}},"
		"\"manager\":\"hostdev-agent\",\"operation\":\"Apply\",\"time\":\"2026-01-02T03:04:05Z\"}],"
		"\"name\":\"worker-%05zu-%09zu\",\"resourceVersion\":\"%u\",\"uid\":"
		"\"%08zx-2f1b-4c5d-9e8f-%012zx\"},\"spec\":{},\"status\":{\"address\":\"0000:04:00.0\","
		"\"vendorId\":\"8086\",\"deviceId\":\"10d3\",\"classId\":\"0200\",\"iommuGroup\":\"12\","
		"\"nodeName\":\"worker-%05zu\",\"resourceName\":"
		"\"intel.com/82574L_GIGABIT_NETWORK_CONNECTION_%zu\",\"description\":\"Ethernet "
		"controller: Intel Corporation 82574L Gigabit Network Connection\","
		"\"kernelDriverInUse\":\"e1000e\",\"numaNode\":0,\"iommuGroupMembers\":[\"0000:04:00.0\"],"
		"\"role\":\"Function\",\"resetMethods\":[\"flr\",\"bus\"],\"conditions\":[{\"type\":"
		"\"Claimable\",\"status\":\"True\",\"reason\":\"Claimable\",\"message\":\"\","
		"\"lastTransitionTime\":\"2026-01-02T03:04:05Z\"}]}}",
		node, node, device, version, node, device, node, device % MODELS);
}

/* As an agent has carried it out. */
static char *claim_text(size_t node, size_t device, unsigned version)
{
	return xasprintf(
		"{\"apiVersion\":\"devices.harvesterhci.io/v1beta1\",\"kind\":\"PCIDeviceClaim\","
		"\"metadata\":{\"creationTimestamp\":\"2026-01-02T03:04:05Z\",\"finalizers\":["
		"\"wrangler.cattle.io/PCIDeviceClaimOnRemove\"],\"generation\":1,\"name\":"
		"\"worker-%05zu-%09zu\",\"ownerReferences\":[{\"apiVersion\":"
		"\"devices.harvesterhci.io/v1beta1\",\"kind\":\"PCIDevice\",\"name\":"
		"\"worker-%05zu-%09zu\",\"uid\":\"%08zx-2f1b-4c5d-9e8f-%012zx\"}],"
		"\"resourceVersion\":\"%u\",\"uid\":\"%08zx-3f1b-4c5d-9e8f-%012zx\"},\"spec\":{"
		"\"address\":\"0000:04:00.0\",\"nodeName\":\"worker-%05zu\",\"userName\":\"alice\"},"
		"\"status\":{\"kernelDriverToUnbind\":\"e1000e\",\"passthroughEnabled\":true,"
		"\"iommuGroup\":\"12\",\"iommuGroupMembers\":[\"0000:04:00.0\"],\"conditions\":[{"
		"\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"Bound\",\"message\":"
		"\"0000:04:00.0 is bound to vfio-pci\",\"observedGeneration\":1,"
		"\"lastTransitionTime\":\"2026-01-02T03:04:05Z\"}]}}",
		node, device, node, device, node, device, version, node, device, node);
}

static void on_pool(void *arg, const char *pool)
{
	struct bench *b = arg;

	(void)pool;
	b->told++;
}

static const struct view *view_of(const struct entry *entry)
{
	return entry ? entry->object : NULL;
}

/* Of a device or of its claim, each side as it is. */
static void move(struct bench *b, const char *name, const struct view *was, const struct view *is)
{
	bool claim = b->changing == VIEW_PCICLAIM;
	enum view_kind other = claim ? VIEW_PCIDEVICE : VIEW_PCICLAIM;
	const struct view *stays = store_object(b->stores[other], name);
	char *texts[2] = { NULL };
	struct pool_share before = pools_share(VIEW_PCIDEVICE, name, claim ? stays : was,
					       claim ? was : stays, &texts[0]);
	struct pool_share after = pools_share(VIEW_PCIDEVICE, name, claim ? stays : is,
					      claim ? is : stays, &texts[1]);

	pool_index_move(b->pools, &before, &after);
	free(texts[0]);
	free(texts[1]);
}

static void on_change(void *arg, const struct entry *before, const struct entry *after)
{
	struct bench *b = arg;

	move(b, after ? after->name : before->name, view_of(before), view_of(after));
	if (after)
		node_index_object(b->nodes, view_of(after)->node, 1, 0);
	if (before)
		node_index_object(b->nodes, view_of(before)->node, -1, 0);
	resources_on_change(b->resources, b->changing, before, after);
}

static void put_text(struct bench *b, enum view_kind kind, const char *text)
{
	struct json_text json = { .text = text, .len = strlen(text) };
	struct err err = { 0 };
	struct entry *entry = entry_decode(&b->kinds[kind], &json, &err);

	if (!entry || !entry->object) {
		(void)fprintf(stderr, "bench_pools: %s\n", err.msg);
		exit(1);
	}
	b->changing = kind;
	store_put(b->stores[kind], entry, on_change, b);
}

static void put(struct bench *b, size_t node, size_t device, unsigned version)
{
	auto_free char *text = device_text(node, device, version);

	put_text(b, VIEW_PCIDEVICE, text);
}

static void put_claim(struct bench *b, size_t node, size_t device)
{
	auto_free char *text = claim_text(node, device, 1);

	put_text(b, VIEW_PCICLAIM, text);
}

static size_t in_use(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* In KiB. */
static uint64_t resident(void)
{
	char text[4096] = "";
	FILE *file = fopen("/proc/self/status", "re");
	size_t len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	const char *line = len > 0 ? strstr(text, "VmRSS:") : NULL;

	if (file)
		(void)fclose(file);
	return line ? strtoull(line + strlen("VmRSS:"), NULL, 10) : 0;
}

static size_t number(int argc, char **argv, int at, uint64_t fallback)
{
	uint64_t value = fallback;

	if (argc > at && !str_to_u64(argv[at], &value))
		exit(2);
	return (size_t)value;
}

static void list_devices(struct bench *b, size_t all, size_t each)
{
	size_t heap = in_use();
	uint64_t rss = resident();
	uint64_t began = timefmt_now_ms();

	assert(all > 0);
	for (size_t i = 0; i < all; i++)
		put(b, i / each, i % each, 1);
	(void)printf("first list: %llu ms\n", (unsigned long long)(timefmt_now_ms() - began));
	(void)printf("memory: %zu B per device in use, %llu B resident\n", (in_use() - heap) / all,
		     (unsigned long long)((resident() - rss) * 1024 / all));
}

static void list_claims(struct bench *b, size_t all, size_t each)
{
	size_t heap = in_use();
	size_t claims = 0;

	for (size_t i = 0; i < all; i += CLAIMED, claims++)
		put_claim(b, i / each, i % each);
	assert(claims > 0);
	(void)printf("claims: %zu B each of %zu\n", (in_use() - heap) / claims, claims);
}

static void change(struct bench *b, size_t nodes, size_t each)
{
	uint64_t began = timefmt_now_ms();

	for (size_t i = 0; i < CHANGES; i++)
		put(b, i % nodes, i / nodes % each, 2 + (unsigned)(i / (nodes * each)));
	(void)printf("changes: %llu ns each\n",
		     (unsigned long long)((timefmt_now_ms() - began) * 1000000 / CHANGES));
}

int main(int argc, char **argv)
{
	size_t nodes = number(argc, argv, 1, 5000);
	size_t each = number(argc, argv, 2, 60);
	struct bench b = { .changing = VIEW_PCIDEVICE };

	if (nodes * each == 0)
		return 2;
	for (int i = 0; i < VIEW_KINDS; i++) {
		b.kinds[i] = view_kind((enum view_kind)i);
		b.stores[i] = store_new(&b.kinds[i]);
	}
	b.pools = pool_index_new(on_pool, &b);
	b.nodes = node_index_new(false);
	b.resources = resources_new();
	list_devices(&b, nodes * each, each);
	(void)printf("devices: %zu on %zu nodes, %zu pools\n", nodes * each, nodes,
		     pool_index_len(b.pools));
	list_claims(&b, nodes * each, each);
	change(&b, nodes, each);
	for (int i = 0; i < VIEW_KINDS; i++)
		store_free(b.stores[i]);
	pool_index_free(b.pools);
	node_index_free(b.nodes);
	resources_free(b.resources);
	return 0;
}
