/* usb_claims_bench: usb_claims between made-up sticks and an API server of a few lines, which keeps
 * one claim. */
#pragma once

#include <stdlib.h>

#include "agent/usb/usb_claims.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "kube/clock.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/metrics.h"
#include "unit/kube/kind_bench.h"
#include "unit/kube/objects.h"
#include "unit/task/fake_task.h"
#include "unit/this_node.h"
#include "unit/usb/sticks.h"

#define CLAIMS  "/usbdeviceclaims?"
#define DEVICES "/usbdevices?"
#define PCI     "/pcideviceclaims?"
#define DEVICE                                                     \
	"{\"metadata\":{\"name\":\"" STICK                         \
	"\",\"uid\":\"d1\",\"resourceVersion\":\"7\"},\"status\":" \
	"{}}"
#define MARK   "PATCH " STICK "|"
#define TELL   "PATCH " STICK "/status|"
#define READ   "GET " STICK "|"
#define UNMARK MARK

/* kube/events.h without an API server. */
struct events {
	struct str said;
};

void events_record(struct events *events, const struct events_about *about, enum events_type type,
		   const char *reason, const char *fmt, ...)
{
	assert_string_equal(about->meta->name, STICK);
	assert_non_null(fmt);
	str_addf(&events->said, "%s %s%s|", type == EVENTS_WARNING ? "Warning" : "Normal", reason,
		 about->kind == &usbdevice_kind ? " of the device" : "");
}

struct bench {
	struct kube_client *client;
	struct fake_clock *clock;
	struct events events;
	struct metrics *metrics;
	struct informer *claim_informer, *device_informer, *pci_informer;
	struct this_node this_node;
	struct usb_claims *claims;
	struct sticks node;
	json_t *claim; /* at the server; NULL: there is none */
	int version;
	const char *pod; /* that has port 1-2 */
	struct str log;  /* requests, and nodes given back */
};

static inline void bench_on_change(void *arg, const char *name, const struct entry *before,
				   const struct entry *after)
{
	struct bench *b = arg;

	(void)before;
	(void)after;
	usb_claims_enqueue(b->claims, name);
}

static inline void bench_on_synced(void *arg)
{
	struct bench *b = arg;

	usb_claims_enqueue_all(b->claims);
}

static inline bool bench_is_free(void *arg, const char *port, char **ret_holder)
{
	const struct bench *b = arg;

	assert_string_equal(port, "1-2");
	*ret_holder = b->pod ? xstrdup(b->pod) : NULL;
	return !b->pod;
}

static inline void bench_restore_node(void *arg, const char *port)
{
	struct bench *b = arg;

	str_addf(&b->log, "give back %s|", port);
}

static inline void bench_settle(struct bench *b)
{
	fake_clock_settle(b->clock);
}

static inline void bench_list(struct bench *b, const char *path, const char *items)
{
	kind_bench_answer_list(b->client, path, items);
	bench_settle(b);
}

/* What the node has from now on. */
static inline void bench_look(struct bench *b, const char *plugged)
{
	sticks_again(&b->node);
	sticks_plug_all(&b->node, plugged);
	sticks_scan(&b->node);
	b->this_node.inventory = b->node.world.inventory;
	usb_claims_enqueue_all(b->claims);
	bench_settle(b);
}

static inline bool bench_is_taken(void *arg, const char *name)
{
	(void)arg;
	(void)name;
	return false;
}

static inline bool bench_is_offered(void *arg, const char *name, const char *port)
{
	(void)arg;
	(void)name;
	(void)port;
	return true;
}

static inline bool bench_is_out_of_reach(void *arg, const char *port)
{
	(void)arg;
	(void)port;
	return false;
}

static inline void bench_open(struct bench *b)
{
	const struct informer_handlers handlers = { .on_change = bench_on_change,
						    .on_synced = bench_on_synced };

	*b = (struct bench){ .client = fake_client_new(),
			     .clock = fake_clock_new(),
			     .metrics = metrics_new(),
			     .version = 100 };
	sticks_open(&b->node);
	b->claim_informer =
		kind_bench_informer(b, b->client, b->clock, &usbdeviceclaim_kind, handlers);
	b->device_informer = kind_bench_informer(b, b->client, b->clock, &usbdevice_kind, handlers);
	b->pci_informer =
		kind_bench_informer(b, b->client, b->clock, &pcideviceclaim_kind, handlers);
	b->this_node = this_node_of(b->client, fake_clock_as_clock(b->clock), &b->events);
	b->this_node.metrics = b->metrics;
	b->this_node.claims[INVENTORY_USB] = b->claim_informer;
	b->this_node.claims[INVENTORY_PCI] = b->pci_informer;
	b->this_node.devices[INVENTORY_USB] = b->device_informer;
	b->claims = usb_claims_new(&b->this_node, &(struct usb_claims_deps){
							  .is_free = bench_is_free,
							  .is_taken = bench_is_taken,
							  .is_offered = bench_is_offered,
							  .is_out_of_reach = bench_is_out_of_reach,
							  .restore_node = bench_restore_node,
							  .arg = b,
						  });
	informer_start(b->claim_informer);
	informer_start(b->device_informer);
	informer_start(b->pci_informer);
	bench_settle(b);
	sticks_scan(&b->node);
	b->this_node.inventory = b->node.world.inventory;
	usb_claims_enqueue_all(b->claims);
}

