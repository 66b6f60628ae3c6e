/* usb_claims_bench: usb_claims between made-up sticks and a fake_server, whose watches show a write
 * before it is answered. */
#pragma once

#include <stdlib.h>

#include "agent/usb/usb_claims.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/fake_server.h"
#include "kube/clock.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/metrics.h"
#include "unit/kube/kind_bench.h"
#include "unit/task/fake_task.h"
#include "unit/this_node.h"
#include "unit/usb/sticks.h"

#define DEVICE "{'metadata':{'uid':'d1'},'status':{}}"
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
	struct fake_server *server; /* of claims */
	struct fake_server *devices, *pci_claims;
	struct fake_clock *clock;
	struct events events;
	struct metrics *metrics;
	struct informer *claim_informer, *device_informer, *pci_informer;
	struct this_node this_node;
	struct usb_claims *claims;
	struct sticks node;
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

/* The oldest request is answered. False: there is none. */
static inline bool bench_serve_one(struct bench *b)
{
	bool served;

	bench_settle(b);
	served = fake_server_serve(b->server, FAULT_NONE);
	bench_settle(b);
	return served;
}

static inline void bench_serve(struct bench *b)
{
	while (bench_serve_one(b))
		;
}

/* Does a request wait for an answer? */
static inline bool bench_asks(struct bench *b)
{
	bench_settle(b);
	return fake_client_choose_call(fake_server_client(b->server));
}

static inline void bench_note(void *arg, const struct fake_asked *asked)
{
	struct bench *b = arg;

	if (*asked->name)
		str_addf(&b->log, "%s %s%s|", asked->method, asked->name,
			 asked->is_status ? "/status" : "");
}

static inline struct fake_server *bench_join(struct bench *b, const struct api_kind *kind)
{
	struct fake_server *server = fake_server_join(b->server, kind);

	fake_server_set_watch(server, FAKE_WATCH_FIRST);
	return server;
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

/* The program begins, or begins again. */
static inline void bench_begin(struct bench *b)
{
	const struct informer_handlers handlers = { .on_change = bench_on_change,
						    .on_synced = bench_on_synced };
	struct kube_client *client = fake_server_client(b->server);

	b->claim_informer =
		kind_bench_informer(b, client, b->clock, &usbdeviceclaim_kind, handlers);
	b->device_informer = kind_bench_informer(b, client, b->clock, &usbdevice_kind, handlers);
	b->pci_informer = kind_bench_informer(b, client, b->clock, &pcideviceclaim_kind, handlers);
	b->this_node = this_node_of(client, fake_clock_as_clock(b->clock), &b->events);
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
}

static inline void bench_end(struct bench *b)
{
	b->claims = usb_claims_free(b->claims);
	b->claim_informer = informer_free(b->claim_informer);
	b->device_informer = informer_free(b->device_informer);
	b->pci_informer = informer_free(b->pci_informer);
	assert_int_equal(fake_client_open(fake_server_client(b->server)), 0);
}

static inline void bench_open(struct bench *b)
{
	*b = (struct bench){ .server = fake_server_new(&usbdeviceclaim_kind),
			     .clock = fake_clock_new(),
			     .metrics = metrics_new() };
	fake_server_set_watch(b->server, FAKE_WATCH_FIRST);
	fake_server_listen(b->server, bench_note, b);
	b->devices = bench_join(b, &usbdevice_kind);
	b->pci_claims = bench_join(b, &pcideviceclaim_kind);
	fake_server_put(b->devices, STICK, DEVICE);
	sticks_open(&b->node);
	bench_begin(b);
	sticks_scan(&b->node);
	b->this_node.inventory = b->node.world.inventory;
	usb_claims_enqueue_all(b->claims);
}

static inline void bench_close(struct bench *b)
{
	bench_end(b);
	fake_task_reset();
	kube_client_free(fake_server_client(b->server));
	fake_server_free(b->server);
	fake_clock_free(b->clock);
	metrics_free(b->metrics);
	sticks_close(&b->node);
	str_done(&b->log);
	str_done(&b->events.said);
}

SUITE_FIXTURE(bench, struct bench, bench_open, bench_close);

static inline void bench_create(struct bench *b)
{
	fake_server_write(b->server, STICK, "{'spec':{'userName':'admin'}}");
	bench_settle(b);
}

static inline void bench_delete(struct bench *b)
{
	fake_server_delete(b->server, STICK);
	bench_settle(b);
}

static inline void assert_gone(const struct bench *b)
{
	assert_null(fake_server_get(b->server, STICK));
}

/* The helper for the device has done its work, and the claim is gone. */
static inline void bench_rebind(struct bench *b)
{
	bench_serve(b);
	assert_true(fake_task.runs);
	fake_task_end(TASK_DONE, NULL);
	bench_serve(b);
	assert_gone(b);
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
	auto_free char *text = json_map_text(fake_server_get(b->server, STICK));

	if (!strstr(text, part))
		fail_msg("no %s in %s", part, text);
}

enum { LISTS = 3 };

static inline void bench_list_all(struct bench *b)
{
	for (int i = 0; i < LISTS; i++)
		assert_true(bench_serve_one(b));
	str_clear(&b->log);
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
