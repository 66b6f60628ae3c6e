#include "agent/node_agent.h"

#include <stdlib.h>
#include <string.h>

#include "agent/adopt.h"
#include "agent/claim/claims.h"
#include "agent/config/config_watch.h"
#include "agent/device_count.h"
#include "agent/dra/on_demand_binder.h"
#include "agent/dra/runtime_cdi.h"
#include "agent/drm/drm.h"
#include "agent/generic/generics.h"
#include "agent/gpu/gpus.h"
#include "agent/hami/hami.h"
#include "agent/inventory/inventory.h"
#include "agent/lookup.h"
#include "agent/mdev/mdevs.h"
#include "agent/monitor/monitor.h"
#include "agent/node/node_reconcile.h"
#include "agent/node/this_node.h"
#include "agent/nvidia/nvidia.h"
#include "agent/process/helper_run.h"
#include "agent/publish/publish.h"
#include "agent/resource/offers.h"
#include "agent/resource/pci_selected.h"
#include "agent/sriov/sriov.h"
#include "agent/usb/usb.h"
#include "agent/wiring.h"
#include "api/names.h"
#include "api/node.h"
#include "api/object.h"
#include "api/pcideviceclaim.h"
#include "api/usbdeviceclaim.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/store.h"

enum { CONFIG_PARTS = 5 }; /* that report what they cannot do: generic, usb, mdev, pci, nvidia */

/* The objects of one kind, of devices or of claims. */
struct watched {
	struct node_agent *agent;
	enum change object; /* one of them changed  */
	enum change list;   /* their list is there  */
	struct informer *informer;
};

struct node_agent {
	struct node_agent_options options;
	struct this_node node; /* which all parts have */
	struct watched devices[INVENTORY_KINDS];
	struct watched claims[INVENTORY_KINDS];
	struct informer *node_informer;
	struct wiring wiring;              /* the parts */
	struct on_demand_binder on_demand; /* of devices that claims can bind for ResourceClaims */
	struct adopt *adopt;
	struct node_agent_seen seen; /* until it has begun with it */
	struct clock_timer *begins;
	const struct config *asked; /* by the HostDeviceConfig; NULL: not known yet */
	char *runtime;              /* the node's container runtime; NULL: not known */
	bool told_failure;          /* an event said that scans fail */
	struct metric *listed;
};

/* --- what changed: from the API server -------------------------------------------------------- */

static void on_object(void *arg, const char *name, const struct entry *before,
		      const struct entry *after)
{
	const struct watched *watched = arg;

	wiring_object(&watched->agent->wiring, watched->object, name, before, after);
}

/* Selectors do not offer claimed devices, so the claims must be known first. */
static void hand_config(struct node_agent *agent)
{
	if (agent->asked && informer_synced(agent->claims[INVENTORY_PCI].informer))
		offers_set_config(agent->wiring.offers, agent->asked);
}

static void on_list(void *arg)
{
	struct watched *watched = arg;

	if (watched == &watched->agent->claims[INVENTORY_PCI])
		hand_config(watched->agent);
	wiring_changed(&watched->agent->wiring, watched->list, NULL);
}

/* A Node that no kubelet has ever told anything of lists nothing that a claim could wait for. */
static void hand_node(const struct node_agent *agent)
{
	bool changed = false;
	const struct store *store = informer_store(agent->node_informer);
	const struct entry *entry = store_get(store, agent->node.name);
	const struct node *node = entry ? entry->object : NULL;

	if (informer_denied(agent->node_informer))
		changed = offers_set_no_node(agent->wiring.offers,
					     informer_error(agent->node_informer));
	else if (node)
		changed = offers_set_allocatable(
			agent->wiring.offers,
			node_heartbeat_ms(node) > 0 ? &node->status.allocatable : NULL);
	else if (!entry && informer_synced(agent->node_informer))
		changed = offers_set_no_node(agent->wiring.offers, NULL);
	offers_set_node(agent->wiring.offers);
	if (changed)
		wiring_changed(&agent->wiring, CHANGE_ALLOCATABLE, NULL);
}

