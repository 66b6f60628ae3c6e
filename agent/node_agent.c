#include "agent/node_agent.h"

#include <stdlib.h>

#include "agent/adopt.h"
#include "agent/claim/claims.h"
#include "agent/config/config_watch.h"
#include "agent/generic/generics.h"
#include "agent/gpu/gpus.h"
#include "agent/mdev/mdevs.h"
#include "agent/node_parts.h"
#include "agent/publish/publish.h"
#include "agent/sriov/sriov.h"
#include "agent/usb/usb.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"
#include "kube/events.h"
#include "kube/informer.h"

struct node_agent *node_agent_new(struct uv_loop_s *loop, struct kube_client *client,
				  const struct node_agent_options *options,
				  const struct node_agent_seen *seen, struct metrics *metrics)
{
	struct node_agent *agent = xcalloc(1, sizeof(*agent));
	struct informer_deps deps = { .client = client, .metrics = metrics };

	agent->options = *options;
	agent->seen = *seen;
	agent->options.binder.metrics = metrics;
	agent->options.binder.helper.metrics = metrics;
	agent->options.gpu.helper.metrics = metrics;
	agent->options.look.scan.metrics = metrics;
	agent->clock = deps.clock = clock_new(loop);
	agent->events = events_new(&(struct events_deps){
		.client = client,
		.clock = agent->clock,
		.metrics = metrics,
		.component = "hostdev-agent",
		.host = options->node_name,
	});
	node_parts_make(agent, loop, &deps);
	return agent;
}

void node_agent_stop(struct node_agent *agent, void (*stopped)(void *arg), void *arg)
{
	lend_stop(agent->lend, stopped, arg);
}

struct node_agent *node_agent_free(struct node_agent *agent)
{
	if (!agent)
		return NULL;
	look_free(agent->look);
	lend_free(agent->lend);
	generics_free(agent->generics);
	usb_free(agent->usb);
	mdevs_free(agent->mdevs);
	sriov_free(agent->sriov);
	gpus_free(agent->gpus);
	adopt_free(agent->adopt);
	claims_free(agent->pci_claims);
	publish_free(agent->publish);
	informer_free(agent->node);
	config_watch_free(agent->config);
	for (int i = 0; i < INVENTORY_KINDS; i++) {
		informer_free(agent->devices[i].informer);
		informer_free(agent->claims[i].informer);
	}
	inventory_free(agent->seen.inventory);
	clock_timer_free(agent->clock, agent->begins);
	events_free(agent->events);
	clock_free(agent->clock);
	free(agent);
	return NULL;
}

static bool synced(struct informer *informer, struct str *reason)
{
	if (!informer || informer_synced(informer))
		return true;
	if (reason)
		str_addf(reason, "waiting for %s", informer_text(informer));
	return false;
}

bool node_agent_ready(struct node_agent *agent, struct str *reason)
{
	if (!agent->scanned) {
		if (reason)
			str_add(reason, "the node's devices have not been read yet");
		return false;
	}
	for (int i = 0; i < INVENTORY_KINDS; i++) {
		if (!synced(agent->devices[i].informer, reason) ||
		    !synced(agent->claims[i].informer, reason))
			return false;
	}
	return look_sees_host(agent->look, reason) && config_watch_ready(agent->config, reason) &&
	       sriov_ready(agent->sriov, reason) && gpus_ready(agent->gpus, reason);
}
