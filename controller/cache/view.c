#include "controller/cache/view.h"

#include <stdlib.h>
#include <string.h>

#include "api/condition.h"
#include "api/devicepool.h"
#include "api/hostdeviceconfig.h"
#include "api/json_map.h"
#include "api/mediateddevice.h"
#include "api/mediateddeviceparent.h"
#include "api/meta.h"
#include "api/migconfiguration.h"
#include "api/names.h"
#include "api/node.h"
#include "api/offered_resource.h"
#include "api/pcidevice.h"
#include "api/pcideviceclaim.h"
#include "api/sriovgpudevice.h"
#include "api/sriovnetworkdevice.h"
#include "api/usbdevice.h"
#include "api/usbdeviceclaim.h"
#include "api/vgpudevice.h"
#include "api/virtualmachine.h"
#include "base/mem.h"
#include "base/str.h"

/* --- what is decoded to make a view --- */

struct owned_spec {
	char *node_name;
	/* claims */
	char *user;
	bool disable_resource_pooling;
	bool include_iommu_group;
	/* cards and vGPUs */
	char *address;
	char *parent;
	bool enabled;
	int num_vfs;
};

struct owned_status {
	char *node_name;
	char *resource_name;
	char *address;
	char *group;
	char *driver;
	char *parent;
	char *port;
	char *class_id;
	int total_vfs;
	struct json_strs members;
	char *vendor_id; /* of a PCI device */
	char *device_id;
	char *usb_vendor_id;
	char *usb_product_id;
	char *type_name; /* of a mediated device */
	struct pcidevice_allocations allocations;
	struct api_conditions conditions;
};

/* Any object that belongs to a node, with the fields that its kind has. */
struct owned {
	struct api_meta meta;
	struct owned_spec spec;
	struct owned_status status;
};

struct seen_status {
	struct api_conditions conditions;
	struct json_pairs allocatable; /* of a node: resource -> quantity */
};

struct seen_node {
	struct api_meta meta;
	struct seen_status status;
};

struct seen_pod_spec {
	char *node_name;
};

struct seen_pod {
	struct api_meta meta;
	struct seen_pod_spec spec;
	struct seen_status status;
};

enum { TEXT_MAX = 1024, MESSAGE_MAX = 240, MEMBERS_MAX = 1024 };

/* --- strings: encoding --- */

static void text_put(struct str *out, enum view_text text, const char *value, size_t max)
{
	if (!value || !*value)
		return;
	str_add_char(out, (char)text);
	str_add_mem(out, value, strnlen(value, max));
	str_add_mem(out, "", 1);
}

/* Node and resource in full, because they are written to other objects. */
static void put_names(struct str *out, const struct owned *owned)
{
	const char *node =
		owned->status.node_name ? owned->status.node_name : owned->spec.node_name;
	const char *name = api_meta_annotation(&owned->meta, NAMES_ANNOTATION_RESOURCE_NAME);

	text_put(out, VIEW_TEXT_NODE, node, SIZE_MAX);
	if (!node)
		text_put(out, VIEW_TEXT_NODE_LABEL, api_meta_label(&owned->meta, NAMES_LABEL_NODE),
			 SIZE_MAX);
	text_put(out, VIEW_TEXT_RESOURCE, owned->status.resource_name, SIZE_MAX);
	if (name && names_valid_offered_resource(name) && !names_kubevirts_resource(name))
		text_put(out, VIEW_TEXT_OVERRIDE, name, SIZE_MAX);
}

/* The driver before passthrough; omitted if it is the current one. */
static void put_driver(struct str *out, const struct owned *owned)
{
	const char *driver = owned->status.driver;
	const char *native = api_meta_annotation(&owned->meta, NAMES_ANNOTATION_DRIVER);

	text_put(out, VIEW_TEXT_DRIVER, driver, TEXT_MAX);
	if (native && (!driver || strcmp(native, driver) != 0))
		text_put(out, VIEW_TEXT_NATIVE, native, TEXT_MAX);
}

/* A cut text ends in a mark. */
static void put_words(struct str *out, enum view_text text, const char *value)
{
	auto_str struct str words = STR_INIT;

	if (!value)
		return;
	str_add_mem(&words, value, strnlen(value, TEXT_MAX));
	str_cut(&words, MESSAGE_MAX);
	text_put(out, text, str_cstr(&words), MESSAGE_MAX);
}