/* Whether the runtime has CDI decides what DRA offers. */
static void set_runtime(struct node_agent *agent, const char *runtime)
{
	if (str_equal(runtime, agent->runtime))
		return;
	free(agent->runtime);
	agent->runtime = xstrdup_or_null(runtime);
	offers_update_soon(agent->wiring.offers);
}

static void on_node_list(void *arg)
{
	struct node_agent *agent = arg;

	hand_node(agent);
	hami_node_seen(agent->wiring.hami);
	nvidia_look_at_node(agent->wiring.nvidia);
	if (!store_get(informer_store(agent->node_informer), agent->node.name))
		nvidia_set_labels(agent->wiring.nvidia, NULL);
}

static void on_node(void *arg, const char *name, const struct entry *before,
		    const struct entry *after)
{
	struct node_agent *agent = arg;
	const struct wiring *parts = &agent->wiring;
	const struct node *node = after ? after->object : NULL;
	const char *address;

	(void)name;
	(void)before;
	hami_node_seen(parts->hami);
	nvidia_look_at_node(parts->nvidia);
	if (!node) {
		hand_node(agent);
		nvidia_set_labels(parts->nvidia, NULL);
		return;
	}
	nvidia_set_labels(parts->nvidia, &node->meta.labels);
	generics_set_labels(parts->generics, &node->meta.labels);
	mdevs_set_labels(parts->mdevs, &node->meta.labels);
	offers_set_heartbeat(parts->offers, node_heartbeat_ms(node));
	set_runtime(agent, node->status.info.runtime);
	hand_node(agent);
	address = node_internal_ip(node);
	monitor_set_node_address(parts->monitor, address);
	claims_set_node_address(parts->claims, address);
	sriov_set_node_address(parts->sriov, address);
}

static void on_config(void *arg, const struct config *config)
{
	struct node_agent *agent = arg;

	agent->asked = config;
	hand_config(agent);
	generics_set_config(agent->wiring.generics, config);
	usb_set_config(agent->wiring.usb, config);
	mdevs_set_config(agent->wiring.mdevs, config);
	nvidia_set_config(agent->wiring.nvidia, config);
	wiring_changed(&agent->wiring, CHANGE_CONFIG, NULL);
}

/* --- what changed: from the kernel ------------------------------------------------------------ */

/* An event needs the Node itself, which may not be there yet: then report the next failure. */
static void tell_failure(struct node_agent *agent, const struct err *err)
{
	const struct node *node = node_reconcile_object(&agent->node);

	if (!node || agent->told_failure)
		return;
	events_record(agent->node.events,
		      &(struct events_about){ .kind = &node_kind, .meta = &node->meta },
		      EVENTS_WARNING, "DeviceScanFailed", "the node's devices cannot be read: %s",
		      err->msg);
	agent->told_failure = true;
}

static void on_inventory(void *arg, struct inventory *inventory, const struct err *err)
{
	struct node_agent *agent = arg;
	const struct wiring *parts = &agent->wiring;
	struct inventory *before;

	if (!inventory) {
		tell_failure(agent, err);
		return;
	}
	agent->told_failure = false;
	if (!agent->node.inventory)
		log_info("devices read", log_int("pci", inventory->sets[INVENTORY_PCI].len),
			 log_int("usb", inventory->sets[INVENTORY_USB].len));
	before = this_node_set_inventory(&agent->node, inventory);
	device_count_set(agent->listed, inventory);
	usb_name_devices(parts->usb, inventory);
	sriov_map_functions(parts->sriov);
	gpus_find_cards(parts->gpus);
	claims_update_attempts(parts->claims);
	wiring_changed(parts, CHANGE_INVENTORY, NULL);
	inventory_free(before);
}

/* The first look goes on with the names of the devices: NVIDIA's library can be asked meanwhile. */
static void on_facts(void *arg, const struct facts *facts)
{
	const struct node_agent *agent = arg;

	if (!agent->node.inventory)
		nvidia_find_gpus_in(agent->wiring.nvidia, facts);
}

