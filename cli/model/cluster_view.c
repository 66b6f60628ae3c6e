#include "cli/model/cluster_view.h"

#include <stdlib.h>
#include <string.h>

#include "api/mediateddevice.h"
#include "api/meta.h"
#include "api/migconfiguration.h"
#include "api/names.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/sriovgpudevice.h"
#include "api/sriovnetworkdevice.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "api/vgpudevice.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/model/address.h"
#include "cli/model/dra.h"

/* --- one device, from its objects ------------------------------------------------------------- */

static void take_pci(struct cluster_device *device, const struct pcidevice *pci)
{
	const struct pcidevice_status *s = &pci->status;

	*device = (struct cluster_device){
		.type = DEVICE_PCI,
		.is_there = true,
		.name = pci->meta.name,
		.node = str_or_empty(s->node_name),
		.address = str_or_empty(s->address),
		.group = str_or_empty(s->iommu_group),
		.driver = str_or_empty(s->kernel_driver_in_use),
		.description = str_or_empty(s->description),
		.resource = str_or_empty(s->resource_name),
		.class_id = str_or_empty(s->class_id),
		.holder = "",
		.user = "",
		.numa_node = s->numa_node,
		.object = pci,
		.conditions = &s->conditions,
		.allocations = &s->allocations,
	};
}

/* A device's driver is that of its first interface that has one. */
static const char *usb_driver(const struct usbdevice_status *s)
{
	for (size_t i = 0; i < s->interfaces.len; i++) {
		if (s->interfaces.items[i].driver)
			return s->interfaces.items[i].driver;
	}
	return "";
}

static void take_usb(struct cluster_device *device, const struct usbdevice *usb)
{
	const struct usbdevice_status *s = &usb->status;

	*device = (struct cluster_device){
		.type = DEVICE_USB,
		.is_there = true,
		.name = usb->meta.name,
		.node = str_or_empty(s->node_name),
		.address = str_or_empty(s->port_path),
		.group = "",
		.driver = usb_driver(s),
		.description = str_or_empty(s->description),
		.resource = str_or_empty(s->resource_name),
		.class_id = "",
		.holder = str_or_empty(s->holder),
		.user = "",
		.numa_node = -1,
		.object = usb,
		.conditions = &s->conditions,
		.allocations = &s->allocations,
	};
}

static void take_mdev(struct cluster_device *device, const struct mediateddevice *mdev)
{
	const struct mediateddevice_status *s = &mdev->status;

	*device = (struct cluster_device){
		.type = DEVICE_MDEV,
		.is_there = true,
		.name = mdev->meta.name,
		.node = str_or_empty(s->node_name),
		.address = str_or_empty(s->uuid),
		.group = str_or_empty(s->iommu_group),
		.driver = str_or_empty(s->device_api),
		.description = str_or_empty(s->type_name),
		.resource = str_or_empty(s->resource_name),
		.class_id = "",
		.holder = "",
		.user = "",
		.numa_node = s->numa_node,
		.object = mdev,
		.allocations = &s->allocations,
	};
}

static void take_claim_alone(struct cluster_device *device, enum device_type type, const char *name,
			     const char *node, const char *address)
{
	*device = (struct cluster_device){
		.type = type,
		.name = name,
		.node = str_or_empty(node),
		.address = str_or_empty(address),
		.group = "",
		.driver = "",
		.description = "",
		.resource = "",
		.class_id = "",
		.holder = "",
		.user = "",
		.numa_node = -1,
	};
}

static void add_pciclaim(struct cluster_device *device, const struct pcideviceclaim *claim)
{
	device->claim = &claim->meta;
	device->claim_object = claim;
	device->claim_conditions = &claim->status.conditions;
	device->user = str_or_empty(claim->spec.user_name);
	device->holder = str_or_empty(claim->status.holder);
}