static void put_refusal(struct str *out, const struct api_conditions *conditions)
{
	const struct api_condition *claimable = api_conditions_find(conditions, "Claimable");

	if (!claimable || !claimable->status || strcmp(claimable->status, "False") != 0)
		return;
	text_put(out, VIEW_TEXT_REASON, claimable->reason ? claimable->reason : "Unknown",
		 TEXT_MAX);
	put_words(out, VIEW_TEXT_MESSAGE, claimable->message);
}

static void put_ids(struct str *out, const char *vendor, const char *device)
{
	auto_free char *ids = NULL;

	if (!vendor || !*vendor || !device || !*device)
		return;
	ids = xasprintf("%s:%s", vendor, device);
	text_put(out, VIEW_TEXT_MODEL, ids, TEXT_MAX);
}

/* The selector for KubeVirt. */
static void put_model(struct str *out, const struct owned_status *status)
{
	put_ids(out, status->vendor_id, status->device_id);
	put_ids(out, status->usb_vendor_id, status->usb_product_id);
	text_put(out, VIEW_TEXT_MODEL, status->type_name, TEXT_MAX);
}

/* One pod at a time uses a device: two cannot open an IOMMU group. */
static void put_pod(struct str *out, const struct pcidevice_allocations *list)
{
	for (size_t i = 0; i < list->len; i++) {
		const struct pcidevice_allocation *one = &list->items[i];
		auto_free char *pod = NULL;

		if (!one->namespace || !one->pod)
			continue;
		pod = xasprintf("%s/%s", one->namespace, one->pod);
		text_put(out, VIEW_TEXT_POD, pod, TEXT_MAX);
		return;
	}
}

static void put_finalizers(struct str *out, const struct api_meta *meta)
{
	auto_str struct str list = STR_INIT;

	for (size_t i = 0; meta->deletion_timestamp && i < meta->finalizers.len; i++)
		str_addf(&list, "%s%s", i ? ", " : "", meta->finalizers.items[i]);
	text_put(out, VIEW_TEXT_FINALIZERS, str_cstr(&list), TEXT_MAX);
}

static void put_members(struct str *out, const struct json_strs *members)
{
	for (size_t i = 0; members->len > 1 && i < members->len && i < MEMBERS_MAX; i++)
		text_put(out, VIEW_TEXT_MEMBER, members->items[i], NAMES_ADDRESS_SIZE - 1);
}

static void put_all(struct str *out, const struct owned *owned)
{
	const struct owned_spec *spec = &owned->spec;
	const struct owned_status *status = &owned->status;

	put_names(out, owned);
	text_put(out, VIEW_TEXT_ADDRESS, status->address ? status->address : spec->address,
		 TEXT_MAX);
	text_put(out, VIEW_TEXT_GROUP, status->group, TEXT_MAX);
	put_driver(out, owned);
	text_put(out, VIEW_TEXT_PARENT, status->parent ? status->parent : spec->parent, TEXT_MAX);
	text_put(out, VIEW_TEXT_CARD, api_meta_label(&owned->meta, NAMES_LABEL_PARENT_GPU),
		 TEXT_MAX);
	text_put(out, VIEW_TEXT_PORT, status->port, TEXT_MAX);
	put_refusal(out, &status->conditions);
	put_model(out, status);
	put_pod(out, &status->allocations);
	text_put(out, VIEW_TEXT_USER, spec->user, TEXT_MAX);
	put_finalizers(out, &owned->meta);
	put_members(out, &status->members);
	str_add_mem(out, "", 1);
}

/* A new view with the strings of @owned, and all else unset. */
static struct view *view_with_texts(const struct owned *owned)
{
	auto_str struct str texts = STR_INIT;
	struct view *view;

	put_all(&texts, owned);
	view = xcalloc(1, sizeof(*view) + texts.len);
	memcpy(view + 1, texts.buf, texts.len);
	return view;
}

/* --- strings: lookup --- */

/* The first string of type @text at or after @at, which points to a type byte; the end if there
 * is none. */
static const char *find_text(const char *at, enum view_text text)
{
	while (*at && *at != (char)text)
		at += strlen(at) + 1;
	return at;
}

static const char *first_text(const struct view *view, enum view_text text)
{
	return find_text((const char *)(view + 1), text);
}

static const char *next_text(const char *at, enum view_text text)
{
	return find_text(at + strlen(at) + 1, text);
}

const char *view_text(const struct view *view, enum view_text text)
{
	const char *at = first_text(view, text);

	if (!*at && text == VIEW_TEXT_NATIVE)
		at = first_text(view, VIEW_TEXT_DRIVER);
	return *at ? at + 1 : at;
}

