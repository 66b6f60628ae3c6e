#include "agent/facts.h"

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
	JSON_STR(struct pci_facts, serial, "serial", JSON_OPTIONAL),
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

static const struct json_row problem_map[] = {
	JSON_STR(struct problem_facts, device, "device", JSON_OPTIONAL),
	JSON_STR(struct problem_facts, attribute, "attribute", JSON_OPTIONAL),
	JSON_STR(struct problem_facts, message, "message", JSON_REQUIRED),
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

static int add_end(struct facts *facts, json_t *line, struct err *err)
{
	(void)line;
	(void)err;
	facts->complete = true;
	return 0;
}

static const struct {
	const char *kind;
	int (*add)(struct facts *facts, json_t *line, struct err *err);
} line_kinds[] = {
	{ "pci", add_pci },         { "usb", add_usb },   { "use", add_use },
	{ "problem", add_problem }, { "host", add_host }, { "end", add_end },
};

struct facts *facts_new(void)
{
	return xcalloc(1, sizeof(struct facts));
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
	for (size_t i = 0; i < facts->problems.len; i++)
		json_map_done(problem_map, &facts->problems.items[i]);
	array_done(&facts->pci);
	array_done(&facts->usb);
	array_done(&facts->uses);
	array_done(&facts->problems);
	free(facts);
	return NULL;
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
	if (facts->pci.len + facts->usb.len + facts->uses.len + facts->problems.len >= FACTS_MAX)
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
