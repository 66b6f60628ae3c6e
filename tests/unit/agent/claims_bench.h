/*
 * claims_bench: claims between a made-up node, a binder that does what the test says, and an API
 * server of a few lines that keeps PCIDeviceClaims.
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
#include "kube/clock.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/metrics.h"
#include "unit/agent/fake_binder.h"
#include "unit/agent/world.h"
#include "unit/this_node.h"

#define CLAIMS_PATH  "/pcideviceclaims?"
#define DEVICES_PATH "/pcidevices?"

/* kube/events.h without an API server. */
struct events {
	struct str
		said; /* "Warning Held\n" for each event of a claim, "Warning Held of the device\n" */
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
	struct kube_client *client;
	struct fake_clock *clock;
	struct events events;
	struct metrics *metrics;
	struct informer *claim_informer;
	struct informer *device_informer;
	struct this_node node;
	struct claims *claims;
	struct world world;
	json_t *objects; /* the server's claims: name -> object */
	int version;
	int uids;
	bool lagging;                /* the watch tells nothing */
	const char *pod;             /* that has 0000:01:00.0; "": not known; NULL: none */
	const char *usb_pod;         /* likewise, of the USB device in port 1-2 */
	const char *bind_trouble;    /* NULL: none */
	const char *bind_trouble_at; /* address of the device that has it; NULL: all */
	bool held;                   /* 0000:01:00.0 is still being set up */
	struct claim_offer offer;    /* of all devices */
	bool early;                  /* the watch tells of a write before it is answered */
	struct str log;              /* "PATCH <name>/status\n" for each request of a claim */
	size_t writes;               /* of claims */
	size_t moves;                /* how often on_moved ran */
	char *last;                  /* body of the last write */
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

/* Nothing is answered yet, and the node has not been looked at. */
static inline void bench_open(struct bench *b)
{
	*b = (struct bench){ .client = fake_client_new(),
			     .clock = fake_clock_new(),
			     .metrics = metrics_new() };
	fake.watches = 0;
	b->objects = json_object();
	b->version = 100;
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
	fake_clock_free(b->clock);
	metrics_free(b->metrics);
	world_close(&b->world);
	json_decref(b->objects);
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

static inline json_t *bench_part(json_t *object, const char *key)
{
	if (!json_object_get(object, key))
		json_object_set_new(object, key, json_object());
	return json_object_get(object, key);
}

static inline const char *bench_meta(json_t *object, const char *key)
{
	return json_string_value(json_object_get(json_object_get(object, "metadata"), key));
}

static inline void bench_stamp(struct bench *b, json_t *object)
{
	auto_free char *version = xasprintf("%d", ++b->version);

	json_object_set_new(bench_part(object, "metadata"), "resourceVersion",
			    json_string(version));
}

static inline void bench_event(struct bench *b, const char *path, const char *type, json_t *object)
{
	auto_free char *text = json_map_text(object);
	auto_free char *line = xasprintf("{\"type\":\"%s\",\"object\":%s}", type, text);

	fake_client_choose(b->client, path);
	fake_client_line(b->client, line);
}

static inline void bench_tell(struct bench *b, const char *type, json_t *object)
{
	if (!b->lagging)
		bench_event(b, CLAIMS_PATH, type, object);
}

/* The watch shows the changes that it has not shown. */
static inline void bench_catch_up(struct bench *b)
{
	const char *name;
	json_t *object;

	b->lagging = false;
	json_object_foreach (b->objects, name, object)
		bench_tell(b, "MODIFIED", object);
	bench_settle(b);
}

static inline void bench_list_devices(struct bench *b, const char *items)
{
	auto_free char *text =
		xasprintf("{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[%s]}", items);

	fake_client_choose(b->client, DEVICES_PATH);
	fake_client_answer(b->client, 200, text);
	bench_settle(b);
}

/* The list of what the server has. */
static inline void bench_list_claims(struct bench *b)
{
	auto_json json_t *list =
		json_pack("{s:{s:s}, s:[]}", "metadata", "resourceVersion", "5", "items");
	auto_free char *text = NULL;
	const char *name;
	json_t *object;

	json_object_foreach (b->objects, name, object)
		json_array_append(json_object_get(list, "items"), object);
	text = json_map_text(list);
	fake_client_choose(b->client, CLAIMS_PATH);
	fake_client_answer(b->client, 200, text);
	bench_settle(b);
}

/* Both lists are there; @items are the devices. */
static inline void bench_list(struct bench *b, const char *items)
{
	bench_list_claims(b);
	bench_list_devices(b, items);
}
