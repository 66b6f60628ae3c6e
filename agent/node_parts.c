#include "agent/node_parts.h"

#include "agent/adopt.h"
#include "agent/claim/claims.h"
#include "agent/config/config_watch.h"
#include "agent/device_count.h"
#include "agent/generic/generics.h"
#include "agent/gpu/gpus.h"
#include "agent/lend/lend.h"
#include "agent/look/look.h"
#include "agent/mdev/mdevs.h"
#include "agent/node_ties.h"
#include "agent/process/helper_meter.h"
#include "agent/publish/publish.h"
#include "agent/sriov/sriov.h"
#include "agent/usb/usb.h"
#include "api/names.h"
#include "api/node.h"
#include "api/object.h"
#include "api/pcideviceclaim.h"
#include "api/usbdeviceclaim.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/clock.h"
#include "kube/informer.h"

enum { VFS_DEADLINES = 4 }; /* a card may make its virtual functions one by one */

/* NULL: the kind has no claims. */
static const struct api_kind *const claim_kinds[INVENTORY_KINDS] = {
	[INVENTORY_PCI] = &pcideviceclaim_kind,
	[INVENTORY_USB] = &usbdeviceclaim_kind,
};

static struct informer *watch(const struct informer_deps *deps, const struct api_kind *kind,
			      const char *label_selector, struct watched *watched)
{
	return informer_new(deps,
			    &(struct informer_spec){
				    .kind = kind,
				    .label_selector = label_selector,
				    .handlers = { .on_change = tie_object, .on_synced = tie_list },
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
		devices->informer = watch(deps, inventory_kinds[i], ours, devices);
		if (claim_kinds[i])
			claims->informer = watch(deps, claim_kinds[i], NULL, claims);
	}
	agent->node = informer_new(deps, &(struct informer_spec){
						 .kind = &node_kind,
						 .field_selector = self,
						 .handlers = { .on_change = tie_node,
							       .on_synced = tie_node_list,
							       .on_denied = tie_node_denied },
						 .arg = agent,
					 });
}

static void start(struct node_agent *agent)
{
	informer_start(agent->node);
	config_watch_start(agent->config);
	sriov_start(agent->sriov);
	for (int i = 0; i < INVENTORY_KINDS; i++) {
		informer_start(agent->devices[i].informer);
		if (agent->claims[i].informer)
			informer_start(agent->claims[i].informer);
	}
}

static void make_publish(struct node_agent *agent, const struct informer_deps *from)
{
	struct publish_deps deps = {
		.client = from->client,
		.clock = from->clock,
		.metrics = from->metrics,
		.events = agent->events,
		.node_name = agent->options.node_name,
		.moving = tie_is_moving,
		.allocations = tie_allocations,
		.held_as = tie_held_as,
		.offer = tie_offer_selected,
		.resource = tie_mdev_resource,
		.condition = tie_mdev_condition,
		.parent = tie_parent,
		.arg = agent,
	};

	for (int i = 0; i < INVENTORY_KINDS; i++) {
		deps.devices[i] = agent->devices[i].informer;
		deps.claims[i] = agent->claims[i].informer;
	}
	agent->publish = publish_new(&deps);
}

static void make_claims(struct node_agent *agent, struct uv_loop_s *loop,
			const struct informer_deps *from)
{
	agent->pci_claims = claims_new(&(struct claims_deps){
		.loop = loop,
		.client = from->client,
		.clock = from->clock,
		.events = agent->events,
		.metrics = from->metrics,
		.claims = agent->claims[INVENTORY_PCI].informer,
		.devices = agent->devices[INVENTORY_PCI].informer,
		.usb_claims = agent->claims[INVENTORY_USB].informer,
		.node_name = agent->options.node_name,
		.vfio_drivers = &agent->options.vfio_drivers,
		.driverless = &agent->options.driverless,
		.binder = agent->options.binder,
		.on_moved = tie_moved,
		.is_free = tie_is_free,
		.is_usb_free = tie_is_usb_free,
		.is_held = tie_is_held,
		.ask_offer = tie_ask_offer,
		.arg = agent,
	});
}

static void make_lend(struct node_agent *agent, struct uv_loop_s *loop,
		      const struct informer_deps *from)
{
	agent->lend = lend_new(&(struct lend_deps){
		.loop = loop,
		.clock = from->clock,
		.metrics = from->metrics,
		.node_name = agent->options.node_name,
		.claims = informer_store(agent->claims[INVENTORY_PCI].informer),
		.devices = informer_store(agent->devices[INVENTORY_PCI].informer),
		.mdevs = informer_store(agent->devices[INVENTORY_MDEV].informer),
		.vfio_drivers = &agent->options.vfio_drivers,
		.options = agent->options.lend,
		.changed = tie_lent,
		.offered = tie_offer,
		.arg = agent,
	});
}

static void make_usb(struct node_agent *agent, const struct informer_deps *from)
{
	agent->usb = usb_new(&(struct usb_deps){
		.client = from->client,
		.clock = from->clock,
		.events = agent->events,
		.metrics = from->metrics,
		.claims = agent->claims[INVENTORY_USB].informer,
		.devices = agent->devices[INVENTORY_USB].informer,
		.pci_claims = agent->claims[INVENTORY_PCI].informer,
		.node_name = agent->options.node_name,
		.dev_root = agent->options.lend.dev_root,
		.state_dir = agent->options.binder.helper.state_dir,
		.lend = agent->lend,
		.report = tie_usb_trouble,
		.selected = tie_usb_selected,
		.arg = agent,
	});
}

static void make_sriov(struct node_agent *agent, struct uv_loop_s *loop,
		       const struct informer_deps *from)
{
	const struct binder_options *binder = &agent->options.binder;

	agent->sriov = sriov_new(&(struct sriov_deps){
		.loop = loop,
		.client = from->client,
		.clock = from->clock,
		.events = agent->events,
		.metrics = from->metrics,
		.claims = agent->claims[INVENTORY_PCI].informer,
		.devices = agent->devices[INVENTORY_PCI].informer,
		.node_name = agent->options.node_name,
		.options = {
			.helper = binder->helper,
			.deadline_ms = binder->deadline_ms * VFS_DEADLINES,
		},
		.on_moved = tie_moved,
		.on_free = tie_settled,
		.on_named = tie_named,
		.is_free = tie_is_free,
		.arg = agent,
	});
}

static void make_gpus(struct node_agent *agent, struct uv_loop_s *loop,
		      const struct informer_deps *from)
{
	agent->gpus = gpus_new(&(struct gpus_deps){
		.loop = loop,
		.client = from->client,
		.clock = from->clock,
		.events = agent->events,
		.metrics = from->metrics,
		.claims = agent->claims[INVENTORY_PCI].informer,
		.devices = agent->devices[INVENTORY_PCI].informer,
		.node_name = agent->options.node_name,
		.options = agent->options.gpu,
		.request_scan = tie_moved,
		.offers_changed = tie_vgpus,
		.is_free = tie_is_free,
		.is_taken = tie_is_taken,
		.arg = agent,
	});
	agent->adopt = adopt_new(&(struct adopt_deps){ .client = from->client,
						       .clock = from->clock,
						       .metrics = from->metrics,
						       .node_name = agent->options.node_name });
}

static void make_mdevs(struct node_agent *agent, struct uv_loop_s *loop)
{
	const struct binder_options *options = &agent->options.binder;

	agent->mdevs = mdevs_new(&(struct mdevs_deps){
		.loop = loop,
		.clock = agent->clock,
		.helper = options->helper,
		.deadline_ms = options->deadline_ms,
		.events = agent->events,
		.parents = agent->devices[INVENTORY_MDEV_PARENT].informer,
		.node_name = agent->options.node_name,
		.lend = agent->lend,
		.on_moved = tie_moved,
		.on_changed = tie_mdevs,
		.report = tie_mdev_trouble,
		.otherwise = tie_vgpu_resource,
		.arg = agent,
	});
}

static void make_config(struct node_agent *agent, struct uv_loop_s *loop,
			const struct informer_deps *from)
{
	const struct lend_options *lend = &agent->options.lend;

	agent->config = config_watch_new(&(struct config_watch_deps){
		.client = from->client,
		.clock = from->clock,
		.events = agent->events,
		.metrics = from->metrics,
		.node_name = agent->options.node_name,
		.parts = TIE_REPORTS,
		.changed = tie_config,
		.arg = agent,
	});
	agent->generics = generics_new(&(struct generics_deps){
		.loop = loop,
		.clock = from->clock,
		.helper_path = agent->options.binder.helper.path,
		.kubelet_dir = lend->kubelet_dir,
		.host_root = lend->host_root,
		.dev_root = lend->dev_root,
		.sysfs_root = lend->sysfs_root,
		.metrics = from->metrics,
		.touch = tie_shared,
		.report = tie_shared_trouble,
		.arg = agent,
	});
}

/* What has been found already; the scan after it finds what it does not say, such as records. */
static void begin_with_seen(void *arg)
{
	struct node_agent *agent = arg;
	struct inventory *inventory = agent->seen.inventory;

	agent->seen.inventory = NULL;
	tie_inventory(agent, inventory, NULL);
}

static void make_look(struct node_agent *agent, struct uv_loop_s *loop,
		      const struct informer_deps *deps)
{
	agent->look = agent->seen.look;
	agent->seen.look = NULL;
	agent->begins = clock_timer_new(deps->clock, begin_with_seen, agent);
	if (agent->look) {
		look_give(agent->look, tie_inventory, agent);
		look_again(agent->look);
	} else {
		agent->look =
			look_new(loop, &agent->options.look, deps->metrics, tie_inventory, agent);
	}
	look_listen(agent->look, tie_uevent, agent);
	if (agent->seen.inventory)
		clock_timer_start(deps->clock, agent->begins, 0);
}

void node_parts_make(struct node_agent *agent, struct uv_loop_s *loop,
		     const struct informer_deps *deps)
{
	agent->listed = device_count_new(deps->metrics);
	helper_meter_show(deps->metrics);
	make_informers(agent, deps);
	make_publish(agent, deps);
	make_claims(agent, loop, deps);
	make_lend(agent, loop, deps);
	make_config(agent, loop, deps);
	make_usb(agent, deps);
	make_mdevs(agent, loop);
	/* The last: it tells which entries of the HostDeviceConfig what is claimed goes before. */
	lend_add(agent->lend, &(struct lend_type){ .offer = tie_offer_shared, .arg = agent });
	make_sriov(agent, loop, deps);
	make_gpus(agent, loop, deps);
	make_look(agent, loop, deps);
	start(agent);
}
