#include "agent/dra/dra_devices.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inventory/facts.h"
#include "agent/inventory/inventory.h"
#include "agent/node/this_node.h"
#include "agent/plugin/device_type.h"
#include "agent/plugin/plugins.h"
#include "api/json_map.h"
#include "api/mediateddevice.h"
#include "api/names.h"
#include "api/pcidevice.h"
#include "api/usbdevice.h"
#include "base/array.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "kube/clock.h"

/* The domain of attributes that Kubernetes defines. An attribute without a domain is in that of our
 * driver. */
#define STANDARD "resource.kubernetes.io/"

struct list {
	struct dra_device *items;
	size_t len, cap;
};

struct dra_devices {
	const struct this_node *node;
	void (*changed)(void *arg);
	void *arg;
	struct clock_timer *timer;    /* runs while `changed` is due */
	struct list lists[DRA_KINDS]; /* each by pool and name */
	bool selected[DRA_KINDS];
	struct map *left_out; /* devices that the log names as left out */
};

static const struct {
	const char *type;  /* the name of its struct device_type; device names begin with it */
	const char *first; /* the end of the first pool's name                               */
} kinds[DRA_KINDS] = {
	[DRA_PCI] = { "pci", "" },
	[DRA_USB] = { "usb", "/usb" },
	[DRA_MDEV] = { "mdev", "/mdev" },
};

static bool find_kind(const struct device_type *type, enum dra_kind *ret_kind)
{
	for (int i = 0; i < DRA_KINDS; i++) {
		if (strcmp(kinds[i].type, type->name) == 0) {
			*ret_kind = (enum dra_kind)i;
			return true;
		}
	}
	return false;
}

/* --- names ------------------------------------------------------------------------------------ */

/* Replace the characters that a DNS label cannot have. Its length and its ends are not checked. */
static void make_dns_label(char *text)
{
	for (char *c = text; *c; c++)
		*c = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '-';
}

/* "@node@rest": a DNS subdomain, or several joined by '/'. */
static char *join(const char *node, const char *rest)
{
	auto_free char *label = NULL;

	if (strlen(node) + strlen(rest) <= NAMES_OBJECT_MAX)
		return xasprintf("%s%s", node, rest);
	label = names_label_value(node);
	make_dns_label(label);
	return xasprintf("%s%s", label, rest);
}

char *dra_pool_name(const char *node, enum dra_kind kind, size_t i)
{
	auto_free char *rest =
		i == 0 ? xstrdup(kinds[kind].first) : xasprintf("/%s-%zu", kinds[kind].type, i + 1);

	return join(node, rest);
}

char *dra_slice_name(const char *node, enum dra_kind kind, size_t i)
{
	auto_free char *rest =
		i == 0 ? xasprintf("-" DRA_DRIVER "-%s", kinds[kind].type)
		       : xasprintf("-" DRA_DRIVER "-%s-%zu", kinds[kind].type, i + 1);

	return join(node, rest);
}

/* --- attributes ------------------------------------------------------------------------------- */

static void put(json_t *attributes, const char *name, const char *type, json_t *value)
{
	json_t *typed = json_object();

	json_put(typed, type, value);
	json_put(attributes, name, typed);
}

/* A text that is empty, or too long for the API, is left out. */
static void put_text(json_t *attributes, const char *name, const char *text)
{
	if (text && *text && strlen(text) <= DRA_ATTRIBUTE_TEXT_MAX)
		put(attributes, name, "string", json_string(text));
}

static void put_int(json_t *attributes, const char *name, int64_t value)
{
	put(attributes, name, "int", json_integer(value));
}

static void put_numa_node(json_t *attributes, int numa_node)
{
	if (numa_node >= 0)
		put_int(attributes, STANDARD "numaNode", numa_node);
}

static void put_group(json_t *attributes, const char *group, size_t size)
{
	uint64_t number = 0;

	if (!str_to_u64(group, &number) || number > INT64_MAX)
		return;
	put_int(attributes, "iommuGroup", (int64_t)number);
	put_int(attributes, "iommuGroupSize", (int64_t)size);
}

/*
 * "pci0000:3b": the root complex, by the name of its folder in /sys/devices. It has the number of
 * the root bus, so of any function directly below it, such as the outermost bridge. A virtual
 * function without a bridge may have another bus number; its physical function counts.
 */