static void on_uevent(void *arg)
{
	const struct node_agent *agent = arg;

	wiring_changed(&agent->wiring, CHANGE_UEVENT, NULL);
}

/* --- what changed: from the parts, which get the wiring --------------------------------------- */

static void on_task(void *arg)
{
	wiring_changed(arg, CHANGE_TASK, NULL);
}

static void change_pci(const struct wiring *wiring, enum change change, const char *address)
{
	auto_free char *name = names_pcidevice(wiring->node_name, address);

	wiring_changed(wiring, change, name);
}

/* @id: NULL for any device. */
static void on_allocation(void *arg, const char *id)
{
	if (id && strchr(id, ':') && !strstr(id, "::")) /* a PCI address, no share of a GPU */
		change_pci(arg, CHANGE_ALLOCATION, id);
	else
		wiring_changed(arg, CHANGE_ALLOCATIONS, NULL);
}

static void on_offered(void *arg, const char *address)
{
	change_pci(arg, CHANGE_OFFERED, address);
}

static void on_parent_nic(void *arg, const char *address)
{
	change_pci(arg, CHANGE_PARENT_NIC, address);
}

static void on_nic_functions(void *arg)
{
	wiring_changed(arg, CHANGE_NIC_FUNCTIONS, NULL);
}

static void on_usb_selected(void *arg)
{
	wiring_changed(arg, CHANGE_USB_SELECTED, NULL);
}

static void on_usb_names(void *arg)
{
	wiring_changed(arg, CHANGE_USB_NAMES, NULL);
}

static void on_mdev_status(void *arg)
{
	wiring_changed(arg, CHANGE_MDEV_STATUS, NULL);
}

static void on_vgpu_resources(void *arg)
{
	wiring_changed(arg, CHANGE_VGPU_RESOURCES, NULL);
}

static void on_container_gpus(void *arg)
{
	wiring_changed(arg, CHANGE_CONTAINER_GPUS, NULL);
}

static void on_generic_devices(void *arg)
{
	wiring_changed(arg, CHANGE_GENERIC_DEVICES, NULL);
}

/* --- what cannot be done of the HostDeviceConfig, by part ------------------------------------- */

static void report_generic(void *arg, const struct config_troubles *troubles)
{
	const struct wiring *parts = arg;

	config_watch_report(parts->config, "generic", troubles);
}

static void report_usb(void *arg, const struct config_troubles *troubles)
{
	const struct wiring *parts = arg;

	config_watch_report(parts->config, "usb", troubles);
}

static void report_mdev(void *arg, const struct config_troubles *troubles)
{
	const struct wiring *parts = arg;

	config_watch_report(parts->config, "mdev", troubles);
}

static void report_nvidia(void *arg, const struct config_troubles *troubles)
{
	const struct wiring *parts = arg;

	config_watch_report(parts->config, "nvidia", troubles);
}

/* As struct offers_type has it: after all other types, whose resources go before the entries. */
static void offer_generic(void *arg, struct plugins *plugins)
{
	const struct node_agent *agent = arg;
	const struct wiring *parts = &agent->wiring;
	struct config_troubles troubles = { 0 };

	generics_offer(parts->generics, plugins);
	gpus_enqueue_taken(parts->gpus);
	if (!agent->asked)
		return;
	pci_selected_collisions(agent->asked, plugins, &troubles);
	runtime_cdi_report(&agent->node, agent->asked, &troubles);
	config_watch_report(parts->config, "pci", &troubles);
	config_troubles_done(&troubles);
}

/* --- the parts are made ----------------------------------------------------------------------- */

/* The changes that concern each kind of devices. claims is NULL if the kind has no claims. */
static const struct {
	const struct api_kind *claims;
	enum change device, claim, list;
} kinds[INVENTORY_KINDS] = {
	[INVENTORY_PCI] = { &pcideviceclaim_kind, CHANGE_PCIDEVICE, CHANGE_PCIDEVICECLAIM,
			    CHANGE_PCI_LIST },
	[INVENTORY_USB] = { &usbdeviceclaim_kind, CHANGE_USBDEVICE, CHANGE_USBDEVICECLAIM,
			    CHANGE_USB_LIST },
	[INVENTORY_MDEV] = { .device = CHANGE_MEDIATEDDEVICE, .list = CHANGE_MDEV_LIST },
	[INVENTORY_MDEV_PARENT] = { .device = CHANGE_MEDIATEDDEVICEPARENT,
				    .list = CHANGE_MDEV_LIST },
};