static inline void bench_close(struct bench *b)
{
	usb_claims_free(b->claims);
	fake_task_reset();
	informer_free(b->claim_informer);
	informer_free(b->device_informer);
	informer_free(b->pci_informer);
	assert_int_equal(fake_client_open(b->client), 0);
	kube_client_free(b->client);
	fake_clock_free(b->clock);
	metrics_free(b->metrics);
	sticks_close(&b->node);
	json_decref(b->claim);
	str_done(&b->log);
	str_done(&b->events.said);
}

SUITE_FIXTURE(bench, struct bench, bench_open, bench_close);

/* --- the server ------------------------------------------------------------------------- */

static inline void bench_watch_event(struct bench *b, const char *type)
{
	object_stamp(b->claim, &b->version);
	kind_bench_show(b->client, CLAIMS, type, b->claim);
}

static inline void bench_create(struct bench *b)
{
	b->claim = object_json("{'metadata':{'name':'" STICK "','uid':'u1','generation':1},"
			       "'spec':{'userName':'admin'}}");
	bench_watch_event(b, "ADDED");
	bench_settle(b);
}

static inline void bench_delete(struct bench *b)
{
	object_set_deleted(b->claim);
	bench_watch_event(b, "MODIFIED");
	bench_settle(b);
}

static inline bool bench_is_stale(struct bench *b, json_t *patch)
{
	return strcmp(object_meta_text(patch, "uid"), object_meta_text(b->claim, "uid")) != 0 ||
	       strcmp(object_meta_text(patch, "resourceVersion"),
		      object_meta_text(b->claim, "resourceVersion")) != 0;
}

static inline void bench_patch(struct bench *b, const char *path)
{
	auto_json json_t *body = json_loads(fake_client_request(b->client)->body, 0, NULL);
	auto_free char *at = xstrdup(path);
	bool gone;

	assert_non_null(body);
	if (bench_is_stale(b, body)) {
		fake_client_answer(b->client, 409, "{\"kind\":\"Status\"}");
		return;
	}
	object_merge(b->claim, body);
	gone = object_is_gone(b->claim);
	bench_watch_event(b, gone ? "DELETED" : "MODIFIED");
	fake_client_choose(b->client, at);
	kind_bench_answer(b->client, 200, b->claim);
	if (gone) {
		json_decref(b->claim);
		b->claim = NULL;
	}
}

/* The name, with "/status", of the oldest request of a claim; NULL: none waits. The caller
 * frees. */
static inline char *bench_next(struct bench *b)
{
	enum { WATCHES = 3 };
	const struct fake_request *request;
	const char *name;

	bench_settle(b);
	if (fake_client_open(b->client) <= WATCHES)
		return NULL;
	fake_client_choose(b->client, "/usbdeviceclaims/");
	request = fake_client_request(b->client);
	name = strstr(request->path, "/usbdeviceclaims/") + strlen("/usbdeviceclaims/");
	str_addf(&b->log, "%s %.*s|", request->method, (int)strcspn(name, "?"), name);
	return xstrdup(request->path);
}

static inline bool bench_serve_one(struct bench *b)
{
	auto_free char *path = bench_next(b);

	if (!path)
		return false;
	if (strcmp(fake_client_request(b->client)->method, "PATCH") == 0)
		bench_patch(b, path);
	else
		kind_bench_answer(b->client, 200, b->claim);
	bench_settle(b);
	return true;
}

static inline void bench_serve(struct bench *b)
{
	while (bench_serve_one(b))
		;
}

/* The helper for the device has done its work, and the claim is gone. */
static inline void bench_rebind(struct bench *b)
{
	bench_serve(b);
	assert_true(fake_task.runs);
	fake_task_end(TASK_DONE, NULL);
	bench_serve(b);
	assert_null(b->claim);
}

static inline void assert_log(struct bench *b, const char *wanted)
{
	assert_recorded(&b->log, wanted);
}

static inline void assert_events(struct bench *b, const char *wanted)
{
	assert_recorded(&b->events.said, wanted);
}

static inline void assert_has(const struct bench *b, const char *part)
{
	auto_free char *text = json_map_text(b->claim);

	if (!strstr(text, part))
		fail_msg("no %s in %s", part, text);
}

static inline void bench_list_all(struct bench *b)
{
	bench_list(b, CLAIMS, "");
	bench_list(b, DEVICES, DEVICE);
	bench_list(b, PCI, "");
}

/* Ready, with nothing under way. */
static inline void bench_open_ready(struct bench *b)
{
	bench_open(b);
	bench_list_all(b);
	bench_look(b, "1-2=5:A");
	bench_create(b);
	bench_serve(b);
	str_clear(&b->log);
	str_clear(&b->events.said);
}

SUITE_FIXTURE(ready, struct bench, bench_open_ready, bench_close);