static char *pcie_root(const struct facts *facts, const struct pci_facts *pci)
{
	const struct pci_facts *physical = pci->parents.len == 0 && pci->physical_function
						   ? facts_find_pci(facts, pci->physical_function)
						   : NULL;
	const struct pci_facts *of = physical ? physical : pci;
	const char *outermost = of->parents.len > 0 ? of->parents.items[0] : of->address;
	const char *slot = strrchr(outermost, ':');

	return slot ? xasprintf("pci%.*s", (int)(slot - outermost), outermost) : NULL;
}

static void put_root(json_t *attributes, const struct facts *facts, const char *address)
{
	const struct pci_facts *pci = address ? facts_find_pci(facts, address) : NULL;
	auto_free char *root = pci ? pcie_root(facts, pci) : NULL;

	put_text(attributes, STANDARD "pcieRoot", root);
}

/* A function that is bound on demand keeps its own driver here, so that a Prepare rewrites no
 * slice. */
static const char *driver_of(const struct facts *facts, const struct dra_device *device,
			     const char *now)
{
	for (size_t i = 0; device->on_demand && i < facts->records.len; i++) {
		const struct record_facts *record = &facts->records.items[i];

		if (strcmp(record->address, device->id) == 0 && record->native)
			return record->native;
	}
	return now;
}

static void describe_pci(const struct this_node *node, struct dra_device *device,
			 json_t *attributes)
{
	auto_free char *name = names_pcidevice(node->name, device->id);
	const struct pcidevice *pci = inventory_find(node->inventory, INVENTORY_PCI, name);
	const struct pcidevice_status *is = pci ? &pci->status : NULL;

	if (!is || !str_match(is->address, device->id))
		return;
	put_text(attributes, "type",
		 str_match(is->role, PCIDEVICE_ROLE_VF) ? "vf" : kinds[DRA_PCI].type);
	put_text(attributes, STANDARD "pciBusID", is->address);
	put_root(attributes, node->inventory->facts, is->address);
	put_numa_node(attributes, is->numa_node);
	put_text(attributes, "vendorID", is->vendor_id);
	put_text(attributes, "deviceID", is->device_id);
	put_text(attributes, "subsystemVendorID", is->subsystem_vendor_id);
	put_text(attributes, "subsystemDeviceID", is->subsystem_device_id);
	put_text(attributes, "class", is->class_id);
	put_text(attributes, "driver",
		 driver_of(node->inventory->facts, device, is->kernel_driver_in_use));
	put_text(attributes, "physicalFunction", is->physical_function);
	put_text(attributes, "serial", is->serial_number);
	put_group(attributes, is->iommu_group, is->iommu_group_members.len);
	device->iommu_group = xstrdup_or_null(is->iommu_group);
}

static void describe_usb(const struct this_node *node, struct dra_device *device,
			 json_t *attributes)
{
	const struct inventory_set *set = &node->inventory->sets[INVENTORY_USB];
	const struct usbdevice_status *is = NULL;

	for (size_t i = 0; i < set->len && !is; i++) {
		const struct usbdevice *usb = set->objects[i];

		if (str_match(usb->status.port_path, device->id))
			is = &usb->status;
	}
	put_text(attributes, "type", kinds[DRA_USB].type);
	put_text(attributes, "port", device->id);
	if (!is)
		return;
	put_text(attributes, "vendorID", is->vendor_id);
	put_text(attributes, "productID", is->product_id);
	put_text(attributes, "serial", is->serial_number);
	if (is->speed_mbps > 0)
		put_int(attributes, "speed", is->speed_mbps);
}

static void describe_mdev(const struct this_node *node, struct dra_device *device,
			  json_t *attributes)
{
	const struct inventory_set *set = &node->inventory->sets[INVENTORY_MDEV];
	const struct mediateddevice_status *is = NULL;

	for (size_t i = 0; i < set->len && !is; i++) {
		const struct mediateddevice *mdev = set->objects[i];

		if (str_match(mdev->status.uuid, device->id))
			is = &mdev->status;
	}
	put_text(attributes, "type", kinds[DRA_MDEV].type);
	put_text(attributes, "mdevUUID", device->id);
	if (!is)
		return;
	put_text(attributes, "mdevType", is->type);
	put_text(attributes, "parentPCIBusID", is->pci_address);
	put_root(attributes, node->inventory->facts, is->pci_address);
	put_numa_node(attributes, is->numa_node);
	put_group(attributes, is->iommu_group, 1);
	device->iommu_group = xstrdup_or_null(is->iommu_group);
}