size_t view_members(const struct view *view)
{
	size_t len = 0;

	for (const char *at = first_text(view, VIEW_TEXT_MEMBER); *at;
	     at = next_text(at, VIEW_TEXT_MEMBER))
		len++;
	return len;
}

const char *view_member(const struct view *view, size_t i)
{
	const char *at = first_text(view, VIEW_TEXT_MEMBER);

	while (*at && i-- > 0)
		at = next_text(at, VIEW_TEXT_MEMBER);
	return *at ? at + 1 : at;
}

bool view_has_member(const struct view *view, const char *address)
{
	for (const char *at = first_text(view, VIEW_TEXT_MEMBER); *at;
	     at = next_text(at, VIEW_TEXT_MEMBER)) {
		if (strcmp(at + 1, address) == 0)
			return true;
	}
	return false;
}

static const unsigned long long hash_start = 0xcbf29ce484222325;

/* Add another string to the hash @h. */
static unsigned long long hash(unsigned long long h, const char *text)
{
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3;
	return h;
}

/* --- objects of a node --- */

/* NULL: none. */
static const char *text_of(const struct view *view, enum view_text text)
{
	const char *value = view_text(view, text);

	return *value ? value : NULL;
}

static uint16_t count_of(int count)
{
	if (count < 0)
		return 0;
	return count > UINT16_MAX ? UINT16_MAX : (uint16_t)count;
}

static void *view_of_owned(const void *object)
{
	const struct owned *owned = object;
	struct view *view = view_with_texts(owned);
	const char *node = text_of(view, VIEW_TEXT_NODE);

	view->node = node ? node : view_text(view, VIEW_TEXT_NODE_LABEL);
	view->deleting = owned->meta.deletion_timestamp != NULL;
	view->enabled = owned->spec.enabled;
	view->vfs = count_of(owned->spec.num_vfs);
	return view;
}

static void *view_of_device(const void *object)
{
	const struct owned *owned = object;
	struct view *view = view_of_owned(owned);

	view->resource = text_of(view, VIEW_TEXT_RESOURCE);
	view->model = text_of(view, VIEW_TEXT_MODEL);
	view->pod = text_of(view, VIEW_TEXT_POD);
	view->allocated = owned->status.allocations.len > 0;
	return view;
}

static void *view_of_pcidevice(const void *object)
{
	const struct owned *owned = object;
	const char *class_id = owned->status.class_id;
	struct view *view = view_of_device(owned);
	const char *override = text_of(view, VIEW_TEXT_OVERRIDE);

	if (override)
		view->resource = override;
	view->fixed = override != NULL;
	view->offered = api_conditions_find(&owned->status.conditions, "Offered") != NULL;
	view->ready = api_conditions_status(&owned->status.conditions, "Offered") == API_TRUE;
	view->bridge = class_id && strcmp(class_id, "0604") == 0;
	view->vfs = count_of(owned->status.total_vfs);
	return view;
}

/* The API server increments the generation with every change of the spec. */
static uint32_t spec_hash_of(const struct api_meta *meta)
{
	auto_free char *generation = xasprintf("%lld", (long long)meta->generation);
	unsigned long long h = hash(hash_start, generation);

	for (size_t i = 0; i < meta->annotations.len; i++) {
		h = hash(h, "\n");
		h = hash(h, meta->annotations.items[i].key);
		h = hash(h, "=");
		h = hash(h, meta->annotations.items[i].value);
	}
	return (uint32_t)(h ^ h >> 32);
}

static struct view *view_of_claim(const struct owned *owned, const char *finalizer)
{
	struct view *view = view_of_owned(owned);
	const struct api_conditions *conditions = &owned->status.conditions;
	const char *lifted = api_meta_annotation(&owned->meta, NAMES_ANNOTATION_OVERRIDE);

	view->resource = text_of(view, VIEW_TEXT_OVERRIDE);
	view->lifted = lifted && strcmp(lifted, "true") == 0;
	view->alone = owned->spec.disable_resource_pooling;
	view->group = owned->spec.include_iommu_group;
	view->skipped = api_meta_annotation(&owned->meta, NAMES_ANNOTATION_SKIP_VFIO) != NULL;
	view->has_finalizer = api_meta_has_finalizer(&owned->meta, finalizer);
	view->ready = api_conditions_status(conditions, "Ready") == API_TRUE;
	view->reach = reach_of_conditions(conditions);
	view->spec_hash = spec_hash_of(&owned->meta);
	return view;
}

