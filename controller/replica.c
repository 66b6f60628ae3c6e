#include "controller/replica.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/admission/admission.h"
#include "controller/cache/cache.h"
#include "controller/config_nodes.h"
#include "controller/nodes/nodes.h"
#include "controller/pools/pools.h"
#include "controller/webhook/webhook.h"
#include "kube/clock.h"
#include "kube/election.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/listen.h"
#include "kube/metrics.h"
#include "kube/program.h"
#include "kube/serve.h"
#include "page/page.h"

enum { CLIENT_CA_MAX = 256 * 1024 };

struct replica {
	struct program *program;
	const struct replica_options *options;
	struct clock *clock;
	struct election *election;
	struct metric *leader; /* whether it is the leader */

	/* The cluster, and what the leader writes. */
	struct cache *cache;
	struct view_count count;
	bool synced;
	struct pools *pools;
	struct nodes *nodes;
	struct config_nodes *config_nodes;
	struct kubevirt_upkeep *kubevirt; /* NULL: another replica leads, or it is off */

	/* The webhook; NULL: it is off. */
	struct webhook *webhook;
	struct admission *admission;
	struct events *events;
	struct events *unverified_events; /* own limits and queue, to protect the others */
	struct clock_timer *drain;
};

static const struct metric_desc leader_desc = {
	.name = "hostdev_controller_leader",
	.help = "1 while this replica does the leader's work.",
	.type = METRIC_GAUGE,
};

/* Asked before each write. Correct even right after the process was suspended. */
static bool leads(void *arg)
{
	const struct replica *replica = arg;

	return election_leads(replica->election);
}

/* --- the leader's work ------------------------------------------------------------------------ */

static void on_change(void *arg, enum view_kind kind, const char *name, const struct entry *before,
		      const struct entry *after)
{
	struct replica *replica = arg;

	view_count_on_change(&replica->count, kind, before, after);
	pools_on_change(replica->pools, kind, name, before, after);
	nodes_on_change(replica->nodes, kind, name, before, after);
	kubevirt_on_change(replica->kubevirt, kind, name, before, after);
	if (kind == VIEW_CONFIG)
		config_nodes_enqueue_all(replica->config_nodes);
	else if (kind == VIEW_NODE && !after)
		config_nodes_on_change(replica->config_nodes, name);
}

static void on_reach(void *arg, const char *node, bool reachable)
{
	struct replica *replica = arg;

	pools_set_reachable(replica->pools, node, reachable);
}

static void enqueue_all(struct replica *replica)
{
	if (!replica->synced)
		return;
	pools_enqueue_all(replica->pools);
	nodes_enqueue_all(replica->nodes);
	kubevirt_enqueue_all(replica->kubevirt);
}

static void on_synced(void *arg)
{
	struct replica *replica = arg;

	replica->synced = true;
	log_info("devices, claims, nodes and agents have been listed");
	enqueue_all(replica);
}

static bool has_webhook(const struct replica *replica)
{
	return strcmp(replica->options->webhook_listen, "off") != 0;
}

static bool has_agents(const struct replica *replica)
{
	return strcmp(replica->options->agents, "none") != 0;
}

static void make_cache(struct replica *replica)
{
	const struct replica_options *options = replica->options;
	struct informer_deps deps = { .client = replica->program->client,
				      .clock = replica->clock,
				      .metrics = replica->program->metrics };

	view_count_init(&replica->count, replica->program->metrics);
	replica->cache = cache_new(
		&deps,
		&(struct cache_spec){
			.agents_ns = options->ns,
			.agents_selector = has_agents(replica) ? options->agents : NULL,
			.machines = has_webhook(replica) || options->kubevirt != KUBEVIRT_OFF,
			.on_change = on_change,
			.on_synced = on_synced,
			.arg = replica,
		});
}

static struct pools *make_pools(struct replica *replica)
{
	return pools_new(&(struct pools_deps){
		.client = replica->program->client,
		.clock = replica->clock,
		.metrics = replica->program->metrics,
		.stores = cache_stores(replica->cache),
		.pools = cache_informers(replica->cache)[VIEW_POOL],
		.leads = leads,
		.arg = replica,
	});
}