static void describe(const struct this_node *node, struct dra_device *device)
{
	static void (*const describers[DRA_KINDS])(const struct this_node *, struct dra_device *,
						   json_t *) = {
		[DRA_PCI] = describe_pci,
		[DRA_USB] = describe_usb,
		[DRA_MDEV] = describe_mdev,
	};
	auto_json json_t *attributes = json_object();

	put_text(attributes, "resourceName", device->resource);
	if (node->inventory)
		describers[device->kind](node, device, attributes);
	device->attributes = json_map_text(attributes);
}

/* --- the list --------------------------------------------------------------------------------- */

static void device_done(struct dra_device *device)
{
	free(device->resource);
	free(device->id);
	free(device->name);
	free(device->pool);
	free(device->iommu_group);
	free(device->trouble);
	free(device->attributes);
}

static void list_done(struct list *list)
{
	for (size_t i = 0; i < list->len; i++)
		device_done(&list->items[i]);
	array_done(list);
}

static bool is_equal(const struct dra_device *a, const struct dra_device *b)
{
	return strcmp(a->name, b->name) == 0 && strcmp(a->pool, b->pool) == 0 &&
	       strcmp(a->resource, b->resource) == 0 && str_equal(a->trouble, b->trouble) &&
	       a->group_taken == b->group_taken && a->on_demand == b->on_demand &&
	       strcmp(a->attributes, b->attributes) == 0;
}

static bool lists_equal(const struct list *a, const struct list *b)
{
	bool equal = a->len == b->len;

	for (size_t i = 0; equal && i < a->len; i++)
		equal = is_equal(&a->items[i], &b->items[i]);
	return equal;
}

static int by_name(const void *a, const void *b)
{
	const struct dra_device *x = a;
	const struct dra_device *y = b;

	return strcmp(x->name, y->name);
}

static int by_pool(const void *a, const void *b)
{
	const struct dra_device *x = a;
	const struct dra_device *y = b;
	int order = strcmp(x->pool, y->pool);

	return order ? order : strcmp(x->name, y->name);
}

static const struct dra_device *find(const struct list *list, const char *name)
{
	for (size_t i = 0; i < list->len; i++) {
		if (strcmp(list->items[i].name, name) == 0)
			return &list->items[i];
	}
	return NULL;
}

/* Log each device only once while the agent runs. */
static void log_left_out(struct dra_devices *devices, const char *id, const char *why)
{
	static char seen[] = "";

	if (map_get(devices->left_out, id))
		return;
	map_set(devices->left_out, id, seen);
	log_warn("device cannot be offered by DRA", log_str("device", id), log_str("reason", why));
}

static size_t len_of_pool(const struct list *list, const char *pool)
{
	size_t len = 0;

	for (size_t i = 0; i < list->len; i++)
		len += list->items[i].pool && strcmp(list->items[i].pool, pool) == 0;
	return len;
}

/* The name of a pool of @kind that is not full; NULL: all are. The caller frees. */
static char *pool_with_room(const struct dra_devices *devices, const struct list *list,
			    enum dra_kind kind)
{
	for (size_t i = 0; i < DRA_POOLS_MAX; i++) {
		char *pool = dra_pool_name(devices->node->name, kind, i);

		if (len_of_pool(list, pool) < DRA_POOL_MAX)
			return pool;
		free(pool);
	}
	return NULL;
}

/* A device keeps its pool. The allocation of a claim names the pool, so in another pool the
 * scheduler would take the device for a free one. */
static void put_into_pools(struct dra_devices *devices, enum dra_kind kind, struct list *list)
{
	size_t kept = 0;

	for (size_t i = 0; i < list->len; i++) {
		const struct dra_device *before = find(&devices->lists[kind], list->items[i].name);

		if (before)
			list->items[i].pool = xstrdup(before->pool);
	}
	for (size_t i = 0; i < list->len; i++) {
		struct dra_device *device = &list->items[i];

		if (!device->pool)
			device->pool = pool_with_room(devices, list, kind);
		if (!device->pool)
			log_left_out(devices, device->id, "the pools of its kind are full");
	}
	for (size_t i = 0; i < list->len; i++) {
		if (list->items[i].pool)
			list->items[kept++] = list->items[i];
		else
			device_done(&list->items[i]);
	}
	list->len = kept;
}

