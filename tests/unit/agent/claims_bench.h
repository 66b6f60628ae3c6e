/*
 * claims_bench: claims between a made-up node, a binder that does what the test says, and a
 * fake_server, whose watches show each write at once.
 */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "agent/claim/claim_plan.h"
#include "agent/claim/claims.h"
#include "api/json_map.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/fake_server.h"
#include "kube/clock.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/metrics.h"
#include "unit/agent/fake_binder.h"
#include "unit/agent/world.h"
#include "unit/this_node.h"

/* kube/events.h without an API server. */
struct events {
	/* "Warning Held\n" for each event of a claim, "Warning Held of the device\n" */
	struct str said;
};

void events_record(struct events *events, const struct events_about *about, enum events_type type,
		   const char *reason, const char *fmt, ...)
{
	assert_non_null(about->meta->name);
	assert_non_null(fmt);
	str_addf(&events->said, "%s %s%s\n", type == EVENTS_WARNING ? "Warning" : "Normal", reason,
		 about->kind == &pcidevice_kind ? " of the device" : "");
}

struct bench {
	struct fake_server *server; /* of PCIDeviceClaims */
	struct fake_server *devices;
	struct kube_client *client;
	struct fake_clock *clock;
	struct events events;
	struct metrics *metrics;
	struct informer *claim_informer;
	struct informer *device_informer;
	struct this_node node;
	struct claims *claims;
	struct world world;
	const char *pod;             /* that has 0000:01:00.0; "": not known; NULL: none */
	const char *bound_for;       /* for which 0000:01:00.0 is bound on demand; NULL: none */
	const char *usb_pod;         /* likewise, of the USB device in port 1-2 */
	const char *bind_trouble;    /* NULL: none */
	const char *bind_trouble_at; /* address of the device that has it; NULL: all */
	bool held;                   /* 0000:01:00.0 is still being set up */
	struct claim_offer offer;    /* of all devices */
	struct str log;              /* "PATCH <name>/status\n" for each request of a claim */
	size_t writes;               /* of claims */
	size_t moves;                /* how often on_moved ran */
};

static inline void bench_on_change(void *arg, const char *name, const struct entry *before,
				   const struct entry *after)
{
	struct bench *b = arg;

	(void)before;
	(void)after;
	claims_enqueue(b->claims, name);
}

static inline void bench_on_synced(void *arg)
{
	struct bench *b = arg;

	claims_enqueue_all(b->claims);
}

static inline void bench_on_moved(void *arg)
{
	struct bench *b = arg;

	b->moves++;
}

static inline bool bench_is_free(void *arg, const char *address, char **ret_holder)
{
	const struct bench *b = arg;

	if (!b->pod || strcmp(address, "0000:01:00.0") != 0)
		return true;
	*ret_holder = *b->pod ? xstrdup(b->pod) : NULL;
	return false;
}

static inline bool bench_is_held(void *arg, const char *address)
{
	const struct bench *b = arg;

	return b->held && strcmp(address, "0000:01:00.0") == 0;
}

static inline char *bench_bind_trouble(void *arg, const char *address)
{
	const struct bench *b = arg;

	assert_non_null(address);
	if (b->bind_trouble_at && strcmp(b->bind_trouble_at, address) != 0)
		return NULL;
	return xstrdup_or_null(b->bind_trouble);
}

static inline char *bench_bound_for(void *arg, const char *address)
{
	const struct bench *b = arg;

	return strcmp(address, "0000:01:00.0") == 0 ? xstrdup_or_null(b->bound_for) : NULL;
}

static inline void bench_ask_offer(void *arg, const char *address, struct claim_offer *ret_offer)
{
	const struct bench *b = arg;

	(void)address;
	*ret_offer = b->offer;
}

static inline bool bench_is_usb_free(void *arg, const char *port, char **ret_holder)
{
	const struct bench *b = arg;

	assert_string_equal(port, "1-2");
	*ret_holder = b->usb_pod && *b->usb_pod ? xstrdup(b->usb_pod) : NULL;
	return !b->usb_pod;
}

static inline struct informer *bench_informer(struct bench *b, const struct api_kind *kind)
{
	return informer_new(
		&(struct informer_deps){ .client = b->client,
					 .clock = fake_clock_as_clock(b->clock) },
		&(struct informer_spec){
			.kind = kind,
			.handlers = { .on_change = bench_on_change, .on_synced = bench_on_synced },
			.arg = b,
		});
}

static inline void bench_note(void *arg, const struct fake_asked *asked)
{
	struct bench *b = arg;

	if (!*asked->name)
		return;
	b->writes += strcmp(asked->method, "GET") != 0;
	str_addf(&b->log, "%s %s%s\n", asked->method, asked->name,
		 asked->is_status ? "/status" : "");
}

/* Nothing is answered yet, and the node has not been looked at. */
static inline void bench_open(struct bench *b)
{
	*b = (struct bench){ .server = fake_server_new(&pcideviceclaim_kind),
			     .clock = fake_clock_new(),
			     .metrics = metrics_new() };
	fake.watches = 0;
	b->devices = fake_server_join(b->server, &pcidevice_kind);
	b->client = fake_server_client(b->server);
	fake_server_set_watch(b->server, FAKE_WATCH_NEXT);
	fake_server_set_watch(b->devices, FAKE_WATCH_NEXT);
	fake_server_listen(b->server, bench_note, b);
	b->claim_informer = bench_informer(b, &pcideviceclaim_kind);
	b->device_informer = bench_informer(b, &pcidevice_kind);
	b->node = this_node_of(b->client, fake_clock_as_clock(b->clock), &b->events);
	b->node.metrics = b->metrics;
	b->node.claims[INVENTORY_PCI] = b->claim_informer;
	b->node.devices[INVENTORY_PCI] = b->device_informer;
	b->claims = claims_new(&b->node, &(struct claims_deps){
						 .on_moved = bench_on_moved,
						 .is_free = bench_is_free,
						 .is_usb_free = bench_is_usb_free,
						 .is_held = bench_is_held,
						 .bind_trouble = bench_bind_trouble,
						 .bound_for = bench_bound_for,
						 .ask_offer = bench_ask_offer,
						 .arg = b,
					 });
	informer_start(b->claim_informer);
	informer_start(b->device_informer);
}