static void add_usbclaim(struct cluster_device *device, const struct usbdeviceclaim *claim)
{
	device->claim = &claim->meta;
	device->claim_object = claim;
	device->claim_conditions = &claim->status.conditions;
	device->user = str_or_empty(claim->spec.user_name);
	if (claim->status.holder)
		device->holder = claim->status.holder;
}

/* Make @device from its own object (of @kind: CLUSTER_PCIDEVICE, CLUSTER_USBDEVICE or
 * CLUSTER_MDEV). */
static void cluster_device_take(struct cluster_device *device, enum cluster_kind kind,
				const void *object)
{
	if (kind == CLUSTER_PCIDEVICE)
		take_pci(device, object);
	else if (kind == CLUSTER_USBDEVICE)
		take_usb(device, object);
	else
		take_mdev(device, object);
}

/* Make @device from a claim (of @kind: CLUSTER_PCICLAIM or CLUSTER_USBCLAIM) whose device does
 * not exist. */
static void cluster_device_take_claim(struct cluster_device *device, enum cluster_kind kind,
				      const void *object)
{
	const struct pcideviceclaim *pci = object;
	const struct usbdeviceclaim *usb = object;

	if (kind == CLUSTER_PCICLAIM)
		take_claim_alone(device, DEVICE_PCI, pci->meta.name, pci->spec.node_name,
				 pci->spec.address);
	else
		take_claim_alone(device, DEVICE_USB, usb->meta.name, usb->status.node_name,
				 usb->status.port_path);
}

/* Add to @device its claim, if @cluster has one. */
static void cluster_device_add_claim(struct cluster_device *device, const struct cluster *cluster)
{
	const struct pcideviceclaim *pci = cluster_get(cluster, CLUSTER_PCICLAIM, device->name);
	const struct usbdeviceclaim *usb = cluster_get(cluster, CLUSTER_USBCLAIM, device->name);

	if (device->type == DEVICE_PCI && pci)
		add_pciclaim(device, pci);
	if (device->type == DEVICE_USB && usb)
		add_usbclaim(device, usb);
}

/* --- the view --------------------------------------------------------------------------------- */

/* --- all of them ------------------------------------------------------------------------------ */

static void add_devices(struct cluster_view *view, const struct cluster *cluster,
			enum cluster_kind kind)
{
	size_t len;
	auto_free const void **list = cluster_objects(cluster, kind, &len);

	for (size_t i = 0; i < len; i++)
		cluster_device_take(&view->devices[view->len++], kind, list[i]);
}

/* A claim whose device is not listed is shown as a device. */
static void add_lone_claims(struct cluster_view *view, const struct cluster *cluster,
			    enum cluster_kind kind)
{
	enum cluster_kind of = kind == CLUSTER_PCICLAIM ? CLUSTER_PCIDEVICE : CLUSTER_USBDEVICE;
	size_t len;
	auto_free const void **list = cluster_objects(cluster, kind, &len);

	for (size_t i = 0; i < len; i++) {
		if (!cluster_get(cluster, of, ((const struct api_meta *)list[i])->name))
			cluster_device_take_claim(&view->devices[view->len++], kind, list[i]);
	}
}

/* --- order, and what hangs on what ------------------------------------------------------------ */

/* Devices without a node come last. */
static int compare_nodes(const char *a, const char *b)
{
	if (!a[0] != !b[0])
		return a[0] ? -1 : 1;
	return strcmp(a, b);
}

static int compare_devices(const void *a, const void *b)
{
	const struct cluster_device *x = a;
	const struct cluster_device *y = b;
	int r = compare_nodes(x->node, y->node);

	if (r == 0)
		r = (int)x->type - (int)y->type;
	if (r == 0)
		r = address_compare(x->address, y->address);
	return r ? r : strcmp(x->name, y->name);
}

static char *key_of_name(enum device_type type, const char *name)
{
	return xasprintf("%d/%s", (int)type, name);
}

static char *key_of_address(const char *node, const char *address)
{
	return xasprintf("%s/%s", node, address);
}

