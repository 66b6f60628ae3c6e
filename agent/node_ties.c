#include "agent/node_ties.h"

#include <string.h>

#include "agent/claim/claim_plan.h"
#include "agent/claim/claims.h"
#include "agent/config/config_watch.h"
#include "agent/device_count.h"
#include "agent/generic/generics.h"
#include "agent/gpu/gpus.h"
#include "agent/lend/lend.h"
#include "agent/lend/pci_selected.h"
#include "agent/lend/pci_type.h"
#include "agent/look/look.h"
#include "agent/mdev/mdev_type.h"
#include "agent/mdev/mdevs.h"
#include "agent/node_parts.h"
#include "agent/plugin/device_type.h"
#include "agent/publish/publish.h"
#include "agent/publish/publish_plan.h"
#include "agent/sriov/sriov.h"
#include "agent/usb/usb.h"
#include "agent/usb/usb_type.h"
#include "api/mediateddevice.h"
#include "api/names.h"
#include "api/node.h"
#include "api/pcidevice.h"
#include "api/usbdeviceclaim.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "kube/events.h"
#include "kube/informer.h"
#include "kube/store.h"

/* A claim of the controller waits for those of the devices on it. */
static void touch_controller(struct node_agent *agent, const struct entry *entry)
{
	const struct usbdeviceclaim *claim = entry ? entry->object : NULL;

	if (claim && claim->status.pci_address && claim->status.node_name &&
	    strcmp(claim->status.node_name, agent->options.node_name) == 0)
		claims_touch_controller(agent->pci_claims, claim->status.pci_address);
}

void tie_object(void *arg, const char *name, const struct entry *before, const struct entry *after)
{
	struct watched *watched = arg;

	if (watched == &watched->agent->claims[INVENTORY_USB]) {
		touch_controller(watched->agent, before);
		touch_controller(watched->agent, after);
	}
	if (watched == &watched->agent->devices[watched->kind])
		publish_changed(watched->agent->publish, watched->kind, name);
	else
		publish_touch(watched->agent->publish, watched->kind, name);
	if (watched->kind == INVENTORY_USB && usb_touch(watched->agent->usb, name))
		publish_synced(watched->agent->publish);
	if (watched->kind != INVENTORY_PCI)
		return;
	if (watched == &watched->agent->claims[INVENTORY_PCI] && (!before || !after))
		usb_pci_claims_changed(watched->agent->usb);
	claims_touch(watched->agent->pci_claims, name);
	sriov_enqueue_all(watched->agent->sriov);
	gpus_enqueue_device(watched->agent->gpus, name);
	lend_touch(watched->agent->lend);
}

/* Selectors do not offer claimed devices, so the claims must be known first. */
static void hand_config(struct node_agent *agent)
{
	if (agent->asked && informer_synced(agent->claims[INVENTORY_PCI].informer))
		lend_set_config(agent->lend, agent->asked);
}

void tie_list(void *arg)
{
	struct watched *watched = arg;

	usb_synced(watched->agent->usb);
	publish_synced(watched->agent->publish);
	if (watched->kind == INVENTORY_USB)
		claims_synced(watched->agent->pci_claims);
	if (watched->kind != INVENTORY_PCI)
		return;
	sriov_enqueue_all(watched->agent->sriov);
	gpus_enqueue_all(watched->agent->gpus);
	claims_synced(watched->agent->pci_claims);
	hand_config(watched->agent);
	lend_touch(watched->agent->lend);
}

/* A Node that no kubelet has ever told anything of lists nothing that a claim could wait for. */
static void hand_node(const struct node_agent *agent)
{
	bool changed = false;
	const struct store *store = informer_store(agent->node);
	const struct entry *entry = store_get(store, agent->options.node_name);
	const struct node *node = entry ? entry->object : NULL;

	if (informer_denied(agent->node))
		changed = lend_set_no_node(agent->lend, informer_error(agent->node));
	else if (node)
		changed = lend_set_allocatable(agent->lend, node_heartbeat_ms(node) > 0
								    ? &node->status.allocatable
								    : NULL);
	else if (!entry && informer_synced(agent->node))
		changed = lend_set_no_node(agent->lend, NULL);
	if (changed)
		usb_node_changed(agent->usb);
}

void tie_node_denied(void *arg)
{
	hand_node(arg);
}

void tie_node_list(void *arg)
{
	hand_node(arg);
}

void tie_node(void *arg, const char *name, const struct entry *before, const struct entry *after)
{
	struct node_agent *agent = arg;
	const char *address;

	(void)name;
	(void)before;
	if (!after || !after->object) {
		hand_node(agent);
		return;
	}
	generics_set_labels(agent->generics, &((const struct node *)after->object)->meta.labels);
	mdevs_set_labels(agent->mdevs, &((const struct node *)after->object)->meta.labels);
	lend_set_heartbeat(agent->lend, node_heartbeat_ms(after->object));
	hand_node(agent);
	address = node_internal_ip(after->object);
	look_set_node_address(agent->look, address);
	claims_set_node_address(agent->pci_claims, address);
	sriov_set_node_address(agent->sriov, address);
}

