#include "controller/admission/device.h"

#include <string.h>

#include "api/condition.h"
#include "api/json_map.h"
#include "api/meta.h"
#include "api/names.h"
#include "api/pcidevice.h"
#include "api/usbdevice.h"
#include "base/mem.h"
#include "base/str.h"

enum { TEXT_MAX = 1024, MESSAGE_MAX = 240, MEMBERS_MAX = 1024 };

/* --- what is read ------------------------------------------------------------------------------- */

struct read_notes {
	char *native;
};

struct read_meta {
	struct api_meta meta;
	struct read_notes notes;
};

struct read_status {
	char *texts[DEVICE_TEXTS]; /* as the object has them */
	char *class_id;
	int total_vfs;
	struct json_strs members;
	struct pcidevice_allocations allocations;
	struct api_conditions conditions;
};

struct read_device {
	struct read_meta meta;
	struct read_status status;
};

static const struct json_row notes_map[] = {
	JSON_STR(struct read_notes, native, NAMES_ANNOTATION_DRIVER, JSON_OPTIONAL),
	JSON_END,
};

#define S struct read_meta
static const struct json_row meta_map[] = {
	JSON_STR(S, meta.name, "name", JSON_REQUIRED),
	JSON_STR(S, meta.uid, "uid", JSON_OPTIONAL),
	JSON_STR(S, meta.resource_version, "resourceVersion", JSON_OPTIONAL),
	JSON_STRUCT(S, notes, "annotations", JSON_OPTIONAL, struct read_notes, notes_map),
	JSON_END,
};
#undef S

#define S struct read_status
static const struct json_row pci_status_map[] = {
	JSON_STR(S, texts[DEVICE_ADDRESS], "address", JSON_OPTIONAL),
	JSON_STR(S, texts[DEVICE_NODE], "nodeName", JSON_OPTIONAL),
	JSON_STR(S, texts[DEVICE_GROUP], "iommuGroup", JSON_OPTIONAL),
	JSON_STR(S, texts[DEVICE_RESOURCE], "resourceName", JSON_OPTIONAL),
	JSON_STR(S, texts[DEVICE_DRIVER], "kernelDriverInUse", JSON_OPTIONAL),
	JSON_STR(S, texts[DEVICE_PARENT], "physicalFunction", JSON_OPTIONAL),
	JSON_STR(S, class_id, "classId", JSON_OPTIONAL),
	JSON_INT(S, total_vfs, "totalVFs", JSON_OPTIONAL),
	JSON_STRS(S, members, "iommuGroupMembers", JSON_OPTIONAL),
	JSON_LIST(S, allocations, "allocations", JSON_OPTIONAL, struct pcidevice_allocation,
		  pcidevice_allocation_map),
	API_CONDITIONS(S),
	JSON_END,
};

static const struct json_row usb_status_map[] = {
	JSON_STR(S, texts[DEVICE_ADDRESS], "pciAddress", JSON_OPTIONAL),
	JSON_STR(S, texts[DEVICE_NODE], "nodeName", JSON_OPTIONAL),
	JSON_STR(S, texts[DEVICE_RESOURCE], "resourceName", JSON_OPTIONAL),
	JSON_STR(S, texts[DEVICE_PORT], "portPath", JSON_OPTIONAL),
	API_CONDITIONS(S),
	JSON_END,
};
#undef S

#define S struct read_device
static const struct json_row pci_map[] = {
	JSON_STRUCT(S, meta, "metadata", JSON_REQUIRED, struct read_meta, meta_map),
	JSON_STRUCT(S, status, "status", JSON_OPTIONAL, struct read_status, pci_status_map),
	JSON_END,
};

static const struct json_row usb_map[] = {
	JSON_STRUCT(S, meta, "metadata", JSON_REQUIRED, struct read_meta, meta_map),
	JSON_STRUCT(S, status, "status", JSON_OPTIONAL, struct read_status, usb_status_map),
	JSON_END,
};
#undef S

/* --- what is kept ------------------------------------------------------------------------------- */

