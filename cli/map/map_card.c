#include "cli/map/map_card.h"

#include <stdio.h>
#include <string.h>

#include "api/condition.h"
#include "api/event.h"
#include "api/mediateddevice.h"
#include "api/meta.h"
#include "api/migconfiguration.h"
#include "api/names.h"
#include "api/node.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "api/vgpudevice.h"
#include "base/json_write.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/model/cluster.h"
#include "cli/model/dra.h"
#include "cli/model/node_fault.h"
#include "cli/model/part.h"
#include "cli/model/state.h"

/* --- members that cards of several kinds have --- */

/* The fields of the member "claim"; NULL ones are left out. */
struct map_card_claim {
	const struct api_meta *meta;
	const char *owner;
	const char *step;
	const char *holder;
	const struct api_conditions *conditions;
};

/* The page's name of a state, the same as in `kubectl hostdev tree`. */
static const char *const state_words[STATES] = {
	[STATE_UNKNOWN] = "unknown",     [STATE_CLAIMABLE] = "claimable",
	[STATE_REFUSED] = "refused",     [STATE_PENDING] = "pending",
	[STATE_AVAILABLE] = "available", [STATE_USED] = "used",
	[STATE_RELEASING] = "releasing", [STATE_MISSING] = "missing",
	[STATE_STUCK] = "stuck",
};

const char *map_card_node_name(const char *name, const struct api_meta *meta)
{
	return name ? name : api_meta_label(meta, NAMES_LABEL_NODE);
}

/* Add a member, unless @value is NULL or "". */
static void map_card_text(struct str *out, const char *key, const char *value)
{
	if (value && *value)
		json_write_str(out, key, value);
}

/* Add a line of the details, between open and close of the array "facts", unless the value is
 * NULL or "". */
static void map_card_fact(struct str *out, const char *label, const char *value)
{
	if (!value || !*value)
		return;
	json_write_open(out, NULL, '[');
	json_write_str(out, NULL, label);
	json_write_str(out, NULL, value);
	json_write_close(out, ']');
}

/* The same with a number, unless it is negative. */
static void map_card_fact_int(struct str *out, const char *label, long long value)
{
	char text[24];

	if (value < 0)
		return;
	(void)snprintf(text, sizeof(text), "%lld", value);
	map_card_fact(out, label, text);
}

/* Add "state", "reason" and "say". */
static void map_card_verdict(struct str *out, const struct state_verdict *verdict)
{
	json_write_str(out, "state", state_words[verdict->state]);
	map_card_text(out, "reason", verdict->reason);
	map_card_text(out, "say", verdict->message);
}

/* Add "resourceClaim": to which the device is allocated, and why no container has it yet. */
static void map_card_resource_claim(struct str *out, const struct cluster_device *device)
{
	const struct resourceclaim *claim = device->resource_claim;
	auto_free char *name =
		xasprintf("%s/%s", str_or_empty(claim->meta.namespace_), claim->meta.name);
	auto_free char *pods = dra_pod_names(claim);
	struct state_verdict verdict = dra_judge(device, claim);

	json_write_open(out, "resourceClaim", '{');
	json_write_str(out, "name", name);
	map_card_text(out, "pods", pods);
	if (dra_is_prepared(device, claim)) {
		json_write_bool(out, "prepared", true);
	} else {
		map_card_text(out, "reason", verdict.reason);
		map_card_text(out, "say", verdict.message);
	}
	json_write_close(out, '}');
}

/* Add node, state and ResourceClaim of a device, by the objects of @device (cli/model/state.h). */
static void map_card_device(struct str *out, const struct cluster_device *device)
{
	struct state_verdict verdict = state_judge(device);

	map_card_text(out, "node", device->node);
	map_card_verdict(out, &verdict);
	if (device->resource_claim)
		map_card_resource_claim(out, device);
}

static void map_card_conditions(struct str *out, const struct api_conditions *conditions)
{
	json_write_open(out, "conditions", '[');
	for (size_t i = 0; i < conditions->len; i++) {
		const struct api_condition *condition = &conditions->items[i];

		json_write_open(out, NULL, '{');
		map_card_text(out, "type", condition->type);
		map_card_text(out, "status", condition->status);
		map_card_text(out, "reason", condition->reason);
		map_card_text(out, "message", condition->message);
		map_card_text(out, "since", condition->last_transition_time);
		json_write_close(out, '}');
	}
	json_write_close(out, ']');
}