static struct informer *watch(const struct informer_deps *deps, const struct api_kind *kind,
			      const char *label_selector, struct watched *watched)
{
	return informer_new(deps,
			    &(struct informer_spec){
				    .kind = kind,
				    .label_selector = label_selector,
				    .handlers = { .on_change = on_object, .on_synced = on_list },
				    .arg = watched,
			    });
}

static void make_informers(struct node_agent *agent, const struct informer_deps *deps)
{
	auto_free char *label = names_label_value(agent->node.name);
	auto_free char *ours = xasprintf("%s=%s", NAMES_LABEL_NODE, label);
	auto_free char *self = xasprintf("metadata.name=%s", agent->node.name);

	for (int i = 0; i < INVENTORY_KINDS; i++) {
		struct watched *devices = &agent->devices[i];
		struct watched *claims = &agent->claims[i];

		*devices = (struct watched){ .agent = agent,
					     .object = kinds[i].device,
					     .list = kinds[i].list };
		*claims = *devices;
		claims->object = kinds[i].claim;
		devices->informer = watch(deps, inventory_kinds[i], ours, devices);
		if (kinds[i].claims)
			claims->informer = watch(deps, kinds[i].claims, NULL, claims);
		agent->node.devices[i] = devices->informer;
		agent->node.claims[i] = claims->informer;
	}
	agent->node_informer = informer_new(deps, &(struct informer_spec){
							  .kind = &node_kind,
							  .field_selector = self,
							  .handlers = { .on_change = on_node,
									.on_synced = on_node_list,
									.on_denied = on_node_list },
							  .arg = agent,
						  });
	agent->node.self = agent->node_informer;
}

/* Nothing is offered to the kubelet before the claims are known: their list is asked for first. */
static void start(struct node_agent *agent)
{
	for (int i = 0; i < INVENTORY_KINDS; i++) {
		if (agent->claims[i].informer)
			informer_start(agent->claims[i].informer);
	}
	informer_start(agent->node_informer);
	config_watch_start(agent->wiring.config);
	sriov_start(agent->wiring.sriov);
	for (int i = 0; i < INVENTORY_KINDS; i++)
		informer_start(agent->devices[i].informer);
}

static void make_publish(struct node_agent *agent)
{
	const struct publish_deps deps = {
		.moving = lookup_is_moving,
		.allocations = lookup_allocations,
		.held_as = lookup_held_as,
		.offer = lookup_offer,
		.resource = lookup_mdev_resource,
		.condition = lookup_mdev_condition,
		.parent = lookup_parent,
		.arg = &agent->wiring,
	};

	agent->wiring.publish = publish_new(&agent->node, &deps);
}

static void make_claims(struct node_agent *agent)
{
	const struct claims_deps deps = {
		.driverless = &agent->options.driverless,
		.on_moved = on_task,
		.is_free = lookup_is_free,
		.is_usb_free = lookup_is_usb_free,
		.is_held = lookup_is_held,
		.bind_trouble = lookup_bind_trouble,
		.bound_for = lookup_bound_for,
		.ask_offer = lookup_claim_offer,
		.arg = &agent->wiring,
	};

	agent->wiring.claims = claims_new(&agent->node, &deps);
}

static void make_offers(struct node_agent *agent)
{
	const struct offers_deps deps = {
		.on_demand = &agent->on_demand,
		.claims = informer_store(agent->claims[INVENTORY_PCI].informer),
		.devices = informer_store(agent->devices[INVENTORY_PCI].informer),
		.mdevs = informer_store(agent->devices[INVENTORY_MDEV].informer),
		.options = agent->options.offers,
		.changed = on_allocation,
		.offered = on_offered,
		.arg = &agent->wiring,
	};

	agent->on_demand = (struct on_demand_binder){ .trouble = lookup_on_demand_trouble,
						      .moving = lookup_is_on_demand_moving,
						      .begin = lookup_bind_on_demand,
						      .stop = lookup_stop_on_demand,
						      .arg = &agent->wiring };
	agent->wiring.offers = offers_new(&agent->node, &deps);
}

