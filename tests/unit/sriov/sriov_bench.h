/* sriov_bench: cards between a made-up node, a task that does what the test says, and an API
 * server. */
#pragma once

#include "agent/sriov/sriov.h"
#include "api/pcideviceclaim.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/fake_server.h"
#include "kube/clock.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "unit/kube/kind_bench.h"
#include "unit/sriov/card_scene.h"
#include "unit/task/fake_task.h"
#include "unit/this_node.h"

#define JOB       "address=" PF " id=8086:10c9"
#define SETTING   ",'virtualFunctions':[{'index':1,'vlan':5}]"
#define STATUS_OF "PATCH " NAME "/status|"

enum { A_MINUTE = 60000 };

/* --- fakes ------------------------------------------------------------------------------------ */

struct events {
	struct str recorded;
};

void events_record(struct events *events, const struct events_about *about, enum events_type type,
		   const char *reason, const char *fmt, ...)
{
	assert_non_null(about->meta->name);
	assert_non_null(fmt);
	str_addf(&events->recorded, "%s%s ", type == EVENTS_WARNING ? "!" : "", reason);
}

/* --- the bench -------------------------------------------------------------------------------- */

struct bench {
	struct fake_server *server; /* of SRIOVNetworkDevices */
	struct fake_server *claim_server;
	struct fake_clock *clock;
	struct events events;
	struct informer *claims;
	struct this_node node;
	struct sriov *sriov;
	struct world world;
	int moves, frees;
	struct str named;
	const char *pod; /* that has 0000:03:10.0; "": not known */
	bool moving;     /* 0000:03:10.0 was released, and no scan has begun since */
};

static inline void bench_on_claim(void *arg, const char *name, const struct entry *before,
				  const struct entry *after)
{
	struct bench *b = arg;

	(void)name;
	(void)before;
	(void)after;
	if (b->sriov)
		sriov_enqueue_all(b->sriov);
}

static inline void bench_on_claims_synced(void *arg)
{
	struct bench *b = arg;

	sriov_enqueue_all(b->sriov);
}

static inline void bench_on_moved(void *arg)
{
	struct bench *b = arg;

	b->moves++;
}

static inline void bench_on_free(void *arg)
{
	struct bench *b = arg;

	b->frees++;
}

static inline void bench_on_named(void *arg, const char *address)
{
	struct bench *b = arg;

	str_addf(&b->named, "%s ", address);
}

static inline bool bench_is_free(void *arg, const char *address, char **ret_holder)
{
	const struct bench *b = arg;

	if (!b->pod || strcmp(address, "0000:03:10.0") != 0)
		return true;
	*ret_holder = *b->pod ? xstrdup(b->pod) : NULL;
	return false;
}

static inline bool bench_is_moving(void *arg, const char *name)
{
	const struct bench *b = arg;

	return b->moving && strcmp(name, "node1-000003100") == 0;
}

/* The agent begins; nothing is listed yet. */
static inline void bench_start(struct bench *b)
{
	const struct informer_handlers handlers = { .on_change = bench_on_claim,
						    .on_synced = bench_on_claims_synced };

	b->claims = kind_bench_informer(b, fake_server_client(b->claim_server), b->clock,
					&pcideviceclaim_kind, handlers);
	b->node = this_node_of(fake_server_client(b->server), fake_clock_as_clock(b->clock),
			       &b->events);
	b->node.claims[INVENTORY_PCI] = b->claims;
	b->sriov = sriov_new(&b->node, &(struct sriov_deps){
					       .on_moved = bench_on_moved,
					       .on_free = bench_on_free,
					       .on_named = bench_on_named,
					       .is_free = bench_is_free,
					       .is_moving = bench_is_moving,
					       .arg = b,
				       });
	informer_start(b->claims);
	sriov_start(b->sriov);
}

static inline void bench_end(struct bench *b)
{
	b->sriov = sriov_free(b->sriov);
	b->claims = informer_free(b->claims);
	assert_int_equal(fake_client_open(fake_server_client(b->server)), 0);
	assert_false(fake_task.runs);
	world_close(&b->world);
	b->world = (struct world){ 0 };
}

