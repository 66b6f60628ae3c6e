#include "controller/leader.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "kube/clock.h"
#include "kube/election.h"
#include "kube/metrics.h"

struct leader {
	struct clock *clock;
	struct election *election;
	struct metric *leads;
	struct leader_callbacks callbacks[LEADER_CALLBACKS_MAX];
	size_t ncallbacks;
};

static const struct metric_desc leads_desc = {
	.name = "hostdev_controller_leader",
	.help = "1 while this replica does the leader's work.",
	.type = METRIC_GAUGE,
};

static void on_started(void *arg)
{
	struct leader *leader = arg;

	metric_set(leader->leads, 1, NULL);
	for (size_t i = 0; i < leader->ncallbacks; i++) {
		if (leader->callbacks[i].started)
			leader->callbacks[i].started(leader->callbacks[i].arg);
	}
}

static void on_stopped(void *arg)
{
	struct leader *leader = arg;

	metric_set(leader->leads, 0, NULL);
	for (size_t i = 0; i < leader->ncallbacks; i++) {
		if (leader->callbacks[i].stopped)
			leader->callbacks[i].stopped(leader->callbacks[i].arg);
	}
}

struct leader *leader_new(struct uv_loop_s *loop, struct kube_client *client,
			  const struct leader_options *options, struct metrics *metrics)
{
	struct leader *leader = xcalloc(1, sizeof(*leader));

	leader->clock = clock_new(loop);
	leader->leads = metrics_family(metrics, &leads_desc);
	leader->election = election_new(&(struct election_spec){
		.client = client,
		.clock = leader->clock,
		.metrics = metrics,
		.ns = options->ns,
		.name = "hostdev-controller",
		.identity = options->identity,
		.on_started = on_started,
		.on_stopped = on_stopped,
		.arg = leader,
	});
	election_start(leader->election);
	return leader;
}

struct leader *leader_free(struct leader *leader)
{
	if (!leader)
		return NULL;
	election_free(leader->election);
	clock_free(leader->clock);
	free(leader);
	return NULL;
}

void leader_add(struct leader *leader, const struct leader_callbacks *callbacks)
{
	assert(leader->ncallbacks < LEADER_CALLBACKS_MAX);
	leader->callbacks[leader->ncallbacks++] = *callbacks;
}

bool leader_leads(const struct leader *leader)
{
	return election_leads(leader->election);
}

void leader_resign(struct leader *leader, void (*done)(void *arg), void *arg)
{
	election_stop(leader->election, done, arg);
}

bool leader_known(const struct leader *leader)
{
	return *election_leader(leader->election) != '\0';
}