static void *view_of_pciclaim(const void *object)
{
	return view_of_claim(object, NAMES_FINALIZER_HARVESTER_PCI);
}

static void *view_of_usbclaim(const void *object)
{
	return view_of_claim(object, NAMES_FINALIZER_HARVESTER_USB);
}

char *view_resource(const char *name, const struct view *device, const struct view *claim)
{
	struct pcidevice pci = { 0 };
	struct pcideviceclaim request = { 0 };
	char *resource;

	if (device->fixed || !claim)
		return xstrdup_or_null(device->resource);
	pci.meta.name = xstrdup(name);
	pci.status.resource_name = xstrdup_or_null(device->resource);
	request.spec.disable_resource_pooling = claim->alone;
	if (claim->resource)
		json_pairs_set(&request.meta.annotations, NAMES_ANNOTATION_RESOURCE_NAME,
			       claim->resource);
	resource = offered_resource(&pci, NULL, &request);
	json_pairs_done(&request.meta.annotations);
	free(pci.status.resource_name);
	free(pci.meta.name);
	return resource;
}

/* --- nodes, their agents, pools --- */

static void *view_of_node(const void *object)
{
	const struct seen_node *node = object;
	const struct json_pairs *offers = &node->status.allocatable;
	auto_str struct str names = STR_INIT;
	struct view_node *view;

	for (size_t i = 0; i < offers->len; i++) {
		if (*offers->items[i].key)
			str_add_mem(&names, offers->items[i].key, strlen(offers->items[i].key) + 1);
	}
	str_add_mem(&names, "", 1);
	view = xcalloc(1, sizeof(*view) + names.len);
	memcpy(view->resources, names.buf, names.len);
	view->ready = api_conditions_status(&node->status.conditions, "Ready") == API_TRUE;
	view->deleting = node->meta.deletion_timestamp != NULL;
	return view;
}

const char *view_node_resource(const struct view_node *node, size_t *at)
{
	const char *name = node->resources + *at;

	if (!*name)
		return NULL;
	*at += strlen(name) + 1;
	return name;
}

static void *view_of_agent(const void *object)
{
	const struct seen_pod *pod = object;
	const char *node = pod->spec.node_name ? pod->spec.node_name : "";
	struct view_agent *view = xcalloc(1, sizeof(*view) + strlen(node) + 1);

	memcpy(view->node, node, strlen(node) + 1);
	view->running = !pod->meta.deletion_timestamp &&
			api_conditions_status(&pod->status.conditions, "Ready") == API_TRUE;
	return view;
}

unsigned long long view_status_hash(const struct devicepool_status *status)
{
	auto_json json_t *json = json_map_encode(devicepool_status_map, status);
	auto_free char *text = json_map_text(json);

	return hash(hash_start, text);
}

static void *view_of_pool(const void *object)
{
	const struct devicepool *pool = object;
	const char *resource = pool->spec.resource_name ? pool->spec.resource_name : "";
	struct view_pool *view = xcalloc(1, sizeof(*view) + strlen(resource) + 1);

	memcpy(view->resource, resource, strlen(resource) + 1);
	view->hash = view_status_hash(&pool->status);
	view->deleting = pool->meta.deletion_timestamp != NULL;
	return view;
}

/* --- rows --- */