static void index_devices(struct cluster_made *made)
{
	made->by_name = map_new();
	made->by_address = map_new();
	for (size_t i = 0; i < made->view.len; i++) {
		struct cluster_device *device = &made->view.devices[i];
		auto_free char *name = key_of_name(device->type, device->name);
		auto_free char *address = key_of_address(device->node, device->address);

		map_set(made->by_name, name, device);
		/* A device that exists comes before a claim of one that does not. */
		if (device->address[0] && (device->is_there || !map_get(made->by_address, address)))
			map_set(made->by_address, address, device);
	}
}

/* The hub "1-2" of a device on port "1-2.3", or the device's controller. */
static struct cluster_device *usb_parent(const struct cluster_made *made,
					 const struct cluster_device *device)
{
	const struct usbdevice *usb = device->object;
	auto_free char *port = xstrdup(device->address);
	char *dot = strrchr(port, '.');
	struct cluster_device *hub;

	for (; dot; dot = strrchr(port, '.')) {
		*dot = '\0';
		hub = cluster_made_at(made, device->node, port);
		if (hub)
			return hub;
	}
	return cluster_made_at(made, device->node, str_or_empty(usb->status.pci_address));
}

static struct cluster_device *parent_of(const struct cluster_made *made,
					const struct cluster_device *device)
{
	const struct pcidevice *pci = device->object;
	const struct mediateddevice *mdev = device->object;

	if (!device->is_there)
		return NULL;
	switch (device->type) {
	case DEVICE_PCI:
		return cluster_made_at(made, device->node,
				       str_or_empty(pci->status.physical_function));
	case DEVICE_USB:
		return usb_parent(made, device);
	case DEVICE_MDEV:
		return cluster_made_at(made, device->node, str_or_empty(mdev->status.pci_address));
	}
	return NULL;
}

/* Would this parent make a cycle, or a chain longer than hardware has? Anything may be written
 * into an object. */
static bool hangs_on(const struct cluster_device *device, const struct cluster_device *other)
{
	unsigned depth = 0;

	for (; device; device = device->parent) {
		if (device == other || ++depth > CLUSTER_DEPTH_MAX)
			return true;
	}
	return false;
}

/* Goes from the last to the first, so that lists of children are in order. */
static void link_devices(struct cluster_made *made)
{
	for (size_t i = made->view.len; i-- > 0;) {
		struct cluster_device *device = &made->view.devices[i];
		struct cluster_device *parent = parent_of(made, device);

		if (!parent || hangs_on(parent, device))
			continue;
		device->parent = parent;
		device->next = parent->first_child;
		parent->first_child = device;
	}
}

/* --- cards ------------------------------------------------------------------------------------ */

static struct cluster_device *card_of(const struct cluster_made *made, enum cluster_kind kind,
				      const void *object)
{
	const struct sriovnetworkdevice *sriov = object;
	const struct sriovgpudevice *gpu = object;
	const struct migconfiguration *mig = object;
	const struct vgpudevice *vgpu = object;

	if (kind == CLUSTER_SRIOV)
		return cluster_made_at(made, str_or_empty(sriov->spec.node_name),
				       str_or_empty(sriov->spec.address));
	if (kind == CLUSTER_GPU)
		return cluster_made_at(made, str_or_empty(gpu->spec.node_name),
				       str_or_empty(gpu->spec.address));
	if (kind == CLUSTER_MIG)
		return cluster_made_at(made, str_or_empty(mig->spec.node_name),
				       str_or_empty(mig->spec.gpu_address));
	return cluster_made_at(made, str_or_empty(vgpu->spec.node_name),
			       str_or_empty(vgpu->spec.address));
}

static void add_cards(const struct cluster_made *made, const struct cluster *cluster,
		      enum cluster_kind kind)
{
	size_t len;
	auto_free const void **list = cluster_objects(cluster, kind, &len);