/* Add "pods": "namespace/name" and container of each. */
static void map_card_pods(struct str *out, const struct pcidevice_allocations *allocations)
{
	json_write_open(out, "pods", '[');
	for (size_t i = 0; i < allocations->len; i++) {
		const struct pcidevice_allocation *one = &allocations->items[i];
		auto_free char *pod = xasprintf("%s/%s", one->namespace ? one->namespace : "",
						one->pod ? one->pod : "");

		json_write_open(out, NULL, '{');
		json_write_str(out, "pod", pod);
		map_card_text(out, "container", one->container);
		json_write_close(out, '}');
	}
	json_write_close(out, ']');
}

static void map_card_claim(struct str *out, const struct map_card_claim *claim)
{
	json_write_open(out, "claim", '{');
	map_card_text(out, "owner", claim->owner);
	map_card_text(out, "step", claim->step);
	map_card_text(out, "holder", claim->holder);
	map_card_text(out, "since", claim->meta->creation_timestamp);
	map_card_text(out, "deleting", claim->meta->deletion_timestamp);
	map_card_conditions(out, claim->conditions);
	json_write_close(out, '}');
}

/* --- cards --- */

static void begin(struct str *out, const char *id, const char *kind, const char *name)
{
	json_write_open(out, NULL, '{');
	json_write_str(out, "id", id);
	json_write_str(out, "kind", kind);
	json_write_str(out, "name", name);
}

static char *end(struct str *out)
{
	json_write_close(out, '}');
	return str_detach(out);
}

/* "8086:10d3", for the caller to free; NULL if not both are known. */
static char *ids(const char *vendor, const char *device)
{
	return vendor && device ? xasprintf("%s:%s", vendor, device) : NULL;
}

/* --- PCI --- */

static void pci_facts(struct str *out, const struct pcidevice *device)
{
	const struct pcidevice_status *status = &device->status;
	auto_free char *model = ids(status->vendor_id, status->device_id);
	auto_free char *board = ids(status->subsystem_vendor_id, status->subsystem_device_id);

	json_write_open(out, "facts", '[');
	map_card_fact(out, "Vendor, device", model);
	map_card_fact(out, "Subsystem", board);
	map_card_fact(out, "Class", status->class_id);
	map_card_fact(out, "Serial number", status->serial_number);
	map_card_fact_int(out, "NUMA node", status->numa_node);
	map_card_fact(out, "SR-IOV", status->role);
	map_card_fact_int(out, "Virtual functions", status->total_vfs ? status->num_vfs : -1);
	map_card_fact(out, "Virtual function of", status->physical_function);
	map_card_fact(out, "Resource name", status->resource_name);
	map_card_fact(out, "Original driver",
		      api_meta_annotation(&device->meta, NAMES_ANNOTATION_DRIVER));
	json_write_close(out, ']');
}

static void pci_device(struct str *out, const struct pcidevice *device)
{
	const struct pcidevice_status *status = &device->status;

	map_card_text(out, "address", status->address);
	auto_str struct str behind = STR_INIT;

	for (size_t i = 0; i < status->bridges.len; i++)
		str_addf(&behind, "%s%s", i > 0 ? " " : "", status->bridges.items[i]);
	if (behind.len > 0)
		map_card_text(out, "behind", str_cstr(&behind));
	map_card_text(out, "on", status->physical_function);
	map_card_text(out, "text", status->description);
	map_card_text(out, "driver", status->kernel_driver_in_use);
	map_card_text(out, "group", status->iommu_group);
	if (status->class_id && strncmp(status->class_id, "0604", 4) == 0)
		json_write_bool(out, "port", true);
	map_card_text(out, "since", device->meta.creation_timestamp);
	pci_facts(out, device);
	map_card_conditions(out, &status->conditions);
	map_card_pods(out, &status->allocations);
}