static void make_usb(struct node_agent *agent)
{
	const struct usb_deps deps = {
		.offers = agent->wiring.offers,
		.report = report_usb,
		.selected = on_usb_selected,
		.renamed = on_usb_names,
		.arg = &agent->wiring,
	};

	agent->wiring.usb = usb_new(&agent->node, &deps);
}

static void make_sriov(struct node_agent *agent)
{
	const struct sriov_deps deps = {
		.on_moved = on_task,
		.on_free = on_nic_functions,
		.on_named = on_parent_nic,
		.is_free = lookup_is_free,
		.is_moving = lookup_is_moving,
		.arg = &agent->wiring,
	};

	agent->wiring.sriov = sriov_new(&agent->node, &deps);
}

static void make_gpus(struct node_agent *agent)
{
	const struct gpus_deps deps = {
		.options = agent->options.gpu,
		.request_scan = on_task,
		.offers_changed = on_vgpu_resources,
		.is_free = lookup_is_free,
		.is_taken = lookup_is_taken,
		.arg = &agent->wiring,
	};

	agent->wiring.gpus = gpus_new(&agent->node, &deps);
	agent->adopt = adopt_new(&agent->node);
}

static void make_mdevs(struct node_agent *agent)
{
	const struct mdevs_deps deps = {
		.offers = agent->wiring.offers,
		.on_moved = on_task,
		.on_changed = on_mdev_status,
		.report = report_mdev,
		.otherwise = lookup_vgpu_resource,
		.arg = &agent->wiring,
	};

	agent->wiring.mdevs = mdevs_new(&agent->node, &deps);
}

static void make_nvidia(struct node_agent *agent)
{
	struct wiring *parts = &agent->wiring;
	const struct nvidia_deps deps = {
		.changed = on_container_gpus,
		.claim_of = lookup_card_claim,
		.given = lookup_given,
		.is_free = lookup_is_free,
		.allocations = lookup_unit_allocations,
		.hindrance = lookup_hami_trouble,
		.report = report_nvidia,
		.arg = parts,
	};

	parts->nvidia = nvidia_new(&agent->node, &agent->options.nvidia, &deps);
	parts->hami = hami_new(&agent->node, &agent->options.hami,
			       &(struct hami_deps){ .nvidia = parts->nvidia,
						    .changed = on_container_gpus,
						    .arg = parts });
	if (agent->options.hami.on)
		offers_add(parts->offers,
			   &(struct offers_type){ .offer = hami_offer, .arg = parts->hami });
	else
		offers_add(parts->offers,
			   &(struct offers_type){ .offer = nvidia_offer, .arg = parts->nvidia });
}

static void make_drm(struct node_agent *agent)
{
	struct wiring *parts = &agent->wiring;
	const struct drm_deps deps = {
		.changed = on_container_gpus,
		.claim_of = lookup_card_claim,
		.is_free = lookup_is_free,
		.arg = parts,
	};

	parts->drm = drm_new(&agent->node, &agent->options.drm, &deps);
	offers_add(parts->offers, &(struct offers_type){ .offer = drm_offer, .arg = parts->drm });
}

static void make_config(struct node_agent *agent)
{
	agent->wiring.config = config_watch_new(&agent->node, CONFIG_PARTS, on_config, agent);
	agent->wiring.generics =
		generics_new(&agent->node, on_generic_devices, report_generic, &agent->wiring);
}

/* What has been found already; the scan after it finds what it does not say, such as records. */
static void begin_with_seen(void *arg)
{
	struct node_agent *agent = arg;
	struct inventory *inventory = agent->seen.inventory;

	agent->seen.inventory = NULL;
	on_inventory(agent, inventory, NULL);
}