static struct nodes *make_nodes(struct replica *replica)
{
	return nodes_new(&(struct nodes_deps){
		.client = replica->program->client,
		.clock = replica->clock,
		.metrics = replica->program->metrics,
		.stores = cache_stores(replica->cache),
		.informers = cache_informers(replica->cache),
		.agents = has_agents(replica),
		.gone_ms = replica->options->node_gone_ms,
		.leads = leads,
		.on_reach = on_reach,
		.arg = replica,
	});
}

static struct config_nodes *make_config_nodes(struct replica *replica)
{
	const struct informer *const *informers = cache_informers(replica->cache);

	return config_nodes_new(&(struct config_nodes_deps){
		.client = replica->program->client,
		.clock = replica->clock,
		.metrics = replica->program->metrics,
		.nodes = informers[VIEW_NODE],
		.configs = informers[VIEW_CONFIG],
		.leads = leads,
		.arg = replica,
	});
}

static struct kubevirt_upkeep *make_kubevirt(struct replica *replica)
{
	if (replica->options->kubevirt == KUBEVIRT_OFF)
		return NULL;
	return kubevirt_new(&(struct kubevirt_deps){
		.client = replica->program->client,
		.clock = replica->clock,
		.metrics = replica->program->metrics,
		.cache = replica->cache,
		.create = replica->options->kubevirt == KUBEVIRT_CREATE,
		.leads = leads,
		.arg = replica,
	});
}

/* --- the election ----------------------------------------------------------------------------- */

static void on_started(void *arg)
{
	struct replica *replica = arg;

	metric_set(replica->leader, 1, NULL);
	config_nodes_enqueue_all(replica->config_nodes);
	replica->kubevirt = make_kubevirt(replica);
	enqueue_all(replica);
	if (replica->webhook)
		webhook_lead(replica->webhook);
}

static void on_stopped(void *arg)
{
	struct replica *replica = arg;

	metric_set(replica->leader, 0, NULL);
	replica->kubevirt = kubevirt_free(replica->kubevirt);
}

/* Any leader shows that the API server answers and that the Lease is readable. */
static int check_election(void *arg, struct err *err)
{
	const struct replica *replica = arg;

	if (*election_leader(replica->election))
		return 0;
	return err_set(err, ERR_RETRY, -1, "the Lease has not been read yet");
}

static void join_election(struct replica *replica)
{
	struct program *program = replica->program;

	replica->leader = metrics_family(program->metrics, &leader_desc);
	replica->election = election_new(&(struct election_spec){
		.client = program->client,
		.clock = replica->clock,
		.metrics = program->metrics,
		.ns = replica->options->ns,
		.name = "hostdev-controller",
		.identity = replica->options->identity,
		.on_started = on_started,
		.on_stopped = on_stopped,
		.arg = replica,
	});
	election_start(replica->election);
	serve_add_check(program->serve, SERVE_READYZ, "election", check_election, replica);
}

/* --- the webhook ------------------------------------------------------------------------------ */

static int check_webhook(void *arg, struct err *err)
{
	struct replica *replica = arg;

	return webhook_ready(replica->webhook, err);
}

/* NULL if not set; the caller frees it. */
static int read_client_ca(const struct replica_options *options, char **ret_pem, struct err *err)
{
	int r;

	if (!options->webhook_client_ca || !*options->webhook_client_ca)
		return 0;
	r = file_read(AT_FDCWD, options->webhook_client_ca, CLIENT_CA_MAX, ret_pem, NULL, err);
	return r < 0 ? err_wrap(err, "--webhook-client-ca") : 0;
}