	for (size_t i = 0; i < len; i++) {
		struct cluster_device *device = card_of(made, kind, list[i]);

		if (!device)
			continue;
		if (kind == CLUSTER_SRIOV)
			device->sriov = list[i];
		else if (kind == CLUSTER_GPU)
			device->gpu = list[i];
		else if (kind == CLUSTER_MIG)
			device->mig = list[i];
		else
			device->vgpu = list[i];
	}
}

/* --- DRA -------------------------------------------------------------------------------------- */

/* Devices by node and by their names in ResourceSlices; of two, the first. */
static struct map *index_dra(const struct cluster_made *made)
{
	struct map *map = map_new();

	for (size_t i = 0; i < made->view.len; i++) {
		struct cluster_device *device = &made->view.devices[i];
		auto_free char *name = dra_name_of(device);
		auto_free char *key = name ? key_of_address(device->node, name) : NULL;

		if (key && !map_get(map, key))
			map_set(map, key, device);
	}
	return map;
}

static struct cluster_device *dra_device(const struct map *devices, const char *node,
					 const char *name)
{
	auto_free char *key = key_of_address(node, name);

	return map_get(devices, key);
}

static void add_slice(const struct map *devices, const struct dra_slice *slice, struct map *nodes)
{
	const struct dra_slice_spec *spec = &slice->spec;

	if (!str_match(spec->driver, DRA_DRIVER) || !spec->node_name || !spec->pool.name)
		return;
	map_set(nodes, spec->pool.name, spec->node_name);
	for (size_t i = 0; i < spec->devices.len; i++) {
		struct cluster_device *device =
			dra_device(devices, spec->node_name, spec->devices.items[i].name);

		if (device)
			device->slice = slice;
	}
}

/* @nodes: of pools; a pool whose slice is not there has the node in its name. */
static void add_resource_claim(const struct map *devices, const struct resourceclaim *claim,
			       const struct map *nodes)
{
	for (size_t i = 0; i < claim->status.allocation.devices.results.len; i++) {
		const struct resourceclaim_result *result =
			&claim->status.allocation.devices.results.items[i];
		auto_free char *prefix = dra_pool_node(result->pool);
		const char *node = map_get(nodes, result->pool);
		struct cluster_device *device;

		if (strcmp(result->driver, DRA_DRIVER) != 0 || result->admin_access)
			continue;
		device = dra_device(devices, node ? node : prefix, result->device);
		if (device && !device->resource_claim)
			device->resource_claim = claim;
	}
}

