/*
 * bench_pools: what the controller keeps of a large cluster: bytes per device, and how long the first list
 * and one change take. bench_pools [NODES [DEVICES-PER-NODE]]
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/timefmt.h"
#include "controller/nodes/node_book.h"
#include "controller/pools/pool_book.h"
#include "controller/pools/pool_share.h"
#include "controller/views/view.h"
#include "kube/store.h"

enum { MODELS = 20, CHANGES = 100 * 1000 };

struct bench {
	struct api_kind kind;
	struct store *store;
	struct pool_book *pools;
	struct node_book *nodes;
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

static void on_change(void *arg, const struct entry *before, const struct entry *after)
{
	struct bench *b = arg;
	const char *name = after ? after->name : before->name;
	char *texts[2] = { NULL };
	struct pool_share was =
		pool_share_of(VIEW_PCIDEVICE, name, view_of(before), NULL, &texts[0]);
	struct pool_share is = pool_share_of(VIEW_PCIDEVICE, name, view_of(after), NULL, &texts[1]);

	pool_book_move(b->pools, &was, &is);
	if (after)
		node_book_object(b->nodes, view_of(after)->node, 1, 0);
	if (before)
		node_book_object(b->nodes, view_of(before)->node, -1, 0);
	free(texts[0]);
	free(texts[1]);
}

static void put(struct bench *b, size_t node, size_t device, unsigned version)
{
	auto_free char *text = device_text(node, device, version);
	struct json_text json = { .text = text, .len = strlen(text) };
	struct err err = { 0 };

	store_put(b->store, entry_decode(&b->kind, &json, &err), on_change, b);
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

int main(int argc, char **argv)
{
	size_t nodes = number(argc, argv, 1, 5000);
	size_t each = number(argc, argv, 2, 60);
	size_t all = nodes * each;
	struct bench b = { .kind = view_kind(VIEW_PCIDEVICE) };
	size_t heap = in_use();
	uint64_t rss = resident();
	uint64_t began;

	if (all == 0)
		return 2;
	b.store = store_new(&b.kind);
	b.pools = pool_book_new(on_pool, &b);
	b.nodes = node_book_new(false);
	began = timefmt_now_ms();
	for (size_t i = 0; i < all; i++)
		put(&b, i / each, i % each, 1);
	(void)printf("devices: %zu on %zu nodes, %zu pools\n", all, nodes, pool_book_len(b.pools));
	(void)printf("first list: %llu ms\n", (unsigned long long)(timefmt_now_ms() - began));
	(void)printf("memory: %zu B per device in use, %llu B resident\n", (in_use() - heap) / all,
		     (unsigned long long)((resident() - rss) * 1024 / all));
	began = timefmt_now_ms();
	for (size_t i = 0; i < CHANGES; i++)
		put(&b, i % nodes, i / nodes % each, 2 + (unsigned)(i / all));
	(void)printf("changes: %llu ns each\n",
		     (unsigned long long)((timefmt_now_ms() - began) * 1000000 / CHANGES));
	store_free(b.store);
	pool_book_free(b.pools);
	node_book_free(b.nodes);
	return 0;
}
