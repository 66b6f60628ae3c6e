/*
 * hami_bench: an API server with the Node "node1" and pods, an informer of the Node as the agent has
 * it, and kubelet's calls: what hami_serve and hami_node do with them.
 */
#pragma once

#include <string.h>

#include "agent/hami/hami_lock.h"
#include "agent/hami/hami_node.h"
#include "agent/hami/hami_pod.h"
#include "agent/hami/hami_request.h"
#include "agent/node/this_node.h"
#include "agent/plugin/device_type.h"
#include "api/node.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "fake/fake_client.h"
#include "fake/fake_clock.h"
#include "fake/fake_server.h"
#include "kube/informer.h"
#include "unit/suite.h"
#include "unit/this_node.h"

#define TIME   "2026-11-27T20:00:00Z"
#define LOCKED "{'metadata':{'annotations':{'" HAMI_LOCK "':'" TIME ",default,train'}}}"
#define SHARE  "GPU-a,NVIDIA,3000,30:"

struct hami_bench {
	struct fake_clock *clock;
	struct fake_server *nodes, *pods;
	struct kube_client *client;
	struct informer *informer;
	struct this_node node;
	struct hami_node *annotations;
	void (*on_node)(void *arg); /* another listener of the Node; NULL: none */
	void *arg;
};

static inline void hami_bench_on_change(void *arg, const char *name, const struct entry *before,
					const struct entry *after)
{
	const struct hami_bench *b = arg;

	if (b->annotations)
		hami_node_changed(b->annotations);
	if (b->on_node)
		b->on_node(b->arg);
}

static inline void hami_bench_on_synced(void *arg)
{
	hami_bench_on_change(arg, NULL, NULL, NULL);
}

/* Everything is served and shown at once. */
static inline void hami_bench_settle(struct hami_bench *b)
{
	do {
		fake_clock_settle(b->clock);
	} while (fake_server_step(b->nodes));
}

static inline void hami_bench_init(struct hami_bench *b)
{
	log_set_level(LOG_ERROR);
	b->clock = fake_clock_new();
	b->nodes = fake_server_new(&node_kind);
	b->pods = fake_server_join(b->nodes, &hami_pod_kind);
	b->client = fake_server_client(b->nodes);
	b->node = this_node_of(b->client, fake_clock_as_clock(b->clock), NULL);
	b->informer = informer_new(
		&(struct informer_deps){ .client = b->client, .clock = b->node.clock },
		&(struct informer_spec){ .kind = &node_kind,
					 .handlers = { .on_change = hami_bench_on_change,
						       .on_synced = hami_bench_on_synced },
					 .arg = b });
	b->node.self = b->informer;
	fake_server_write(b->nodes, "node1", "{}");
	informer_start(b->informer);
}

static inline void hami_bench_done(struct hami_bench *b)
{
	informer_free(b->informer);
	assert_int_equal(fake_client_open(b->client), 0);
	kube_client_free(b->client);
	fake_server_free(b->pods);
	fake_server_free(b->nodes);
	fake_clock_free(b->clock);
}

/* Of the object @name, "" if it has none. */
static inline const char *hami_bench_annotation(struct fake_server *server, const char *name,
						const char *key)
{
	const json_t *meta = json_object_get(fake_server_get(server, name), "metadata");
	const char *text =
		json_string_value(json_object_get(json_object_get(meta, "annotations"), key));

	return str_or_empty(text);
}

/* A pod that HAMi's scheduler has bound here; its containers c0, c1 and so on ask for @gpus, a
 * digit each. */
static inline void hami_bench_pod(struct hami_bench *b, const char *name, const char *chosen,
				  const char *gpus)
{
	struct str text = STR_INIT;

	str_addf(&text,
		 "{'metadata':{'annotations':{'" HAMI_PHASE "':'" HAMI_ALLOCATING
		 "','" HAMI_TO_ALLOCATE "':'%s'}},'spec':{'nodeName':'node1','containers':[",
		 chosen);
	for (size_t i = 0; gpus[i]; i++)
		str_addf(&text, "%s{'name':'c%zu','resources':{'limits':{'nvidia.com/gpu':'%c'}}}",
			 i ? "," : "", i, gpus[i]);
	str_add(&text, "]},'status':{'phase':'Pending'}}");
	fake_server_put(b->pods, name, str_cstr(&text));
	str_done(&text);
}