char *map_card_pci(const char *id, const struct pcidevice *device,
		   const struct pcideviceclaim *claim, const struct resourceclaim *resource_claim,
		   const struct node_fault *fault, enum state_conflict conflict)
{
	const struct api_meta *meta = device ? &device->meta : &claim->meta;
	const char *node =
		map_card_node_name(device ? device->status.node_name : claim->spec.node_name, meta);
	struct str out = STR_INIT;

	begin(&out, id, "PCIDevice", meta->name);
	map_card_device(&out, &(struct cluster_device){
				      .type = DEVICE_PCI,
				      .is_there = device != NULL,
				      .node = str_or_empty(node),
				      .address = device ? str_or_empty(device->status.address) : "",
				      .resource = "",
				      .conditions = device ? &device->status.conditions : NULL,
				      .allocations = device ? &device->status.allocations : NULL,
				      .claim = claim ? &claim->meta : NULL,
				      .claim_conditions = claim ? &claim->status.conditions : NULL,
				      .resource_claim = resource_claim,
				      .conflict = conflict,
				      .fault = fault,
			      });
	if (device)
		pci_device(&out, device);
	else
		map_card_text(&out, "address", claim->spec.address);
	if (claim)
		map_card_claim(&out, &(struct map_card_claim){
					     .meta = &claim->meta,
					     .owner = claim->spec.user_name,
					     .step = claim->status.step,
					     .holder = claim->status.holder,
					     .conditions = &claim->status.conditions,
				     });
	return end(&out);
}

/* --- USB --- */

static void usb_device(struct str *out, const struct usbdevice *device)
{
	const struct usbdevice_status *status = &device->status;
	auto_free char *model = ids(status->vendor_id, status->product_id);

	map_card_text(out, "address", status->port_path);
	map_card_text(out, "on", status->pci_address);
	map_card_text(out, "text", status->description);
	map_card_text(out, "driver",
		      status->interfaces.len > 0 ? status->interfaces.items[0].driver : NULL);
	map_card_text(out, "since", device->meta.creation_timestamp);
	json_write_open(out, "facts", '[');
	map_card_fact(out, "Vendor, product", model);
	map_card_fact(out, "Class", status->class_type);
	map_card_fact(out, "Serial number", status->serial_number);
	map_card_fact(out, "Device file", status->device_path);
	map_card_fact(out, "On controller", status->pci_address);
	map_card_fact_int(out, "Speed in Mbit/s", status->speed_mbps ? status->speed_mbps : -1);
	map_card_fact(out, "Resource name", status->resource_name);
	map_card_fact(out, "Used by", status->holder);
	json_write_close(out, ']');
	map_card_conditions(out, &status->conditions);
	map_card_pods(out, &status->allocations);
}

char *map_card_usb(const char *id, const struct usbdevice *device,
		   const struct usbdeviceclaim *claim, const struct resourceclaim *resource_claim,
		   const struct node_fault *fault, enum state_conflict conflict)
{
	const struct api_meta *meta = device ? &device->meta : &claim->meta;
	const char *node = map_card_node_name(
		device ? device->status.node_name : claim->status.node_name, meta);
	struct str out = STR_INIT;

	begin(&out, id, "USBDevice", meta->name);
	map_card_device(&out,
			&(struct cluster_device){
				.type = DEVICE_USB,
				.is_there = device != NULL,
				.node = str_or_empty(node),
				.address = device ? str_or_empty(device->status.port_path) : "",
				.resource = "",
				.conditions = device ? &device->status.conditions : NULL,
				.allocations = device ? &device->status.allocations : NULL,
				.claim = claim ? &claim->meta : NULL,
				.claim_conditions = claim ? &claim->status.conditions : NULL,
				.resource_claim = resource_claim,
				.conflict = conflict,
				.fault = fault,
			});
	if (device) {
		usb_device(&out, device);
	} else {
		map_card_text(&out, "address", claim->status.port_path);
		map_card_text(&out, "on", claim->status.pci_address);
	}
	if (claim)
		map_card_claim(&out, &(struct map_card_claim){
					     .meta = &claim->meta,
					     .owner = claim->spec.user_name,
					     .holder = claim->status.holder,
					     .conditions = &claim->status.conditions,
				     });
	return end(&out);
}

/* --- mediated devices --- */

char *map_card_mdev(const char *id, const struct mediateddevice *device,
		    const struct resourceclaim *resource_claim, const struct node_fault *fault)
{
	const struct mediateddevice_status *status = &device->status;
	static const struct api_conditions none;
	struct str out = STR_INIT;

	begin(&out, id, "MediatedDevice", device->meta.name);
	map_card_device(&out, &(struct cluster_device){
				      .type = DEVICE_MDEV,
				      .is_there = true,
				      .node = str_or_empty(
					      map_card_node_name(status->node_name, &device->meta)),
				      .address = str_or_empty(status->uuid),
				      .resource = str_or_empty(status->resource_name),
				      .allocations = &status->allocations,
				      .resource_claim = resource_claim,
				      .fault = fault,
			      });
	map_card_text(&out, "address", status->uuid);
	map_card_text(&out, "on", status->pci_address ? status->pci_address : status->parent);
	map_card_text(&out, "text", status->type_name);
	map_card_text(&out, "group", status->iommu_group);
	map_card_text(&out, "since", device->meta.creation_timestamp);
	json_write_open(&out, "facts", '[');
	map_card_fact(&out, "Type", status->type);
	map_card_fact(&out, "Parent", status->parent);
	map_card_fact_int(&out, "NUMA node", status->numa_node);
	map_card_fact(&out, "Made by", status->created_by_hostdev ? "hostdev" : "somebody else");
	map_card_fact(&out, "Resource name", status->resource_name);
	json_write_close(&out, ']');
	map_card_conditions(&out, &none);
	map_card_pods(&out, &status->allocations);
	return end(&out);
}

