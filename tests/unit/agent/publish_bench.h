/*
 * publish_bench: publish between a made-up node and an API server of a few lines, which applies what
 * is written to its PCIDevices and tells the watch of it.
 */
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
#include "kube/informer.h"
#include "unit/agent/world.h"
#include "unit/this_node.h"

#define NO_ITEMS "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}"

enum { WATCHES = 4 };

struct listener {
	struct publish **publish;
	enum inventory_kind kind;
	bool claims;
	struct informer *informer;
};

struct bench {
	struct kube_client *client;
	struct fake_clock *clock;
	struct this_node node;
	struct listener devices[INVENTORY_KINDS];
	struct listener claims[INVENTORY_KINDS];
	struct publish *publish;
	struct world world;
	json_t *objects; /* the server's PCIDevices: name -> object */
	int version;
	size_t writes;
	bool lagging;                       /* the watch tells nothing */
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

/* Nothing is answered yet. */
static inline void bench_open(struct bench *b)
{
	*b = (struct bench){ .client = fake_client_new(), .clock = fake_clock_new() };
	b->objects = json_object();
	b->version = 100;
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

static inline void bench_close(struct bench *b)
{
	b->publish = publish_free(b->publish);
	for (int kind = 0; kind < INVENTORY_KINDS; kind++) {
		informer_free(b->devices[kind].informer);
		informer_free(b->claims[kind].informer);
	}
	assert_int_equal(fake_client_open(b->client), 0);
	kube_client_free(b->client);
	fake_clock_free(b->clock);
	json_decref(b->objects);
	world_close(&b->world);
}

SUITE_FIXTURE(bench, struct bench, bench_open, bench_close);

/* Answer the list of @plural ("pcidevices"). */
static inline void bench_list(struct bench *b, const char *plural, int status, const char *body)
{
	auto_free char *path = xasprintf("/%s?", plural);

	fake_client_choose(b->client, path);
	fake_client_answer(b->client, status, body);
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
	bench_list(b, "pcidevices", 200, NO_ITEMS);
	bench_list(b, "usbdevices", 200, NO_ITEMS);
	bench_list(b, "pcideviceclaims", 200, NO_ITEMS);
	bench_list(b, "usbdeviceclaims", 200, NO_ITEMS);
	assert_int_equal(fake_client_open(b->client), WATCHES);
}

SUITE_FIXTURE(synced, struct bench, bench_synced, bench_close);

static inline size_t bench_writing(const struct bench *b)
{
	return fake_client_open(b->client) - WATCHES;
}

/* The watch shows it, and nothing is done yet. */
static inline void bench_show(struct bench *b, const char *plural, const char *type, json_t *object)
{
	auto_free char *text = json_map_text(object);
	auto_free char *line = xasprintf("{\"type\":\"%s\",\"object\":%s}", type, text);
	auto_free char *path = xasprintf("/%s?", plural);

	fake_client_choose(b->client, path);
	fake_client_line(b->client, line);
}

static inline void bench_event(struct bench *b, const char *plural, const char *type,
			       json_t *object)
{
	bench_show(b, plural, type, object);
	fake_clock_settle(b->clock);
}

static inline json_t *bench_part(json_t *object, const char *key)
{
	if (!json_object_get(object, key))
		json_object_set_new(object, key, json_object());
	return json_object_get(object, key);
}

static inline void bench_stamp(struct bench *b, json_t *object)
{
	auto_free char *version = xasprintf("%d", ++b->version);

	json_object_set_new(bench_part(object, "metadata"), "resourceVersion",
			    json_string(version));
}

/* Server-side apply by the only writer there is. */
static inline void bench_apply(json_t *object, const char *body, bool status)
{
	auto_json json_t *applied = json_loads(body, 0, NULL);
	static const char *const pairs[] = { "labels", "annotations" };

	assert_non_null(applied);
	if (status)
		json_object_set(object, "status", json_object_get(applied, "status"));
	for (size_t i = 0; !status && i < ARRAY_LEN(pairs); i++) {
		json_t *from = json_object_get(json_object_get(applied, "metadata"), pairs[i]);

		json_object_update(bench_part(bench_part(object, "metadata"), pairs[i]), from);
	}
}

/* "name" of ".../pcidevices/name/status?...". The caller frees. */
static inline char *bench_name(const char *path)
{
	const char *name = strstr(path, "/pcidevices/") + strlen("/pcidevices/");

	return xstrndup(name, strcspn(name, "/?"));
}

static inline void bench_tell(struct bench *b, const char *type, json_t *object)
{
	if (!b->lagging)
		bench_event(b, "pcidevices", type, object);
}

static inline void bench_serve_delete(struct bench *b, const char *name)
{
	auto_json json_t *object = json_incref(json_object_get(b->objects, name));

	json_object_del(b->objects, name);
	bench_stamp(b, object);
	fake_client_answer(b->client, 200, "{}");
	bench_tell(b, "DELETED", object);
}

static inline void bench_serve_apply(struct bench *b, const char *name, bool status)
{
	bool added = !json_object_get(b->objects, name);
	json_t *object = bench_part(b->objects, name);
	auto_json json_t *before = json_deep_copy(object);
	auto_free char *text = NULL;

	json_object_set_new(bench_part(object, "metadata"), "name", json_string(name));
	json_object_set_new(bench_part(object, "metadata"), "uid", json_string("u"));
	bench_apply(object, fake_client_request(b->client)->body, status);
	if (!json_equal(object, before))
		bench_stamp(b, object);
	text = json_map_text(object);
	fake_client_answer(b->client, added ? 201 : 200, text);
	if (!json_equal(object, before))
		bench_tell(b, added ? "ADDED" : "MODIFIED", object);
}

/* Serve the oldest write, as a server does, and tell the watch of it. */
static inline void bench_serve_one(struct bench *b)
{
	const struct fake_request *request;
	auto_free char *name = NULL;

	fake_client_choose(b->client, "/pcidevices/");
	request = fake_client_request(b->client);
	name = bench_name(request->path);
	b->writes++;
	if (strcmp(request->method, "DELETE") == 0)
		bench_serve_delete(b, name);
	else
		bench_serve_apply(b, name, strstr(request->path, "/status?") != NULL);
	fake_clock_settle(b->clock);
}

/* Serve until nothing is written any more. How many writes it took. */
static inline size_t bench_serve(struct bench *b)
{
	size_t before = b->writes;

	while (bench_writing(b) > 0)
		bench_serve_one(b);
	return b->writes - before;
}

/* Text of the server's object, or of a part of it ("status"); "" if there is none. The caller
 * frees. */
static inline char *bench_has(const struct bench *b, const char *name, const char *part)
{
	json_t *object = json_object_get(b->objects, name);

	if (part)
		object = json_object_get(object, part);
	return object ? json_map_text(object) : xstrdup("");
}