static void add_dra(const struct cluster_made *made, const struct cluster *cluster)
{
	size_t slices_len, claims_len;
	auto_free const void **slices = cluster_objects(cluster, CLUSTER_SLICE, &slices_len);
	auto_free const void **claims =
		cluster_objects(cluster, CLUSTER_RESOURCECLAIM, &claims_len);
	struct map *devices;
	struct map *nodes;

	if (slices_len + claims_len == 0)
		return;
	devices = index_dra(made);
	nodes = map_new();
	for (size_t i = 0; i < slices_len; i++)
		add_slice(devices, slices[i], nodes);
	for (size_t i = 0; i < claims_len; i++)
		add_resource_claim(devices, claims[i], nodes);
	map_free(nodes);
	map_free(devices);
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* The fault of @node: by its Node if Nodes have been read, otherwise by a claim of the node. */
static struct node_fault fault_of(const struct cluster *cluster, const struct cluster_node *node)
{
	bool known = cluster_nodes_known(cluster);
	struct node_fault fault;

	if (!node->name[0])
		return (struct node_fault){ 0 };
	fault = cluster_node_fault(cluster, node->name);
	for (size_t i = 0; i < node->len && !fault.reason; i++)
		fault = node_told(node->devices[i].claim_conditions, known);
	return fault;
}

/* Is a USB device below @device claimed, or does a pod have it (through the HostDeviceConfig)? */
static bool has_usb_in_use(const struct cluster_device *device)
{
	bool found = false;

	for (const struct cluster_device *d = device->first_child; d && !found; d = d->next)
		found = d->type == DEVICE_USB &&
			(d->claim || (d->allocations && d->allocations->len > 0) ||
			 has_usb_in_use(d));
	return found;
}

static bool is_divided(const struct cluster_device *device)
{
	bool found = (device->sriov && device->sriov->spec.num_vfs > 0) ||
		     (device->gpu && device->gpu->spec.enabled) ||
		     (device->vgpu && device->vgpu->spec.enabled);

	for (const struct cluster_device *d = device->first_child; d && !found; d = d->next)
		found = d->vgpu && d->vgpu->spec.enabled;
	return found;
}

static bool has_claimed_vf(const struct cluster_device *device)
{
	bool found = false;

	for (const struct cluster_device *d = device->first_child; d && !found; d = d->next)
		found = d->type == DEVICE_PCI && d->claim;
	return found;
}

/* Is the nearest PCI function above @device claimed? */
static bool has_claimed_parent(const struct cluster_device *device)
{
	const struct cluster_device *parent = device->parent;

	while (parent && parent->type != DEVICE_PCI)
		parent = parent->parent;
	return parent && parent->claim;
}

/* Does its claim take the other functions of its IOMMU group, too? */
static bool claims_group(const struct cluster_device *device)
{
	const struct pcideviceclaim *claim = device->claim_object;

	return device->type == DEVICE_PCI && claim && claim->spec.include_iommu_group;
}

/* Is it claimed by another user? A claim that leaves the device on its driver does not count in its
 * group. */
static bool is_others(const struct cluster_device *device)
{
	return device->type == DEVICE_PCI && device->others &&
	       !api_meta_annotation(device->claim, NAMES_ANNOTATION_SKIP_VFIO);
}

/* May USB devices behind it be claimed by claims that the caller may not read? */
static bool hides_usb(const struct cluster_device *device)
{
	return device->usb_hidden;
}

/* Is @fits true for another function of the IOMMU group of @device? */
static bool has_sibling(const struct cluster_made *made, const struct cluster_device *device,
			bool (*fits)(const struct cluster_device *sibling))
{
	const struct pcidevice *pci = device->type == DEVICE_PCI ? device->object : NULL;
	bool found = false;

	for (size_t i = 0; pci && i < pci->status.iommu_group_members.len && !found; i++) {
		const struct cluster_device *sibling = cluster_made_at(
			made, device->node, pci->status.iommu_group_members.items[i]);

		found = sibling && sibling != device && fits(sibling);
	}
	return found;
}

/* Is the nearest PCI function above @device claimed with its whole IOMMU group? */
static bool has_parent_in_group(const struct cluster_made *made,
				const struct cluster_device *device)
{
	const struct cluster_device *parent = device->parent;

	while (parent && parent->type != DEVICE_PCI)
		parent = parent->parent;
	return parent && has_sibling(made, parent, claims_group);
}

static enum state_conflict pci_conflict(const struct cluster_made *made,
					const struct cluster_device *device)
{
	if (has_claimed_parent(device))
		return CONFLICT_PF;
	if (has_claimed_vf(device))
		return CONFLICT_VF;
	if (is_divided(device))
		return CONFLICT_DIVIDED;
	if (has_usb_in_use(device) || has_sibling(made, device, has_usb_in_use))
		return CONFLICT_USB;
	if (has_sibling(made, device, is_others))
		return CONFLICT_OWNER;
	if (device->usb_hidden || has_sibling(made, device, hides_usb))
		return CONFLICT_USB_HIDDEN;
	return has_sibling(made, device, claims_group) ? CONFLICT_GROUP : CONFLICT_NONE;
}

static enum state_conflict conflict_of(const struct cluster_made *made,
				       const struct cluster_device *device)
{
	switch (device->type) {
	case DEVICE_PCI:
		return pci_conflict(made, device);
	case DEVICE_USB:
		return has_claimed_parent(device) || has_parent_in_group(made, device)
			       ? CONFLICT_CONTROLLER
			       : CONFLICT_NONE;
	case DEVICE_MDEV:
		break;
	}
	return CONFLICT_NONE;
}

static void judge_node(struct cluster_node *node, const struct cluster_made *made,
		       const struct cluster *cluster)
{
	node->fault = fault_of(cluster, node);
	for (size_t i = 0; i < node->len; i++) {
		struct cluster_device *device = &node->devices[i];

		device->fault = node->fault.reason ? &node->fault : NULL;
		device->conflict = conflict_of(made, device);
		device->verdict = state_judge(device);
		node->by_state[device->verdict.state]++;
	}
}

static void divide_by_node(struct cluster_made *made, const struct cluster *cluster)
{
	struct cluster_view *view = &made->view;
	struct cluster_node *node = NULL;

	view->nodes = xcalloc(view->len + 1, sizeof(*view->nodes));
	for (size_t i = 0; i < view->len; i++) {
		struct cluster_device *device = &view->devices[i];

		if (!node || strcmp(node->name, device->node) != 0) {
			node = &view->nodes[view->nodes_len++];
			*node = (struct cluster_node){ .name = device->node, .devices = device };
		}
		node->len++;
	}
	for (size_t i = 0; i < view->nodes_len; i++)
		judge_node(&view->nodes[i], made, cluster);
}

void cluster_made_init(struct cluster_made *made, const struct cluster *cluster)
{
	struct cluster_view *view = &made->view;
	size_t max = 0;

	for (int kind = CLUSTER_PCIDEVICE; kind <= CLUSTER_MDEV; kind++)
		max += cluster_count(cluster, (enum cluster_kind)kind);
	*made = (struct cluster_made){ .view.devices = xcalloc(max + 1, sizeof(*view->devices)) };
	add_devices(view, cluster, CLUSTER_PCIDEVICE);
	add_devices(view, cluster, CLUSTER_USBDEVICE);
	add_devices(view, cluster, CLUSTER_MDEV);
	add_lone_claims(view, cluster, CLUSTER_PCICLAIM);
	add_lone_claims(view, cluster, CLUSTER_USBCLAIM);
	for (size_t i = 0; i < view->len; i++) {
		struct cluster_device *device = &view->devices[i];

		cluster_device_add_claim(device, cluster);
		device->others = cluster_is_others(cluster, device->user);
		device->claim_hidden = !device->claim && device->type != DEVICE_MDEV &&
				       cluster_hides_claims(cluster, device->type == DEVICE_USB
									     ? CLUSTER_USBCLAIM
									     : CLUSTER_PCICLAIM);
		device->usb_hidden = strncmp(device->class_id, "0c03", 4) == 0 &&
				     !cluster_lists_claims(cluster, CLUSTER_USBCLAIM);
	}
	qsort(view->devices, view->len, sizeof(*view->devices), compare_devices);
	index_devices(made);
	link_devices(made);
	add_dra(made, cluster);
	for (int kind = CLUSTER_SRIOV; kind <= CLUSTER_MIG; kind++)
		add_cards(made, cluster, (enum cluster_kind)kind);
	divide_by_node(made, cluster);
}

void cluster_made_done(struct cluster_made *made)
{
	free(made->view.devices);
	free(made->view.nodes);
	map_free(made->by_name);
	map_free(made->by_address);
	*made = (struct cluster_made){ 0 };
}

struct cluster_device *cluster_made_named(const struct cluster_made *made, enum device_type type,
					  const char *name)
{
	auto_free char *key = key_of_name(type, name);

	return map_get(made->by_name, key);
}

struct cluster_device *cluster_made_at(const struct cluster_made *made, const char *node,
				       const char *address)
{
	auto_free char *key = key_of_address(node, address);

	return address[0] ? map_get(made->by_address, key) : NULL;
}