#define S struct owned_spec
static const struct json_row claim_spec_map[] = {
	JSON_STR(S, node_name, "nodeName", JSON_OPTIONAL),
	JSON_STR(S, user, "userName", JSON_OPTIONAL),
	JSON_BOOL(S, disable_resource_pooling, "disableResourcePooling", JSON_OPTIONAL),
	JSON_BOOL(S, include_iommu_group, "includeIOMMUGroup", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row card_spec_map[] = {
	JSON_STR(S, node_name, "nodeName", JSON_OPTIONAL),
	JSON_STR(S, address, "address", JSON_OPTIONAL),
	JSON_STR(S, parent, "parentGPUDeviceAddress", JSON_OPTIONAL),
	JSON_BOOL(S, enabled, "enabled", JSON_OPTIONAL),
	JSON_INT(S, num_vfs, "numVFs", JSON_OPTIONAL),
	JSON_END,
};
#undef S

#define S struct owned_status
#define ALLOCATIONS                                                                          \
	JSON_LIST(S, allocations, "allocations", JSON_OPTIONAL, struct pcidevice_allocation, \
		  pcidevice_allocation_map)
static const struct json_row pci_status_map[] = {
	JSON_STR(S, node_name, "nodeName", JSON_OPTIONAL),
	JSON_STR(S, resource_name, "resourceName", JSON_OPTIONAL),
	JSON_STR(S, address, "address", JSON_OPTIONAL),
	JSON_STR(S, group, "iommuGroup", JSON_OPTIONAL),
	JSON_STR(S, driver, "kernelDriverInUse", JSON_OPTIONAL),
	JSON_STR(S, parent, "physicalFunction", JSON_OPTIONAL),
	JSON_STR(S, class_id, "classId", JSON_OPTIONAL),
	JSON_STR(S, vendor_id, "vendorId", JSON_OPTIONAL),
	JSON_STR(S, device_id, "deviceId", JSON_OPTIONAL),
	JSON_INT(S, total_vfs, "totalVFs", JSON_OPTIONAL),
	JSON_STRS(S, members, "iommuGroupMembers", JSON_OPTIONAL),
	ALLOCATIONS,
	API_CONDITIONS(S),
	JSON_END,
};

static const struct json_row usb_status_map[] = {
	JSON_STR(S, node_name, "nodeName", JSON_OPTIONAL),
	JSON_STR(S, resource_name, "resourceName", JSON_OPTIONAL),
	JSON_STR(S, address, "pciAddress", JSON_OPTIONAL),
	JSON_STR(S, port, "portPath", JSON_OPTIONAL),
	JSON_STR(S, usb_vendor_id, "vendorID", JSON_OPTIONAL),
	JSON_STR(S, usb_product_id, "productID", JSON_OPTIONAL),
	ALLOCATIONS,
	API_CONDITIONS(S),
	JSON_END,
};

static const struct json_row mediated_status_map[] = {
	JSON_STR(S, node_name, "nodeName", JSON_OPTIONAL),
	JSON_STR(S, resource_name, "resourceName", JSON_OPTIONAL),
	JSON_STR(S, type_name, "typeName", JSON_OPTIONAL),
	JSON_STR(S, parent, "pciAddress", JSON_OPTIONAL),
	ALLOCATIONS,
	JSON_END,
};

static const struct json_row claim_status_map[] = {
	JSON_STR(S, node_name, "nodeName", JSON_OPTIONAL),
	JSON_STR(S, address, "pciAddress", JSON_OPTIONAL),
	JSON_STR(S, port, "portPath", JSON_OPTIONAL),
	JSON_STR(S, usb_vendor_id, "vendorID", JSON_OPTIONAL),
	JSON_STR(S, usb_product_id, "productID", JSON_OPTIONAL),
	API_CONDITIONS(S),
	JSON_END,
};
#undef ALLOCATIONS
#undef S

#define STATUS(map_) \
	JSON_STRUCT(struct owned, status, "status", JSON_OPTIONAL, struct owned_status, map_)
#define SPEC(map_) JSON_STRUCT(struct owned, spec, "spec", JSON_OPTIONAL, struct owned_spec, map_)
static const struct json_row pci_map[] = {
	API_META(struct owned),
	STATUS(pci_status_map),
	JSON_END,
};

static const struct json_row usb_map[] = {
	API_META(struct owned),
	STATUS(usb_status_map),
	JSON_END,
};

static const struct json_row mediated_map[] = {
	API_META(struct owned),
	STATUS(mediated_status_map),
	JSON_END,
};

static const struct json_row card_map[] = {
	API_META(struct owned),
	SPEC(card_spec_map),
	JSON_END,
};

static const struct json_row claim_map[] = {
	API_META(struct owned),
	SPEC(claim_spec_map),
	STATUS(claim_status_map),
	JSON_END,
};
#undef SPEC
#undef STATUS

static const struct json_row seen_status_map[] = {
	API_CONDITIONS(struct seen_status),
	JSON_END,
};

static const struct json_row node_status_map[] = {
	API_CONDITIONS(struct seen_status),
	JSON_PAIRS(struct seen_status, allocatable, "allocatable", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row seen_node_map[] = {
	API_META(struct seen_node),
	JSON_STRUCT(struct seen_node, status, "status", JSON_OPTIONAL, struct seen_status,
		    node_status_map),
	JSON_END,
};

static const struct json_row seen_pod_spec_map[] = {
	JSON_STR(struct seen_pod_spec, node_name, "nodeName", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row seen_pod_map[] = {
	API_META(struct seen_pod),
	JSON_STRUCT(struct seen_pod, spec, "spec", JSON_OPTIONAL, struct seen_pod_spec,
		    seen_pod_spec_map),
	JSON_STRUCT(struct seen_pod, status, "status", JSON_OPTIONAL, struct seen_status,
		    seen_status_map),
	JSON_END,
};

/* --- kinds --- */

/* clang-format off */
#define OURS(kind_, plural_, map_, digest_)                                                 \
	{ .group = NAMES_GROUP, .version = NAMES_VERSION, .kind = (kind_), .plural = (plural_), \
	  .size = sizeof(struct owned), .map = (map_), .digest = (digest_) }
#define OWN(kind_, plural_, map_, digest_)                                                  \
	{ .group = NAMES_OWN_GROUP, .version = NAMES_OWN_VERSION, .kind = (kind_),          \
	  .plural = (plural_), .size = sizeof(struct owned), .map = (map_), .digest = (digest_) }

static const struct api_kind kinds[VIEW_KINDS] = {
	[VIEW_PCIDEVICE] = OURS("PCIDevice", "pcidevices", pci_map, view_of_pcidevice),
	[VIEW_USBDEVICE] = OURS("USBDevice", "usbdevices", usb_map, view_of_device),
	[VIEW_MEDIATEDDEVICE] = OWN("MediatedDevice", "mediateddevices", mediated_map,
				    view_of_device),
	[VIEW_PARENT] = OWN("MediatedDeviceParent", "mediateddeviceparents", mediated_map,
			     view_of_owned),
	[VIEW_NIC] = OURS("SRIOVNetworkDevice", "sriovnetworkdevices", card_map, view_of_owned),
	[VIEW_GPU] = OURS("SRIOVGPUDevice", "sriovgpudevices", card_map, view_of_owned),
	[VIEW_VGPU] = OURS("VGPUDevice", "vgpudevices", card_map, view_of_owned),
	[VIEW_MIG] = OURS("MigConfiguration", "migconfigurations", card_map, view_of_owned),
	[VIEW_PCICLAIM] = OURS("PCIDeviceClaim", "pcideviceclaims", claim_map, view_of_pciclaim),
	[VIEW_USBCLAIM] = OURS("USBDeviceClaim", "usbdeviceclaims", claim_map, view_of_usbclaim),
	[VIEW_NODE] = { .group = "", .version = "v1", .kind = "Node", .plural = "nodes",
			.size = sizeof(struct seen_node), .map = seen_node_map,
			.digest = view_of_node },
	[VIEW_AGENT] = { .group = "", .version = "v1", .kind = "Pod", .plural = "pods",
			 .ns = NAMES_NAMESPACE, .size = sizeof(struct seen_pod),
			 .map = seen_pod_map, .digest = view_of_agent },
	[VIEW_POOL] = { .group = NAMES_OWN_GROUP, .version = NAMES_OWN_VERSION,
			.kind = "DevicePool", .plural = "devicepools",
			.size = sizeof(struct devicepool), .digest = view_of_pool },
};
/* clang-format on */

static const struct api_kind *const whole[VIEW_KINDS] = {
	[VIEW_PCIDEVICE] = &pcidevice_kind,
	[VIEW_USBDEVICE] = &usbdevice_kind,
	[VIEW_MEDIATEDDEVICE] = &mediateddevice_kind,
	[VIEW_PARENT] = &mediateddeviceparent_kind,
	[VIEW_NIC] = &sriovnetworkdevice_kind,
	[VIEW_GPU] = &sriovgpudevice_kind,
	[VIEW_VGPU] = &vgpudevice_kind,
	[VIEW_MIG] = &migconfiguration_kind,
	[VIEW_PCICLAIM] = &pcideviceclaim_kind,
	[VIEW_USBCLAIM] = &usbdeviceclaim_kind,
	[VIEW_NODE] = &node_kind,
	[VIEW_POOL] = &devicepool_kind,
	[VIEW_CONFIG] = &hostdeviceconfig_kind,
	[VIEW_VM] = &virtualmachine_kind,
};

struct api_kind view_kind(enum view_kind kind)
{
	bool is_whole = kind == VIEW_VM || kind == VIEW_CONFIG;
	struct api_kind copy = is_whole ? *whole[kind] : kinds[kind];

	if (kind == VIEW_POOL)
		copy.map = devicepool_kind.map;
	return copy;
}

const struct api_kind *view_whole(enum view_kind kind)
{
	return whole[kind];
}