static void make_look(struct node_agent *agent)
{
	agent->wiring.monitor = agent->seen.monitor;
	agent->seen.monitor = NULL;
	agent->begins = clock_timer_new(agent->node.clock, begin_with_seen, agent);
	if (agent->wiring.monitor) {
		monitor_give(agent->wiring.monitor, on_inventory, agent);
		monitor_scan_again(agent->wiring.monitor);
	} else {
		agent->wiring.monitor = monitor_new(agent->node.loop, &agent->options.monitor,
						    agent->node.metrics, on_inventory, agent);
	}
	monitor_listen(agent->wiring.monitor, on_uevent, agent);
	monitor_listen_early(agent->wiring.monitor, on_facts, agent);
	if (agent->seen.inventory)
		clock_timer_start(agent->node.clock, agent->begins, 0);
}

/* No part tells or asks another before the loop runs. */
static void make_parts(struct node_agent *agent)
{
	const struct informer_deps deps = { agent->node.client, agent->node.clock,
					    agent->node.metrics };

	agent->wiring.node_name = agent->node.name;
	agent->listed = device_count_new(agent->node.metrics);
	helper_meter_show(agent->node.metrics);
	make_informers(agent, &deps);
	make_publish(agent);
	make_claims(agent);
	make_offers(agent);
	make_config(agent);
	make_usb(agent);
	make_mdevs(agent);
	make_nvidia(agent);
	make_drm(agent);
	offers_add(agent->wiring.offers,
		   &(struct offers_type){ .offer = offer_generic, .arg = agent });
	make_sriov(agent);
	make_gpus(agent);
	make_look(agent);
	start(agent);
}

/* --- life ------------------------------------------------------------------------------------- */

struct node_agent *node_agent_new(struct uv_loop_s *loop, struct kube_client *client,
				  const struct node_agent_options *options,
				  const struct node_agent_seen *seen, struct metrics *metrics)
{
	struct node_agent *agent = xcalloc(1, sizeof(*agent));

	agent->options = *options;
	agent->seen = *seen;
	agent->options.monitor.scan.metrics = metrics;
	this_node_init(&agent->node, options->node_name, loop, client, &options->node, metrics);
	make_parts(agent);
	return agent;
}

void node_agent_stop(struct node_agent *agent, void (*stopped)(void *arg), void *arg)
{
	offers_stop(agent->wiring.offers, stopped, arg);
}

struct node_agent *node_agent_free(struct node_agent *agent)
{
	if (!agent)
		return NULL;
	monitor_free(agent->wiring.monitor);
	offers_free(agent->wiring.offers);
	generics_free(agent->wiring.generics);
	usb_free(agent->wiring.usb);
	mdevs_free(agent->wiring.mdevs);
	hami_free(agent->wiring.hami);
	nvidia_free(agent->wiring.nvidia);
	drm_free(agent->wiring.drm);
	sriov_free(agent->wiring.sriov);
	gpus_free(agent->wiring.gpus);
	adopt_free(agent->adopt);
	claims_free(agent->wiring.claims);
	publish_free(agent->wiring.publish);
	informer_free(agent->node_informer);
	config_watch_free(agent->wiring.config);
	for (int i = 0; i < INVENTORY_KINDS; i++) {
		informer_free(agent->devices[i].informer);
		informer_free(agent->claims[i].informer);
	}
	inventory_free(agent->seen.inventory);
	free(agent->runtime);
	clock_timer_free(agent->node.clock, agent->begins);
	this_node_done(&agent->node);
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
	if (!agent->node.inventory) {
		if (reason)
			str_add(reason, "the node's devices have not been read yet");
		return false;
	}
	for (int i = 0; i < INVENTORY_KINDS; i++) {
		if (!synced(agent->devices[i].informer, reason) ||
		    !synced(agent->claims[i].informer, reason))
			return false;
	}
	return monitor_sees_host(agent->wiring.monitor, reason) &&
	       config_watch_ready(agent->wiring.config, reason) &&
	       sriov_ready(agent->wiring.sriov, reason) && gpus_ready(agent->wiring.gpus, reason);
}
