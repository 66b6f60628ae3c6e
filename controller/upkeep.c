#include "controller/upkeep.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "controller/cache/cache.h"
#include "controller/config_nodes.h"
#include "controller/leader.h"
#include "controller/nodes/nodes.h"
#include "controller/pools/pools.h"
#include "kube/clock.h"
#include "kube/informer.h"
#include "kube/program.h"

struct upkeep {
	struct leader *leader;
	struct clock *clock;
	struct kube_client *client;
	struct metrics *metrics;
	struct config_nodes *config_nodes;
	struct cache *cache;
	struct view_count count;
	struct pools *pools;
	struct nodes *nodes;
	enum kubevirt_mode kubevirt_mode;
	struct kubevirt_upkeep *kubevirt; /* NULL: another replica leads, or it is off */
	bool synced;
};

static bool leads(void *arg)
{
	const struct upkeep *upkeep = arg;

	return leader_leads(upkeep->leader);
}

static void on_change(void *arg, enum view_kind kind, const char *name, const struct entry *before,
		      const struct entry *after)
{
	struct upkeep *upkeep = arg;

	view_count_on_change(&upkeep->count, kind, before, after);
	pools_on_change(upkeep->pools, kind, name, before, after);
	nodes_on_change(upkeep->nodes, kind, name, before, after);
	kubevirt_on_change(upkeep->kubevirt, kind, name, before, after);
	if (kind == VIEW_CONFIG)
		config_nodes_enqueue_all(upkeep->config_nodes);
	else if (kind == VIEW_NODE && !after)
		config_nodes_on_change(upkeep->config_nodes, name);
}

static void on_reach(void *arg, const char *node, bool reachable)
{
	struct upkeep *upkeep = arg;

	pools_set_reachable(upkeep->pools, node, reachable);
}

static void enqueue_all(struct upkeep *upkeep)
{
	if (!upkeep->synced)
		return;
	pools_enqueue_all(upkeep->pools);
	nodes_enqueue_all(upkeep->nodes);
	kubevirt_enqueue_all(upkeep->kubevirt);
}

static struct kubevirt_upkeep *make_kubevirt(struct upkeep *upkeep)
{
	if (upkeep->kubevirt_mode == KUBEVIRT_OFF)
		return NULL;
	return kubevirt_new(&(struct kubevirt_deps){
		.client = upkeep->client,
		.clock = upkeep->clock,
		.metrics = upkeep->metrics,
		.cache = upkeep->cache,
		.create = upkeep->kubevirt_mode == KUBEVIRT_CREATE,
		.leads = leads,
		.arg = upkeep,
	});
}

static void on_synced(void *arg)
{
	struct upkeep *upkeep = arg;

	upkeep->synced = true;
	log_info("devices, claims, nodes and agents have been listed");
	enqueue_all(upkeep);
}

static void on_started(void *arg)
{
	struct upkeep *upkeep = arg;

	config_nodes_enqueue_all(upkeep->config_nodes);
	upkeep->kubevirt = make_kubevirt(upkeep);
	enqueue_all(upkeep);
}

static void on_stopped(void *arg)
{
	struct upkeep *upkeep = arg;

	upkeep->kubevirt = kubevirt_free(upkeep->kubevirt);
}

static struct pools *make_pools(struct upkeep *upkeep, struct program *program)
{
	return pools_new(&(struct pools_deps){
		.client = program->client,
		.clock = upkeep->clock,
		.metrics = program->metrics,
		.stores = cache_stores(upkeep->cache),
		.pools = cache_informers(upkeep->cache)[VIEW_POOL],
		.leads = leads,
		.arg = upkeep,
	});
}

static struct nodes *make_nodes(struct upkeep *upkeep, struct program *program,
				const struct upkeep_options *options, bool agents)
{
	return nodes_new(&(struct nodes_deps){
		.client = program->client,
		.clock = upkeep->clock,
		.metrics = program->metrics,
		.stores = cache_stores(upkeep->cache),
		.informers = cache_informers(upkeep->cache),
		.agents = agents,
		.gone_ms = options->gone_ms,
		.leads = leads,
		.on_reach = on_reach,
		.arg = upkeep,
	});
}

static struct config_nodes *make_config_nodes(struct upkeep *upkeep)
{
	const struct informer *const *informers = cache_informers(upkeep->cache);

	return config_nodes_new(&(struct config_nodes_deps){
		.client = upkeep->client,
		.clock = upkeep->clock,
		.metrics = upkeep->metrics,
		.nodes = informers[VIEW_NODE],
		.configs = informers[VIEW_CONFIG],
		.leads = leads,
		.arg = upkeep,
	});
}

struct upkeep *upkeep_new(struct program *program, struct leader *leader,
			  const struct upkeep_options *options)
{
	struct upkeep *upkeep = xcalloc(1, sizeof(*upkeep));
	bool agents = strcmp(options->agents, "none") != 0;
	bool machines = options->machines || options->kubevirt != KUBEVIRT_OFF;
	struct informer_deps deps = { .client = program->client, .metrics = program->metrics };

	upkeep->leader = leader;
	upkeep->kubevirt_mode = options->kubevirt;
	upkeep->client = program->client;
	upkeep->metrics = program->metrics;
	upkeep->clock = deps.clock = clock_new(&program->loop);
	view_count_init(&upkeep->count, upkeep->metrics);
	upkeep->cache = cache_new(&deps, &(struct cache_spec){
						 .agents_ns = options->ns,
						 .agents_selector = agents ? options->agents : NULL,
						 .machines = machines,
						 .on_change = on_change,
						 .on_synced = on_synced,
						 .arg = upkeep,
					 });
	upkeep->pools = make_pools(upkeep, program);
	upkeep->nodes = make_nodes(upkeep, program, options, agents);
	upkeep->config_nodes = make_config_nodes(upkeep);
	leader_add(leader, &(struct leader_callbacks){
				   .started = on_started, .stopped = on_stopped, .arg = upkeep });
	return upkeep;
}

struct cache *upkeep_cache(const struct upkeep *upkeep)
{
	return upkeep->cache;
}

struct upkeep *upkeep_free(struct upkeep *upkeep)
{
	if (!upkeep)
		return NULL;
	config_nodes_free(upkeep->config_nodes);
	kubevirt_free(upkeep->kubevirt);
	cache_free(upkeep->cache);
	nodes_free(upkeep->nodes);
	pools_free(upkeep->pools);
	clock_free(upkeep->clock);
	free(upkeep);
	return NULL;
}
