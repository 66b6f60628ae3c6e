#include "agent/node_agent.h"

#include <stdlib.h>
#include <string.h>

#include "agent/publish.h"
#include "api/names.h"
#include "api/node.h"
#include "api/object.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/metrics.h"
#include "kube/store.h"

/* One of these per kind of device and of claim: what its informer's handlers get. */
struct watched {
	struct node_agent *agent;
	enum inventory_kind kind;
	struct informer *informer;
};

struct node_agent {
	struct node_agent_options options;
	struct clock *clock;
	struct events *events;
	struct watched devices[INVENTORY_KINDS];
	struct watched claims[INVENTORY_KINDS];
	struct informer *node;
	struct publish *publish;
	struct look *look;
	bool scanned;
	bool told_failure; /* an event said that scans fail */
	struct metric *listed;
};

static const struct metric_desc listed_desc = {
	.name = "hostdev_devices",
	.help = "Devices of this node that are listed.",
	.type = METRIC_GAUGE,
	.labels = { "kind" },
};

static const struct api_kind *const device_kinds[] = {
	[INVENTORY_PCI] = &pcidevice_kind,
	[INVENTORY_USB] = &usbdevice_kind,
};

static const struct api_kind *const claim_kinds[] = {
	[INVENTORY_PCI] = &pcideviceclaim_kind,
	[INVENTORY_USB] = &usbdeviceclaim_kind,
};

static void on_change(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	struct watched *watched = arg;

	(void)before;
	(void)after;
	publish_touch(watched->agent->publish, watched->kind, name);
}

static void on_synced(void *arg)
{
	struct watched *watched = arg;

	publish_synced(watched->agent->publish);
}

static void on_node_change(void *arg, const char *name, const struct entry *before,
			   const struct entry *after)
{
	struct node_agent *agent = arg;

	(void)name;
	(void)before;
	if (after && after->object)
		look_set_node_address(agent->look, node_internal_ip(after->object));
}

/* An event needs the Node itself, which may not be there yet: then the next failure is told. */
static void tell_failure(struct node_agent *agent, const struct err *err)
{
	const struct node *node =
		store_object(informer_store(agent->node), agent->options.node_name);

	if (!node || agent->told_failure)
		return;
	events_record(agent->events,
		      &(struct events_about){ .kind = &node_kind, .meta = &node->meta },
		      EVENTS_WARNING, "DeviceScanFailed", "the node's devices cannot be read: %s",
		      err->msg);
	agent->told_failure = true;
}

static void on_look(void *arg, struct inventory *inventory, const struct err *err)
{
	struct node_agent *agent = arg;

	if (!inventory) {
		tell_failure(agent, err);
		return;
	}
	agent->told_failure = false;
	if (!agent->scanned)
		log_info("devices read", log_int("pci", inventory->sets[INVENTORY_PCI].len),
			 log_int("usb", inventory->sets[INVENTORY_USB].len));
	agent->scanned = true;
	for (int i = 0; i < INVENTORY_KINDS; i++)
		metric_set(agent->listed, (int64_t)inventory->sets[i].len,
			   (const char *const[]){ device_kinds[i]->kind });
	publish_set(agent->publish, inventory);
}

static struct informer *watch(const struct informer_deps *deps, const struct api_kind *kind,
			      const char *label_selector, struct watched *watched)
{
	return informer_new(deps, &(struct informer_spec){
					  .kind = kind,
					  .label_selector = label_selector,
					  .handlers = { on_change, on_synced },
					  .arg = watched,
				  });
}

static void make_informers(struct node_agent *agent, const struct informer_deps *deps)
{
	auto_free char *label = names_label_value(agent->options.node_name);
	auto_free char *ours = xasprintf("%s=%s", NAMES_LABEL_NODE, label);
	auto_free char *self = xasprintf("metadata.name=%s", agent->options.node_name);

	for (int i = 0; i < INVENTORY_KINDS; i++) {
		struct watched *devices = &agent->devices[i];
		struct watched *claims = &agent->claims[i];

		*devices = (struct watched){ .agent = agent, .kind = (enum inventory_kind)i };
		*claims = *devices;
		devices->informer = watch(deps, device_kinds[i], ours, devices);
		claims->informer = watch(deps, claim_kinds[i], NULL, claims);
	}
	agent->node = informer_new(deps, &(struct informer_spec){
						 .kind = &node_kind,
						 .field_selector = self,
						 .handlers = { on_node_change, NULL },
						 .arg = agent,
					 });
}

static void start(struct node_agent *agent)
{
	informer_start(agent->node);
	for (int i = 0; i < INVENTORY_KINDS; i++) {
		informer_start(agent->devices[i].informer);
		informer_start(agent->claims[i].informer);
	}
}

struct node_agent *node_agent_new(struct uv_loop_s *loop, struct kube_client *client,
				  const struct node_agent_options *options, struct metrics *metrics)
{
	struct node_agent *agent = xcalloc(1, sizeof(*agent));
	struct informer_deps deps = { .client = client, .metrics = metrics };
	struct publish_deps publish = { .client = client, .metrics = metrics };

	agent->options = *options;
	agent->clock = deps.clock = publish.clock = clock_new(loop);
	agent->listed = metrics_family(metrics, &listed_desc);
	agent->events = events_new(&(struct events_deps){
		.client = client,
		.clock = agent->clock,
		.metrics = metrics,
		.component = "hostdev-agent",
		.host = options->node_name,
	});
	make_informers(agent, &deps);
	for (int i = 0; i < INVENTORY_KINDS; i++) {
		publish.devices[i] = agent->devices[i].informer;
		publish.claims[i] = agent->claims[i].informer;
	}
	agent->publish = publish_new(&publish);
	agent->look = look_new(loop, &options->look, metrics, on_look, agent);
	start(agent);
	return agent;
}

struct node_agent *node_agent_free(struct node_agent *agent)
{
	if (!agent)
		return NULL;
	look_free(agent->look);
	publish_free(agent->publish);
	informer_free(agent->node);
	for (int i = 0; i < INVENTORY_KINDS; i++) {
		informer_free(agent->devices[i].informer);
		informer_free(agent->claims[i].informer);
	}
	events_free(agent->events);
	clock_free(agent->clock);
	free(agent);
	return NULL;
}

static bool synced(struct informer *informer, struct str *reason)
{
	if (informer_synced(informer))
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
	return true;
}