/* An event needs the Node itself, which may not be there yet: then report the next failure. */
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

void tie_inventory(void *arg, struct inventory *inventory, const struct err *err)
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
	device_count_set(agent->listed, inventory);
	usb_set(agent->usb, inventory); /* before the one it has is freed; names are made here */
	/* Likewise; it may hold back what claims bind. */
	sriov_set_inventory(agent->sriov, inventory);
	gpus_set_inventory(agent->gpus, inventory);
	claims_set(agent->pci_claims, inventory);
	mdevs_set(agent->mdevs, inventory);
	lend_set(agent->lend, inventory);
	publish_set(agent->publish, inventory);
}

/* A device that is unplugged has no node any more: that is to be seen before the scan. */
void tie_uevent(void *arg)
{
	const struct node_agent *agent = arg;

	lend_touch(agent->lend);
}

bool tie_is_moving(void *arg, const char *name)
{
	struct node_agent *agent = arg;

	return claims_moving(agent->pci_claims, name);
}

void tie_moved(void *arg)
{
	struct node_agent *agent = arg;

	look_again(agent->look);
}

bool tie_is_free(void *arg, const char *address, char **ret_holder)
{
	struct node_agent *agent = arg;

	return lend_is_free(agent->lend, address, ret_holder);
}

bool tie_is_usb_free(void *arg, const char *port, char **ret_holder)
{
	const struct node_agent *agent = arg;

	return usb_is_free(agent->usb, port, ret_holder);
}

bool tie_is_held(void *arg, const char *address)
{
	const struct node_agent *agent = arg;

	return sriov_holds(agent->sriov, address);
}

void tie_settled(void *arg)
{
	const struct node_agent *agent = arg;

	claims_synced(agent->pci_claims);
}

void tie_named(void *arg, const char *address)
{
	const struct node_agent *agent = arg;
	auto_free char *name = names_pcidevice(agent->options.node_name, address);

	publish_touch(agent->publish, INVENTORY_PCI, name);
}

const char *tie_parent(void *arg, const char *name, const char **ret_key)
{
	const struct node_agent *agent = arg;
	char address[NAMES_ADDRESS_SIZE];

	const char *card;

	*ret_key = NAMES_LABEL_PARENT_NIC;
	if (names_pcidevice_address(agent->options.node_name, name, address) < 0)
		return NULL;
	card = gpus_parent_label(agent->gpus, address);
	if (!card)
		return sriov_parent(agent->sriov, address);
	*ret_key = NAMES_LABEL_PARENT_GPU;
	return card;
}

const struct pcidevice_allocations *tie_allocations(void *arg, enum inventory_kind kind,
						    const char *name)
{
	static const struct pcidevice_allocations none = { 0 };
	struct node_agent *agent = arg;
	char address[NAMES_ADDRESS_SIZE];

	if (kind == INVENTORY_USB)
		return usb_allocations(agent->usb, name);
	if (kind == INVENTORY_MDEV)
		return lend_allocations(agent->lend, mediateddevice_uuid_of_name(name));
	if (names_pcidevice_address(agent->options.node_name, name, address) < 0)
		return &none;
	return lend_allocations(agent->lend, address);
}

void tie_ask_offer(void *arg, const char *address, struct claim_offer *ret_offer)
{
	static const enum claim_offer_state states[] = {
		[OFFERED_BY_NOBODY] = CLAIM_OFFER_NONE,
		[OFFERED_NOT_YET] = CLAIM_OFFER_AWAITED,
		[OFFERED] = CLAIM_OFFERED,
		[OFFERED_NODE_GONE] = CLAIM_OFFER_NODE_GONE,
		[OFFERED_NODE_UNREADABLE] = CLAIM_OFFER_NODE_UNREADABLE,
	};
	const struct node_agent *agent = arg;
	struct offered_answer answer = lend_offered(agent->lend, address);

	*ret_offer = (struct claim_offer){ .state = states[answer.state],
					   .resource = answer.resource,
					   .trouble = answer.trouble,
					   .taken = answer.owner != NULL,
					   .group_taken = answer.group_taken,
					   .held = answer.held,
					   .denied = answer.denied };
}

void tie_offer(void *arg, const char *address)
{
	const struct node_agent *agent = arg;
	auto_free char *name = names_pcidevice(agent->options.node_name, address);

	claims_touch(agent->pci_claims, name);
}