/* @like has the members that all devices of the type share. */
static void add(struct dra_devices *devices, struct list *list, const struct dra_device *like,
		const char *resource, const struct plugin_device *device)
{
	auto_free char *name = names_dra_device(kinds[like->kind].type, device->id);
	struct dra_device *added;

	if (!name || find(list, name)) {
		log_left_out(devices, device->id,
			     name ? "another device has the same name in DRA"
				  : "its ID does not make a DNS label");
		return;
	}
	added = array_add(list);
	*added = *like;
	added->resource = xstrdup(resource);
	added->id = xstrdup(device->id);
	added->name = take_ptr(name);
	added->on_demand = device->on_demand;
	added->group_taken = device->group_taken;
	if (!device->healthy)
		added->trouble = xstrdup(device->trouble ? device->trouble : "it is not healthy");
	describe(devices->node, added);
}

static void sort(struct list *list, int (*compare)(const void *a, const void *b))
{
	if (list->len > 0)
		qsort(list->items, list->len, sizeof(*list->items), compare);
}

static void on_timer(void *arg)
{
	struct dra_devices *devices = arg;

	devices->changed(devices->arg);
}

void dra_devices_set(struct dra_devices *devices, const struct device_type *type, void *type_arg,
		     const struct plugin_resource *resources, size_t len)
{
	struct dra_device like = { .type = type, .type_arg = type_arg };
	struct list list = { 0 };
	struct list *now;
	bool equal;

	if (!find_kind(type, &like.kind)) {
		for (size_t i = 0; i < len; i++)
			log_left_out(devices, resources[i].name, "DRA offers no such devices");
		return;
	}
	for (size_t i = 0; i < len; i++) {
		for (size_t k = 0; k < resources[i].ndevices; k++)
			add(devices, &list, &like, resources[i].name, &resources[i].devices[k]);
	}
	sort(&list, by_name);
	put_into_pools(devices, like.kind, &list);
	sort(&list, by_pool);
	now = &devices->lists[like.kind];
	equal = lists_equal(&list, now);
	list_done(now);
	*now = list;
	if (!equal)
		clock_timer_start(devices->node->clock, devices->timer, 0);
}

void dra_devices_select(struct dra_devices *devices, const bool selected[DRA_KINDS])
{
	if (memcmp(devices->selected, selected, sizeof(devices->selected)) == 0)
		return;
	memcpy(devices->selected, selected, sizeof(devices->selected));
	clock_timer_start(devices->node->clock, devices->timer, 0);
}

bool dra_devices_selects(const struct dra_devices *devices, enum dra_kind kind)
{
	return devices->selected[kind];
}

const struct dra_device *dra_devices_find(const struct dra_devices *devices, const char *name)
{
	const struct dra_device *device = NULL;

	for (int kind = 0; kind < DRA_KINDS && !device; kind++)
		device = find(&devices->lists[kind], name);
	return device;
}

size_t dra_devices_len(const struct dra_devices *devices)
{
	size_t len = 0;

	for (int kind = 0; kind < DRA_KINDS; kind++)
		len += devices->lists[kind].len;
	return len;
}

const struct dra_device *dra_devices_at(const struct dra_devices *devices, size_t i)
{
	int kind = 0;

	while (i >= devices->lists[kind].len)
		i -= devices->lists[kind++].len;
	return &devices->lists[kind].items[i];
}

/* --- life ------------------------------------------------------------------------------------- */

struct dra_devices *dra_devices_new(const struct this_node *node, void (*changed)(void *arg),
				    void *arg)
{
	struct dra_devices *devices = xcalloc(1, sizeof(*devices));

	devices->node = node;
	devices->changed = changed;
	devices->arg = arg;
	devices->left_out = map_new();
	devices->timer = clock_timer_new(node->clock, on_timer, devices);
	return devices;
}

struct dra_devices *dra_devices_free(struct dra_devices *devices)
{
	if (!devices)
		return NULL;
	clock_timer_free(devices->node->clock, devices->timer);
	for (int kind = 0; kind < DRA_KINDS; kind++)
		list_done(&devices->lists[kind]);
	map_free(devices->left_out);
	free(devices);
	return NULL;
}