/* The texts one after the other, each with its end. */
static void put(struct str *out, const char *text, size_t max)
{
	size_t len = text ? strnlen(text, max) : 0;

	if (text)
		str_add_mem(out, text, len);
	str_add_mem(out, "", 1);
}

static void put_refusal(struct str *out, const struct read_status *status, enum device_text text)
{
	const struct api_condition *claimable =
		api_conditions_find(&status->conditions, "Claimable");
	bool refused = claimable && claimable->status && strcmp(claimable->status, "False") == 0;

	if (!refused)
		put(out, NULL, 0);
	else if (text == DEVICE_REASON)
		put(out, claimable->reason ? claimable->reason : "Unknown", TEXT_MAX);
	else
		put(out, claimable->message, MESSAGE_MAX);
}

static void put_pod(struct str *out, const struct pcidevice_allocations *list)
{
	auto_free char *pod = NULL;

	if (list->len > 0)
		pod = xasprintf("%s/%s", list->items[0].namespace ? list->items[0].namespace : "",
				list->items[0].pod ? list->items[0].pod : "");
	put(out, pod, TEXT_MAX);
}

static void put_text(struct str *out, const struct read_device *read, enum device_text text)
{
	const char *native = read->meta.notes.native;

	switch (text) {
	case DEVICE_NATIVE: /* the driver that it had before anybody lent it */
		put(out, native ? native : read->status.texts[DEVICE_DRIVER], TEXT_MAX);
		return;
	case DEVICE_REASON:
	case DEVICE_MESSAGE:
		put_refusal(out, &read->status, text);
		return;
	case DEVICE_POD:
		put_pod(out, &read->status.allocations);
		return;
	case DEVICE_ADDRESS:
	case DEVICE_NODE:
	case DEVICE_GROUP:
	case DEVICE_RESOURCE:
	case DEVICE_DRIVER:
	case DEVICE_PARENT:
	case DEVICE_PORT:
	case DEVICE_TEXTS:
		put(out, read->status.texts[text], TEXT_MAX);
		return;
	}
}

static void *digest(const void *object)
{
	const struct read_device *read = object;
	const struct json_strs *members = &read->status.members;
	struct device head = { .total_vfs = read->status.total_vfs };
	auto_str struct str texts = STR_INIT;
	struct device *device;

	for (int i = 0; i < DEVICE_TEXTS; i++) {
		head.at[i] = (uint16_t)texts.len;
		put_text(&texts, read, (enum device_text)i);
	}
	head.at[DEVICE_TEXTS] = (uint16_t)texts.len;
	for (size_t i = 0; members->len > 1 && i < members->len && i < MEMBERS_MAX; i++) {
		put(&texts, members->items[i], NAMES_ADDRESS_SIZE - 1);
		head.members++;
	}
	head.bridge = read->status.class_id && strcmp(read->status.class_id, "0604") == 0;
	device = xmalloc(sizeof(*device) + texts.len);
	*device = head;
	memcpy(device->texts, texts.buf, texts.len);
	return device;
}

const struct api_kind device_pci_kind = {
	.group = NAMES_GROUP,
	.version = NAMES_VERSION,
	.kind = "PCIDevice",
	.plural = "pcidevices",
	.size = sizeof(struct read_device),
	.map = pci_map,
	.digest = digest,
};

const struct api_kind device_usb_kind = {
	.group = NAMES_GROUP,
	.version = NAMES_VERSION,
	.kind = "USBDevice",
	.plural = "usbdevices",
	.size = sizeof(struct read_device),
	.map = usb_map,
	.digest = digest,
};

const char *device_text(const struct device *device, enum device_text text)
{
	return device->texts + device->at[text];
}

const char *device_member(const struct device *device, size_t i)
{
	const char *at = device->texts + device->at[DEVICE_TEXTS];

	while (i-- > 0)
		at += strlen(at) + 1;
	return at;
}

bool device_has_member(const struct device *device, const char *address)
{
	for (size_t i = 0; i < device->members; i++) {
		if (strcmp(device_member(device, i), address) == 0)
			return true;
	}
	return false;
}