static inline void bench_open(struct bench *b)
{
	*b = (struct bench){ .server = fake_server_new(&sriovnetworkdevice_kind),
			     .claim_server = fake_server_new(&pcideviceclaim_kind),
			     .clock = fake_clock_new() };
	fake_task_reset();
	bench_start(b);
}

static inline void bench_close(struct bench *b)
{
	bench_end(b);
	kube_client_free(fake_server_client(b->server));
	kube_client_free(fake_server_client(b->claim_server));
	fake_server_free(b->server);
	fake_server_free(b->claim_server);
	fake_clock_free(b->clock);
	str_done(&b->named);
	str_done(&b->events.recorded);
	fake_task_reset();
}

SUITE_FIXTURE(bench, struct bench, bench_open, bench_close);

/* Everything is served and shown at once, until nothing is left to do now. */
static inline void bench_settle(struct bench *b)
{
	unsigned left = 2000;

	do {
		fake_clock_settle(b->clock);
		if (left-- == 0)
			fail_msg("it does not come to rest: %s", fake_server_log(b->server));
	} while (fake_server_serve(b->claim_server, FAULT_NONE) ||
		 fake_server_show(b->claim_server, 1) || fake_server_serve(b->server, FAULT_NONE) ||
		 fake_server_show(b->server, 1));
}

/* The same for @ms. */
static inline void bench_run(struct bench *b, uint64_t ms)
{
	kind_bench_run(b, b->clock, bench_settle, ms);
}

/* What the node has from now on, by a scan that begins a moment later. */
static inline void bench_scan(struct bench *b, const char *const *lines)
{
	struct world before = b->world;

	fake_clock_advance(b->clock, 1);
	scene_world(&b->world, lines, 8);
	b->world.inventory->began_ms = clock_now_ms(fake_clock_as_clock(b->clock));
	b->node.inventory = b->world.inventory;
	sriov_map_functions(b->sriov);
	sriov_enqueue_all(b->sriov);
	if (before.inventory)
		world_close(&before);
	fake_clock_settle(b->clock);
}

/* kubectl patch: the spec is another one. */
static inline void bench_edit(struct bench *b, const char *spec)
{
	auto_free char *patch = xasprintf("{'spec':%s}", spec);

	fake_server_write(b->server, NAME, patch);
}

/* Listed, @object among it (NULL: none), and everything done but tasks. */
static inline void bench_begin(struct bench *b, const char *object, const char *const *lines)
{
	if (object)
		fake_server_write(b->server, NAME, object);
	bench_settle(b);
	bench_scan(b, lines);
	bench_settle(b);
}

/* The task ends; the rest is still to come. */
static inline void bench_end_task(struct bench *b, enum task_result result, const char *reason)
{
	assert_string_equal(fake_task.verb, "vfs");
	assert_string_equal(fake_task.key, NAME);
	fake_task_end(result, reason);
	fake_clock_settle(b->clock);
}

static inline void bench_task_done(struct bench *b)
{
	bench_end_task(b, TASK_DONE, NULL);
	bench_settle(b);
}

static inline void bench_task_fails(struct bench *b, const char *reason)
{
	bench_end_task(b, TASK_FAILED, reason);
	bench_settle(b);
}

static inline void assert_log(struct bench *b, const char *wanted)
{
	assert_string_equal(fake_server_log(b->server), wanted);
}

/* Status and reason of Ready; the caller frees. */
static inline char *bench_ready(const struct bench *b)
{
	auto_json json_t *json = json_deep_copy(fake_server_get(b->server, NAME));
	void *decoded = NULL;
	struct err err = { 0 };
	char *ready;

	if (!json)
		return xstrdup("gone");
	assert_int_equal(api_object_decode(&sriovnetworkdevice_kind, json, &decoded, &err), 0);
	ready = scene_condition(decoded, "Ready");
	api_object_free(&sriovnetworkdevice_kind, decoded);
	return ready;
}

static inline void assert_ready(struct bench *b, const char *wanted)
{
	auto_free char *is = bench_ready(b);

	assert_string_equal(is, wanted);
}

static const char *const none[] = { CARD, NULL };
static const char *const two[] = { CARD_2, VF("0", ",'driver':'igbvf'"), VF("2", ""), NULL };