static int listen_webhook(struct replica *replica, struct err *err)
{
	const struct replica_options *options = replica->options;
	struct listen_address address = { 0 };
	struct webhook_options webhook = {
		.client = replica->program->client,
		.clock = replica->clock,
		.metrics = replica->program->metrics,
		.address = &address,
		.ns = options->ns,
		.rules = admission_rules(replica->admission),
		.leads = leads,
		.arg = replica,
	};
	auto_free char *client_ca = NULL;
	int r = read_client_ca(options, &client_ca, err);

	if (r < 0)
		return r;
	webhook.client_ca = client_ca;
	r = listen_address_parse(options->webhook_listen, &address, err);
	for (size_t i = 0; i < options->webhook_hosts->len; i++)
		json_strs_add(&webhook.hosts, options->webhook_hosts->items[i]);
	if (r == 0)
		r = webhook_new(&replica->program->loop, &webhook, &replica->webhook, err);
	json_strs_done(&webhook.hosts);
	return r < 0 ? err_wrap(err, "--webhook-listen") : 0;
}

static struct events *make_events(const struct replica *replica, bool together)
{
	return events_new(&(struct events_deps){ .client = replica->program->client,
						 .clock = replica->clock,
						 .metrics = replica->program->metrics,
						 .component = "hostdev-controller",
						 .host = replica->options->identity,
						 .together = together });
}

static void on_drained(void *arg)
{
	const struct replica *replica = arg;

	program_stop(replica->program);
}

static int open_webhook(struct replica *replica, struct err *err)
{
	int r;

	if (!has_webhook(replica))
		return 0;
	replica->drain = clock_timer_new(replica->clock, on_drained, replica);
	replica->events = make_events(replica, false);
	replica->unverified_events = make_events(replica, true);
	replica->admission = admission_new(&(struct admission_options){
		.cache = replica->cache,
		.clock = replica->clock,
		.events = replica->events,
		.unverified_events = replica->unverified_events,
		.leads = leads,
		.arg = replica,
		.refuse_pinned = replica->options->refuse_pinned,
	});
	r = listen_webhook(replica, err);
	if (r < 0)
		return r;
	serve_add_check(replica->program->serve, SERVE_READYZ, "webhook", check_webhook, replica);
	log_info("webhook listening", log_int("port", webhook_port(replica->webhook)));
	return 0;
}

static void close_webhook(struct replica *replica)
{
	if (!has_webhook(replica))
		return;
	clock_timer_free(replica->clock, replica->drain);
	webhook_free(replica->webhook);
	admission_free(replica->admission);
	events_free(replica->events);
	events_free(replica->unverified_events);
}

/* --- the whole -------------------------------------------------------------------------------- */

/* Does nothing if the map is off. */
static int open_map(struct replica *replica, struct err *err)
{
	struct program *program = replica->program;
	int r = serve_open_files(program->serve, &program->loop, replica->options->map_listen,
				 &page_files, err);
	unsigned port = serve_port(program->serve, SERVE_FILES);

	if (r == 0 && port > 0)
		log_info("map listening", log_int("port", port));
	return r;
}

static void on_resigned(void *arg)
{
	struct replica *replica = arg;

	if (!replica->webhook) {
		program_stop(replica->program);
		return;
	}
	webhook_drain(replica->webhook);
	clock_timer_start(replica->clock, replica->drain, REPLICA_DRAIN_MS);
}

/* SIGTERM: release the Lease, so that another replica leads within seconds, drain the webhook, then
 * exit. */
static void on_signal(void *arg)
{
	struct replica *replica = arg;

	election_stop(replica->election, on_resigned, replica);
}

int replica_run(struct program *program, const struct replica_options *options, struct err *err)
{
	struct replica replica = { .program = program,
				   .options = options,
				   .clock = clock_new(&program->loop) };
	int r;

	join_election(&replica);
	make_cache(&replica);
	replica.pools = make_pools(&replica);
	replica.nodes = make_nodes(&replica);
	replica.config_nodes = make_config_nodes(&replica);
	r = open_map(&replica, err);
	if (r == 0)
		r = open_webhook(&replica, err);
	if (r == 0)
		program_run(program, on_signal, &replica);
	close_webhook(&replica);
	config_nodes_free(replica.config_nodes);
	kubevirt_free(replica.kubevirt);
	cache_free(replica.cache);
	nodes_free(replica.nodes);
	pools_free(replica.pools);
	election_free(replica.election);
	clock_free(replica.clock);
	return r;
}