const char *tie_held_as(void *arg, const char *name)
{
	const struct node_agent *agent = arg;
	char address[NAMES_ADDRESS_SIZE];
	const char *resource;
	bool ours;

	if (names_pcidevice_address(agent->options.node_name, name, address) < 0)
		return NULL;
	resource = lend_resource(agent->lend, address, &ours);
	return ours ? resource : NULL;
}

static void usb_offer(const struct node_agent *agent, const char *name,
		      struct publish_offer *ret_offer)
{
	const struct usb_selected *selected = NULL;

	*ret_offer = (struct publish_offer){ .known = usb_selected(agent->usb, name, &selected) };
	if (!selected)
		return;
	ret_offer->resource = selected->resource;
	ret_offer->trouble = selected->trouble;
}

void tie_offer_selected(void *arg, enum inventory_kind kind, const char *name,
			struct publish_offer *ret_offer)
{
	const struct node_agent *agent = arg;
	char address[NAMES_ADDRESS_SIZE];
	const struct pci_told *told = NULL;

	if (kind == INVENTORY_USB) {
		usb_offer(agent, name, ret_offer);
		return;
	}
	*ret_offer = (struct publish_offer){ .known = true };
	if (names_pcidevice_address(agent->options.node_name, name, address) < 0)
		return;
	ret_offer->known = lend_selected(agent->lend, address, &told);
	if (!told)
		return;
	ret_offer->resource = told->resource;
	ret_offer->trouble = told->trouble;
	ret_offer->group_taken = told->group_taken;
}

void tie_usb_selected(void *arg)
{
	const struct node_agent *agent = arg;

	publish_synced(agent->publish);
}

const char *tie_mdev_resource(void *arg, const struct mediateddevice *device)
{
	const struct node_agent *agent = arg;

	return mdevs_resource(agent->mdevs, device);
}

const struct api_condition_value *tie_mdev_condition(void *arg, const char *parent)
{
	const struct node_agent *agent = arg;

	return mdevs_condition(agent->mdevs, parent);
}

void tie_mdevs(void *arg)
{
	const struct node_agent *agent = arg;

	publish_synced(agent->publish);
}

const char *tie_vgpu_resource(void *arg, const char *uuid)
{
	const struct node_agent *agent = arg;

	return gpus_resource(agent->gpus, uuid);
}

bool tie_is_taken(void *arg, const char *resource)
{
	const struct node_agent *agent = arg;
	const char *owner = lend_owner(agent->lend, resource);

	return owner && strcmp(owner, mdev_device_type.name) != 0;
}

void tie_vgpus(void *arg)
{
	const struct node_agent *agent = arg;

	lend_touch(agent->lend);
	publish_synced(agent->publish);
}

void tie_lent(void *arg, const char *address)
{
	struct node_agent *agent = arg;
	auto_free char *name = NULL;

	usb_lent_changed(agent->usb);
	mdevs_lent_changed(agent->mdevs);
	sriov_enqueue_all(agent->sriov);
	gpus_enqueue_all(agent->gpus);
	if (!address || !strchr(address, ':')) { /* no PCI device's */
		claims_synced(agent->pci_claims);
		publish_synced(agent->publish);
		return;
	}
	name = names_pcidevice(agent->options.node_name, address);
	claims_touch(agent->pci_claims, name);
	publish_touch(agent->publish, INVENTORY_PCI, name);
}

void tie_config(void *arg, const struct config *config)
{
	struct node_agent *agent = arg;

	agent->asked = config;
	hand_config(agent);
	generics_set_config(agent->generics, config);
	usb_set_config(agent->usb, config);
	mdevs_set_config(agent->mdevs, config);
}

void tie_shared(void *arg)
{
	struct node_agent *agent = arg;

	lend_touch(agent->lend);
}

void tie_shared_trouble(void *arg, const struct config_troubles *troubles)
{
	struct node_agent *agent = arg;

	config_watch_report(agent->config, "generic", troubles);
}

void tie_usb_trouble(void *arg, const struct config_troubles *troubles)
{
	struct node_agent *agent = arg;

	config_watch_report(agent->config, "usb", troubles);
}

void tie_mdev_trouble(void *arg, const struct config_troubles *troubles)
{
	struct node_agent *agent = arg;

	config_watch_report(agent->config, "mdev", troubles);
}

void tie_offer_shared(void *arg, struct plugins *plugins)
{
	const struct node_agent *agent = arg;
	struct config_troubles troubles = { 0 };

	generics_offer(agent->generics, plugins);
	gpus_enqueue_taken(agent->gpus);
	if (!agent->asked)
		return;
	pci_selected_collisions(agent->asked, plugins, &troubles);
	config_watch_report(agent->config, "pci", &troubles);
	config_troubles_done(&troubles);
}
