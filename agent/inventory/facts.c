#include "agent/inventory/facts.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"

static const struct json_row pci_map[] = {
	JSON_STR(struct pci_facts, address, "address", JSON_REQUIRED),
	JSON_STR(struct pci_facts, vendor, "vendor", JSON_OPTIONAL),
	JSON_STR(struct pci_facts, device, "device", JSON_OPTIONAL),
	JSON_STR(struct pci_facts, class_code, "class", JSON_OPTIONAL),
	JSON_STR(struct pci_facts, subsystem_vendor, "subsystemVendor", JSON_OPTIONAL),
	JSON_STR(struct pci_facts, subsystem_device, "subsystemDevice", JSON_OPTIONAL),
	JSON_STR(struct pci_facts, revision, "revision", JSON_OPTIONAL),
	JSON_STR(struct pci_facts, driver, "driver", JSON_OPTIONAL),
	JSON_STR(struct pci_facts, iommu_group, "iommuGroup", JSON_OPTIONAL),
	JSON_INT_OR(struct pci_facts, numa_node, "numaNode", JSON_OPTIONAL, -1),
	JSON_STR(struct pci_facts, role, "role", JSON_OPTIONAL),
	JSON_STR(struct pci_facts, physical_function, "physicalFunction", JSON_OPTIONAL),
	JSON_INT(struct pci_facts, total_vfs, "totalVFs", JSON_OPTIONAL),
	JSON_INT(struct pci_facts, num_vfs, "numVFs", JSON_OPTIONAL),
	JSON_STR(struct pci_facts, interface, "interface", JSON_OPTIONAL),
	JSON_STR(struct pci_facts, vf_device, "vfDevice", JSON_OPTIONAL),
	JSON_STRS(struct pci_facts, virtual_functions, "virtualFunctions", JSON_OPTIONAL),
	JSON_STR(struct pci_facts, serial, "serial", JSON_OPTIONAL),
	JSON_STR(struct pci_facts, identity, "identity", JSON_OPTIONAL),
	JSON_STRS(struct pci_facts, reset_methods, "resetMethods", JSON_OPTIONAL),
	JSON_BOOL(struct pci_facts, boot_vga, "bootVGA", JSON_OPTIONAL),
	JSON_STRS(struct pci_facts, parents, "parents", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row usb_interface_map[] = {
	JSON_STR(struct usb_interface_facts, class_code, "class", JSON_OPTIONAL),
	JSON_STR(struct usb_interface_facts, subclass, "subclass", JSON_OPTIONAL),
	JSON_STR(struct usb_interface_facts, protocol, "protocol", JSON_OPTIONAL),
	JSON_STR(struct usb_interface_facts, driver, "driver", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row usb_map[] = {
	JSON_STR(struct usb_facts, port, "name", JSON_REQUIRED),
	JSON_INT(struct usb_facts, bus, "bus", JSON_OPTIONAL),
	JSON_INT(struct usb_facts, device, "device", JSON_OPTIONAL),
	JSON_STR(struct usb_facts, vendor, "vendor", JSON_OPTIONAL),
	JSON_STR(struct usb_facts, product, "product", JSON_OPTIONAL),
	JSON_STR(struct usb_facts, class_code, "class", JSON_OPTIONAL),
	JSON_INT(struct usb_facts, speed_mbps, "speed", JSON_OPTIONAL),
	JSON_STR(struct usb_facts, manufacturer, "manufacturer", JSON_OPTIONAL),
	JSON_STR(struct usb_facts, product_name, "productName", JSON_OPTIONAL),
	JSON_STR(struct usb_facts, serial, "serial", JSON_OPTIONAL),
	JSON_BOOL(struct usb_facts, hub, "hub", JSON_OPTIONAL),
	JSON_STR(struct usb_facts, pci_address, "pciAddress", JSON_OPTIONAL),
	JSON_LIST(struct usb_facts, interfaces, "interfaces", JSON_OPTIONAL,
		  struct usb_interface_facts, usb_interface_map),
	JSON_END,
};

static const struct json_row use_map[] = {
	JSON_STR(struct use_facts, pci, "pci", JSON_OPTIONAL),
	JSON_STR(struct use_facts, usb, "usb", JSON_OPTIONAL),
	JSON_STR(struct use_facts, reason, "reason", JSON_REQUIRED),
	JSON_STR(struct use_facts, detail, "detail", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row unknown_map[] = {
	JSON_STR(struct unknown_facts, question, "question", JSON_REQUIRED),
	JSON_BOOL(struct unknown_facts, unread, "unread", JSON_OPTIONAL),
	JSON_STRS(struct unknown_facts, pci_classes, "pciClasses", JSON_OPTIONAL),
	JSON_STRS(struct unknown_facts, usb_classes, "usbClasses", JSON_OPTIONAL),
	JSON_STR(struct unknown_facts, detail, "detail", JSON_REQUIRED),
	JSON_END,
};

static const struct json_row problem_map[] = {
	JSON_STR(struct problem_facts, device, "device", JSON_OPTIONAL),
	JSON_STR(struct problem_facts, attribute, "attribute", JSON_OPTIONAL),
	JSON_STR(struct problem_facts, message, "message", JSON_REQUIRED),
	JSON_END,
};

static const struct json_row record_map[] = {
	JSON_STR(struct record_facts, address, "address", JSON_REQUIRED),
	JSON_STR(struct record_facts, claim, "claim", JSON_OPTIONAL),
	JSON_STR(struct record_facts, uid, "uid", JSON_OPTIONAL),
	JSON_STR(struct record_facts, driver, "driver", JSON_OPTIONAL),
	JSON_STR(struct record_facts, native, "native", JSON_OPTIONAL),
	JSON_STR(struct record_facts, id, "id", JSON_OPTIONAL),
	JSON_STR(struct record_facts, serial, "serial", JSON_OPTIONAL),
	JSON_STR(struct record_facts, identity, "identity", JSON_OPTIONAL),
	JSON_STR(struct record_facts, boot, "boot", JSON_OPTIONAL),
	JSON_STR(struct record_facts, bound, "bound", JSON_OPTIONAL),
	JSON_BOOL(struct record_facts, this_boot, "thisBoot", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row mdev_type_map[] = {
	JSON_STR(struct mdev_type_facts, id, "id", JSON_REQUIRED),
	JSON_STR(struct mdev_type_facts, name, "name", JSON_OPTIONAL),
	JSON_STR(struct mdev_type_facts, description, "description", JSON_OPTIONAL),
	JSON_STR(struct mdev_type_facts, device_api, "deviceAPI", JSON_OPTIONAL),
	JSON_INT_OR(struct mdev_type_facts, available, "available", JSON_OPTIONAL, -1),
	JSON_END,
};

static const struct json_row mdev_parent_map[] = {
	JSON_STR(struct mdev_parent_facts, name, "name", JSON_REQUIRED),
	JSON_STR(struct mdev_parent_facts, pci_address, "pciAddress", JSON_OPTIONAL),
	JSON_INT_OR(struct mdev_parent_facts, numa_node, "numaNode", JSON_OPTIONAL, -1),
	JSON_LIST(struct mdev_parent_facts, types, "types", JSON_OPTIONAL, struct mdev_type_facts,
		  mdev_type_map),
	JSON_END,
};

static const struct json_row mdev_map[] = {
	JSON_STR(struct mdev_facts, uuid, "uuid", JSON_REQUIRED),
	JSON_STR(struct mdev_facts, parent, "parent", JSON_REQUIRED),
	JSON_STR(struct mdev_facts, pci_address, "pciAddress", JSON_OPTIONAL),
	JSON_INT_OR(struct mdev_facts, numa_node, "numaNode", JSON_OPTIONAL, -1),
	JSON_STR(struct mdev_facts, type, "type", JSON_OPTIONAL),
	JSON_STR(struct mdev_facts, type_name, "typeName", JSON_OPTIONAL),
	JSON_STR(struct mdev_facts, device_api, "deviceAPI", JSON_OPTIONAL),
	JSON_STR(struct mdev_facts, iommu_group, "iommuGroup", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row mdev_record_map[] = {
	JSON_STR(struct mdev_record_facts, uuid, "uuid", JSON_REQUIRED),
	JSON_STR(struct mdev_record_facts, parent, "parent", JSON_REQUIRED),
	JSON_STR(struct mdev_record_facts, type, "type", JSON_REQUIRED),
	JSON_STR(struct mdev_record_facts, owner, "owner", JSON_REQUIRED),
	JSON_BOOL(struct mdev_record_facts, this_boot, "thisBoot", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row vgpu_map[] = {
	JSON_STR(struct vgpu_facts, address, "address", JSON_REQUIRED),
	JSON_STR(struct vgpu_facts, current, "current", JSON_OPTIONAL),
	JSON_STRS(struct vgpu_facts, creatable, "creatable", JSON_OPTIONAL),
	JSON_END,
};

static const struct json_row drm_map[] = {
	JSON_STR(struct drm_facts, name, "name", JSON_REQUIRED),
	JSON_STR(struct drm_facts, pci_address, "pciAddress", JSON_REQUIRED),
	JSON_STR(struct drm_facts, driver, "driver", JSON_REQUIRED),
	JSON_INT_OR(struct drm_facts, card, "card", JSON_OPTIONAL, -1),
	JSON_INT_OR(struct drm_facts, render, "render", JSON_OPTIONAL, -1),
	JSON_STR(struct drm_facts, compute, "compute", JSON_OPTIONAL),
	JSON_STR(struct drm_facts, memory, "memory", JSON_OPTIONAL),
	JSON_STR(struct drm_facts, hive, "hive", JSON_OPTIONAL),
	JSON_END,
};

/* Fill the item that was just appended to a list of *@len; one that cannot be filled goes again. */
static int fill(const struct json_row *map, json_t *line, void *item, size_t *len, struct err *err)
{
	int r = json_map_decode(map, line, item, err);

	if (r < 0)
		(*len)--;
	return r;
}

static int add_pci(struct facts *facts, json_t *line, struct err *err)
{
	return fill(pci_map, line, array_add(&facts->pci), &facts->pci.len, err);
}

static int add_usb(struct facts *facts, json_t *line, struct err *err)
{
	return fill(usb_map, line, array_add(&facts->usb), &facts->usb.len, err);
}

static int add_use(struct facts *facts, json_t *line, struct err *err)
{
	return fill(use_map, line, array_add(&facts->uses), &facts->uses.len, err);
}

static int add_unknown(struct facts *facts, json_t *line, struct err *err)
{
	return fill(unknown_map, line, array_add(&facts->unknowns), &facts->unknowns.len, err);
}

/* Empty text decodes to NULL everywhere else; here the two are different: no driver, not known. */
static int add_record(struct facts *facts, json_t *line, struct err *err)
{
	struct record_facts *record = array_add(&facts->records);
	int r = fill(record_map, line, record, &facts->records.len, err);

	if (r == 0 && !record->native && json_is_string(json_object_get(line, "native")))
		record->native = xstrdup("");
	return r;
}

static int add_autoprobe(struct facts *facts, json_t *line, struct err *err)
{
	const char *address = json_string_value(json_object_get(line, "address"));

	if (!address)
		return err_set(err, ERR_INVALID, -EINVAL, "address: expected a string");
	json_strs_add(&facts->autoprobes, address);
	return 0;
}

static int add_mdev_parent(struct facts *facts, json_t *line, struct err *err)
{
	return fill(mdev_parent_map, line, array_add(&facts->mdev_parents),
		    &facts->mdev_parents.len, err);
}

static int add_mdev(struct facts *facts, json_t *line, struct err *err)
{
	return fill(mdev_map, line, array_add(&facts->mdevs), &facts->mdevs.len, err);
}

static int add_mdev_record(struct facts *facts, json_t *line, struct err *err)
{
	return fill(mdev_record_map, line, array_add(&facts->mdev_records),
		    &facts->mdev_records.len, err);
}

static int add_vgpu(struct facts *facts, json_t *line, struct err *err)
{
	return fill(vgpu_map, line, array_add(&facts->vgpus), &facts->vgpus.len, err);
}

static int add_drm(struct facts *facts, json_t *line, struct err *err)
{
	return fill(drm_map, line, array_add(&facts->drms), &facts->drms.len, err);
}

static int add_problem(struct facts *facts, json_t *line, struct err *err)
{
	return fill(problem_map, line, array_add(&facts->problems), &facts->problems.len, err);
}

static int add_host(struct facts *facts, json_t *line, struct err *err)
{
	(void)err;
	facts->iommu = json_is_true(json_object_get(line, "iommu"));
	return 0;
}

/* The helper counts its lines, so that a lost line does not look like a removed device. */
static int add_end(struct facts *facts, json_t *line, struct err *err)
{
	const json_t *pci = json_object_get(line, "pci");
	const json_t *usb = json_object_get(line, "usb");

	if (pci && json_integer_value(pci) != (json_int_t)facts->pci.len)
		return err_set(err, ERR_INVALID, -EBADMSG, "it counts %lld PCI functions, not %zu",
			       (long long)json_integer_value(pci), facts->pci.len);
	if (usb && json_integer_value(usb) != (json_int_t)facts->usb.len)
		return err_set(err, ERR_INVALID, -EBADMSG, "it counts %lld USB devices, not %zu",
			       (long long)json_integer_value(usb), facts->usb.len);
	facts->complete = true;
	return 0;
}

static int add_failed(struct facts *facts, json_t *line, struct err *err)
{
	const char *message = json_string_value(json_object_get(line, "message"));

	(void)facts;
	return err_set(err, ERR_RETRY, -EIO, "%s", message ? message : "it does not say why");
}

static const struct {
	const char *kind;
	int (*add)(struct facts *facts, json_t *line, struct err *err);
} line_kinds[] = {
	{ "pci", add_pci },
	{ "usb", add_usb },
	{ "use", add_use },
	{ "unknown", add_unknown },
	{ "record", add_record },
	{ "autoprobe", add_autoprobe },
	{ "problem", add_problem },
	{ "host", add_host },
	{ "mdev", add_mdev },
	{ "mdevParent", add_mdev_parent },
	{ "mdevRecord", add_mdev_record },
	{ "vgpu", add_vgpu },
	{ "drm", add_drm },
	{ "end", add_end },
	{ "failed", add_failed },
};

struct facts *facts_new(void)
{
	return xcalloc(1, sizeof(struct facts));
}

const struct pci_facts *facts_find_pci(const struct facts *facts, const char *address)
{
	for (size_t i = 0; i < facts->pci.len; i++) {
		if (strcmp(facts->pci.items[i].address, address) == 0)
			return &facts->pci.items[i];
	}
	return NULL;
}

struct facts *facts_free(struct facts *facts)
{
	if (!facts)
		return NULL;
	for (size_t i = 0; i < facts->pci.len; i++)
		json_map_done(pci_map, &facts->pci.items[i]);
	for (size_t i = 0; i < facts->usb.len; i++)
		json_map_done(usb_map, &facts->usb.items[i]);
	for (size_t i = 0; i < facts->uses.len; i++)
		json_map_done(use_map, &facts->uses.items[i]);
	for (size_t i = 0; i < facts->unknowns.len; i++)
		json_map_done(unknown_map, &facts->unknowns.items[i]);
	for (size_t i = 0; i < facts->problems.len; i++)
		json_map_done(problem_map, &facts->problems.items[i]);
	for (size_t i = 0; i < facts->records.len; i++)
		json_map_done(record_map, &facts->records.items[i]);
	for (size_t i = 0; i < facts->mdev_parents.len; i++)
		json_map_done(mdev_parent_map, &facts->mdev_parents.items[i]);
	for (size_t i = 0; i < facts->mdevs.len; i++)
		json_map_done(mdev_map, &facts->mdevs.items[i]);
	for (size_t i = 0; i < facts->mdev_records.len; i++)
		json_map_done(mdev_record_map, &facts->mdev_records.items[i]);
	for (size_t i = 0; i < facts->vgpus.len; i++)
		json_map_done(vgpu_map, &facts->vgpus.items[i]);
	for (size_t i = 0; i < facts->drms.len; i++)
		json_map_done(drm_map, &facts->drms.items[i]);
	array_done(&facts->pci);
	array_done(&facts->usb);
	array_done(&facts->uses);
	array_done(&facts->unknowns);
	array_done(&facts->problems);
	array_done(&facts->records);
	array_done(&facts->mdev_parents);
	array_done(&facts->mdevs);
	array_done(&facts->mdev_records);
	array_done(&facts->vgpus);
	array_done(&facts->drms);
	json_strs_done(&facts->autoprobes);
	free(facts);
	return NULL;
}

static size_t count_items(const struct facts *facts)
{
	return facts->pci.len + facts->usb.len + facts->uses.len + facts->unknowns.len +
	       facts->problems.len + facts->records.len + facts->mdev_parents.len +
	       facts->mdevs.len + facts->mdev_records.len + facts->vgpus.len + facts->drms.len +
	       facts->autoprobes.len;
}

int facts_add_line(struct facts *facts, const char *line, size_t len, struct err *err)
{
	auto_json json_t *json = NULL;
	const char *kind;
	int r = json_map_load(line, len, &json, err);

	if (r < 0)
		return err_wrap(err, "line of the helper");
	kind = json_string_value(json_object_get(json, "kind"));
	if (!kind)
		return err_set(err, ERR_INVALID, -EINVAL, "line of the helper: no kind in it");
	if (count_items(facts) >= FACTS_MAX)
		return err_set(err, ERR_INVALID, -EMSGSIZE, "more than %d lines of the helper",
			       FACTS_MAX);
	for (size_t i = 0; i < ARRAY_LEN(line_kinds); i++) {
		if (strcmp(line_kinds[i].kind, kind) != 0)
			continue;
		r = line_kinds[i].add(facts, json, err);
		return r < 0 ? err_wrap(err, "%s line of the helper", kind) : 0;
	}
	return 0;
}
