/* publish_bench: publish between a made-up node and a fake_server, whose watches show each write
 * at once. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "agent/publish/publish.h"
#include "api/json_map.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/fake_server.h"
#include "kube/informer.h"
#include "unit/agent/world.h"
#include "unit/this_node.h"

enum { WATCHES = 4 };

struct listener {
	struct publish **publish;
	enum inventory_kind kind;
	bool claims;
	struct informer *informer;
};

struct bench {
	struct fake_server *server; /* of PCIDevices */
	struct fake_server *usb_devices, *pci_claims, *usb_claims;
	struct kube_client *client;
	struct fake_clock *clock;
	struct this_node node;
	struct listener devices[INVENTORY_KINDS];
	struct listener claims[INVENTORY_KINDS];
	struct publish *publish;
	struct world world;
	bool moving;                        /* every PCI device is on its way to another driver */
	struct pcidevice_allocations given; /* who has every PCI device */
};

static inline void on_change(void *arg, const char *name, const struct entry *before,
			     const struct entry *after)
{
	const struct listener *l = arg;

	(void)before;
	(void)after;
	if (l->claims)
		publish_enqueue(*l->publish, l->kind, name);
	else
		publish_changed(*l->publish, l->kind, name);
}

static inline void on_synced(void *arg)
{
	const struct listener *l = arg;

	publish_enqueue_all(*l->publish);
}

static inline void bench_listen(struct bench *b, struct listener *l, enum inventory_kind kind,
				const struct api_kind *of)
{
	struct informer_deps deps = { .client = b->client, .clock = fake_clock_as_clock(b->clock) };
	struct informer_spec spec = {
		.kind = of, .handlers = { .on_change = on_change, .on_synced = on_synced }, .arg = l
	};

	*l = (struct listener){ .publish = &b->publish,
				.kind = kind,
				.claims = l == &b->claims[kind] };
	l->informer = informer_new(&deps, &spec);
}

static inline bool bench_moving(void *arg, const char *name)
{
	const struct bench *b = arg;

	assert_non_null(name);
	return b->moving;
}

static inline const struct pcidevice_allocations *
bench_allocations(void *arg, enum inventory_kind kind, const char *name)
{
	static const struct pcidevice_allocations none = { 0 };
	const struct bench *b = arg;

	assert_non_null(name);
	return kind == INVENTORY_PCI ? &b->given : &none;
}

static inline struct fake_server *bench_join(struct bench *b, const struct api_kind *kind)
{
	struct fake_server *server = fake_server_join(b->server, kind);

	fake_server_set_watch(server, FAKE_WATCH_NEXT);
	return server;
}

/* The program begins, or begins again. */
static inline void bench_begin(struct bench *b)
{
	bench_listen(b, &b->devices[INVENTORY_PCI], INVENTORY_PCI, &pcidevice_kind);
	bench_listen(b, &b->devices[INVENTORY_USB], INVENTORY_USB, &usbdevice_kind);
	bench_listen(b, &b->claims[INVENTORY_PCI], INVENTORY_PCI, &pcideviceclaim_kind);
	bench_listen(b, &b->claims[INVENTORY_USB], INVENTORY_USB, &usbdeviceclaim_kind);
	b->node = this_node_of(b->client, fake_clock_as_clock(b->clock), NULL);
	for (int kind = 0; kind < INVENTORY_KINDS; kind++) {
		b->node.devices[kind] = b->devices[kind].informer;
		b->node.claims[kind] = b->claims[kind].informer;
	}
	b->publish = publish_new(&b->node, &(struct publish_deps){ .moving = bench_moving,
								   .allocations = bench_allocations,
								   .arg = b });
	for (int kind = 0; kind < INVENTORY_KINDS; kind++) {
		if (b->devices[kind].informer)
			informer_start(b->devices[kind].informer);
		if (b->claims[kind].informer)
			informer_start(b->claims[kind].informer);
	}
}

static inline void bench_end(struct bench *b)
{
	b->publish = publish_free(b->publish);
	for (int kind = 0; kind < INVENTORY_KINDS; kind++) {
		informer_free(b->devices[kind].informer);
		informer_free(b->claims[kind].informer);
	}
	assert_int_equal(fake_client_open(b->client), 0);
}

/* Nothing is answered yet. */
static inline void bench_open(struct bench *b)
{
	*b = (struct bench){ .server = fake_server_new(&pcidevice_kind),
			     .clock = fake_clock_new() };
	b->client = fake_server_client(b->server);
	b->usb_devices = bench_join(b, &usbdevice_kind);
	b->pci_claims = bench_join(b, &pcideviceclaim_kind);
	b->usb_claims = bench_join(b, &usbdeviceclaim_kind);
	fake_server_set_watch(b->server, FAKE_WATCH_NEXT);
	bench_begin(b);
}

static inline void bench_close(struct bench *b)
{
	bench_end(b);
	kube_client_free(b->client);
	fake_server_free(b->server);
	fake_clock_free(b->clock);
	world_close(&b->world);
}

SUITE_FIXTURE(bench, struct bench, bench_open, bench_close);

/* Answer the list of @plural ("pcidevices"). */
static inline void bench_list(struct bench *b, const char *plural, enum fake_fault fault)
{
	auto_free char *path = xasprintf("/%s?", plural);

	fake_client_choose(b->client, path);
	assert_true(fake_server_serve(b->server, fault));
}

/* What the node has: PCI lines; NULL ends. */
static inline void bench_look(struct bench *b, const char *const *lines)
{
	struct world before = b->world;

	world_of(&b->world, lines, 64);
	b->node.inventory = b->world.inventory;
	publish_enqueue_all(b->publish);
	if (before.inventory)
		world_close(&before);
	fake_clock_settle(b->clock);
}

static inline void bench_synced(struct bench *b)
{
	bench_open(b);
	bench_list(b, "pcidevices", FAULT_NONE);
	bench_list(b, "usbdevices", FAULT_NONE);
	bench_list(b, "pcideviceclaims", FAULT_NONE);
	bench_list(b, "usbdeviceclaims", FAULT_NONE);
	assert_int_equal(fake_client_open(b->client), WATCHES);
}

SUITE_FIXTURE(synced, struct bench, bench_synced, bench_close);

static inline size_t bench_writing(const struct bench *b)
{
	return fake_client_open(b->client) - WATCHES;
}

static inline void bench_lag(struct bench *b)
{
	fake_server_set_watch(b->server, FAKE_WATCH_BY_HAND);
}

/* Serve the oldest write. */
static inline void bench_serve_one(struct bench *b)
{
	assert_true(fake_server_serve(b->server, FAULT_NONE));
	fake_clock_settle(b->clock);
}

/* Serve until nothing is written any more. How many writes it took. */
static inline size_t bench_serve(struct bench *b)
{
	size_t served = 0;

	for (; bench_writing(b) > 0; served++)
		bench_serve_one(b);
	return served;
}

/* Text of the server's object, or of a part of it ("status"); "" if there is none. The caller
 * frees. */
static inline char *bench_has(const struct bench *b, const char *name, const char *part)
{
	const json_t *object = fake_server_get(b->server, name);

	if (part)
		object = json_object_get(object, part);
	return object ? json_map_text(object) : xstrdup("");
}