static inline void bench_close(struct bench *b)
{
	claims_free(b->claims);
	informer_free(b->claim_informer);
	informer_free(b->device_informer);
	assert_int_equal(fake_client_open(b->client), 0);
	assert_null(fake.binder);
	assert_null(fake.watch);
	kube_client_free(b->client);
	fake_server_free(b->devices);
	fake_server_free(b->server);
	fake_clock_free(b->clock);
	metrics_free(b->metrics);
	world_close(&b->world);
	str_done(&b->log);
	str_done(&b->events.said);
}

SUITE_FIXTURE(bench, struct bench, bench_open, bench_close);

static inline uint64_t bench_now(struct bench *b)
{
	return clock_now_ms(fake_clock_as_clock(b->clock));
}

static inline void bench_settle(struct bench *b)
{
	fake_clock_settle(b->clock);
	fake.now_ms = bench_now(b);
}

static inline void bench_advance(struct bench *b, uint64_t ms)
{
	fake_clock_advance(b->clock, ms);
	fake.now_ms = bench_now(b);
}

/* What the node has from now on, by a scan that begins a moment later. */
static inline void bench_look(struct bench *b, const char *const *lines)
{
	struct world before = b->world;

	bench_advance(b, 1);
	world_of(&b->world, lines, 64);
	b->world.inventory->began_ms = bench_now(b);
	b->node.inventory = b->world.inventory;
	claims_update_attempts(b->claims);
	claims_enqueue_all(b->claims);
	if (before.inventory)
		world_close(&before);
	bench_settle(b);
}

/* --- users, and the server -------------------------------------------------------------------- */

/* kubectl create: @spec is JSON. */
static inline void bench_create(struct bench *b, const char *name, const char *spec)
{
	auto_free char *text = xasprintf("{'spec':%s}", spec);

	fake_server_write(b->server, name, text);
	bench_settle(b);
}

/* Put an object there with these members of it, in JSON. */
static inline void bench_put(struct bench *b, const char *name, const char *members)
{
	auto_free char *text = xasprintf("{%s}", members);

	fake_server_put(b->server, name, text);
}

/* kubectl delete. */
static inline void bench_delete(struct bench *b, const char *name)
{
	fake_server_delete(b->server, name);
	bench_settle(b);
}

/* The watch of claims shows nothing from now on. */
static inline void bench_lag(struct bench *b)
{
	fake_server_set_watch(b->server, FAKE_WATCH_BY_HAND);
}

/* The watch shows the changes that it has not shown. */
static inline void bench_catch_up(struct bench *b)
{
	fake_server_set_watch(b->server, FAKE_WATCH_NEXT);
	bench_settle(b);
}

/* The list of claims, which is asked for first, and of devices. */
static inline void bench_list_one(struct bench *b)
{
	assert_true(fake_server_serve(b->server, FAULT_NONE));
	bench_settle(b);
}

/* Both lists are there; @items are the devices. */
static inline void bench_list(struct bench *b, const char *items)
{
	auto_free char *text = xasprintf("[%s]", items);
	auto_json json_t *devices = json_loads(text, 0, NULL);
	json_t *device;
	size_t i;

	json_array_foreach (devices, i, device) {
		auto_free char *one = json_map_text(device);
		const char *name = json_string_value(
			json_object_get(json_object_get(device, "metadata"), "name"));

		fake_server_put(b->devices, name, one);
	}
	bench_list_one(b);
	bench_list_one(b);
}

/* How many requests wait for an answer. */
static inline size_t bench_asking(struct bench *b)
{
	enum { WATCHES = 2 };

	bench_settle(b);
	return fake_client_open(b->client) - WATCHES;
}

/* Serve the oldest request as a server does, or not. */
static inline void bench_serve_with(struct bench *b, enum fake_fault fault)
{
	assert_true(bench_asking(b) > 0);
	assert_true(fake_server_serve(b->server, fault));
	bench_settle(b);
}

static inline void bench_serve_one(struct bench *b)
{
	bench_serve_with(b, FAULT_NONE);
}

/* Serve until nothing is asked any more. */
static inline void bench_serve(struct bench *b)
{
	while (bench_asking(b) > 0)
		bench_serve_one(b);
}

static inline void bench_end(struct bench *b, struct binder_outcome outcome)
{
	bench_settle(b);
	fake_binder_end(outcome);
	bench_settle(b);
}

static inline void bench_logged(struct bench *b, const char *expected)
{
	assert_string_equal(str_cstr(&b->log), expected);
	str_clear(&b->log);
}

static inline void bench_said(struct bench *b, const char *expected)
{
	assert_string_equal(str_cstr(&b->events.said), expected);
	str_clear(&b->events.said);
}

static inline bool bench_is(const struct bench *b, const char *name, const char *text)
{
	const json_t *object = fake_server_get(b->server, name);
	auto_free char *is = object ? json_map_text(object) : xstrdup("");

	return strstr(is, text) != NULL;
}

static inline void bench_has(const struct bench *b, const char *name, const char *text)
{
	if (!bench_is(b, name, text))
		fail_msg("no %s in %s", text, name);
}

static inline void bench_has_none(const struct bench *b)
{
	assert_int_equal(fake_server_count(b->server), 0);
}