/* --- what cards are divided into --- */

/* It has no address, so its type is shown there. */
static void part_card(struct str *out, const struct part *part, const struct api_meta *meta,
		      const struct api_conditions *conditions)
{
	map_card_verdict(out, &part->verdict);
	map_card_text(out, "address", part->what);
	map_card_text(out, "text", part->text);
	map_card_text(out, "since", meta->creation_timestamp);
	map_card_conditions(out, conditions);
}

char *map_card_vgpu(const char *id, const struct vgpudevice *vgpu, const struct pcidevice *function,
		    const struct node_fault *fault)
{
	bool used = function && function->status.allocations.len > 0;
	struct str out = STR_INIT;
	struct part part;

	if (!part_of_vgpu(vgpu, used, fault, &part))
		return NULL;
	begin(&out, id, "VGPUDevice", vgpu->meta.name);
	map_card_text(&out, "node", map_card_node_name(vgpu->spec.node_name, &vgpu->meta));
	map_card_text(&out, "on", vgpu->spec.address);
	part_card(&out, &part, &vgpu->meta, &vgpu->status.conditions);
	if (used)
		map_card_pods(&out, &function->status.allocations);
	part_done(&part);
	return end(&out);
}

char *map_card_mig(const char *id, const struct migconfiguration *mig,
		   const struct node_fault *fault)
{
	struct str out = STR_INIT;
	struct part part;

	if (!part_of_mig(mig, fault, &part))
		return NULL;
	begin(&out, id, "MigConfiguration", mig->meta.name);
	map_card_text(&out, "node", map_card_node_name(mig->spec.node_name, &mig->meta));
	map_card_text(&out, "on", mig->spec.gpu_address);
	part_card(&out, &part, &mig->meta, &mig->status.conditions);
	part_done(&part);
	return end(&out);
}

/* --- nodes and events --- */

char *map_card_node(const char *id, const struct node *node, const struct node_fault *fault)
{
	struct str out = STR_INIT;

	begin(&out, id, "Node", node->meta.name);
	if (fault) {
		map_card_text(&out, "fault", fault->reason);
		map_card_text(&out, "why", fault->why);
		map_card_text(&out, "say", fault->message);
		map_card_text(&out, "since", fault->since);
	}
	if (node->spec.unschedulable)
		json_write_bool(&out, "cordoned", true);
	map_card_text(&out, "kernel", node->status.info.kernel);
	map_card_text(&out, "kubelet", node->status.info.kubelet);
	return end(&out);
}

/* Events of a device, and of its claim, which has the same name, are shown on the device's card. */
static const char *const abouts[][2] = {
	{ "PCIDevice", "pci" },        { "PCIDeviceClaim", "pci" },  { "USBDevice", "usb" },
	{ "USBDeviceClaim", "usb" },   { "MediatedDevice", "mdev" }, { "VGPUDevice", "vgpu" },
	{ "MigConfiguration", "mig" },
};

char *map_card_event(const char *id, const struct event *event)
{
	const struct event_object *object = &event->involved_object;
	const char *at = event->last_timestamp ? event->last_timestamp : event->event_time;
	struct str out = STR_INIT;

	begin(&out, id, "Event", event->meta.name);
	for (size_t i = 0; object->kind && object->name && i < ARRAY_LEN(abouts); i++) {
		if (strcmp(object->kind, abouts[i][0]) == 0) {
			auto_free char *about = xasprintf("%s/%s", abouts[i][1], object->name);

			json_write_str(&out, "about", about);
		}
	}
	map_card_text(&out, "type", event->type);
	map_card_text(&out, "reason", event->reason);
	map_card_text(&out, "message", event->message);
	map_card_text(&out, "at", at ? at : event->meta.creation_timestamp);
	json_write_int(&out, "count", event->count);
	return end(&out);
}
