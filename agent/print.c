#include "agent/print.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/inventory/inventory.h"
#include "agent/publish/publish_plan.h"
#include "api/json_map.h"
#include "api/mediateddevice.h"
#include "api/mediateddeviceparent.h"
#include "api/pcidevice.h"
#include "api/usbdevice.h"
#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/yaml.h"
#include "text/out.h"
#include "text/table.h"

struct column {
	struct table_column look;
	/* The text of the cell, for the caller to free. */
	char *(*cell)(const void *object);
};

static char *text_or_empty(const char *text)
{
	return xstrdup(text ? text : "");
}

/* "8086:10d3"; empty without both halves. */
static char *id_text(const char *first, const char *second)
{
	return first && second ? xasprintf("%s:%s", first, second) : xstrdup("");
}

static char *cell_name(const void *object)
{
	return xstrdup(((const struct api_meta *)object)->name);
}

static const struct api_condition *claimable(const struct api_conditions *conditions)
{
	static const struct api_condition none = { 0 };
	const struct api_condition *c = api_conditions_find(conditions, "Claimable");

	return c ? c : &none;
}

static const struct pcidevice_status *pci_of(const void *object)
{
	return &((const struct pcidevice *)object)->status;
}

static char *pci_address(const void *object)
{
	return text_or_empty(pci_of(object)->address);
}

static char *pci_id(const void *object)
{
	return id_text(pci_of(object)->vendor_id, pci_of(object)->device_id);
}

static char *pci_driver(const void *object)
{
	return text_or_empty(pci_of(object)->kernel_driver_in_use);
}

static char *pci_claimable(const void *object)
{
	return text_or_empty(claimable(&pci_of(object)->conditions)->status);
}

static char *pci_reason(const void *object)
{
	return text_or_empty(claimable(&pci_of(object)->conditions)->reason);
}

static char *pci_message(const void *object)
{
	return text_or_empty(claimable(&pci_of(object)->conditions)->message);
}

static char *pci_description(const void *object)
{
	return text_or_empty(pci_of(object)->description);
}

static char *pci_group(const void *object)
{
	return text_or_empty(pci_of(object)->iommu_group);
}

static char *pci_numa(const void *object)
{
	int node = pci_of(object)->numa_node;

	return node < 0 ? xstrdup("") : xasprintf("%d", node);
}

static char *pci_role(const void *object)
{
	return text_or_empty(pci_of(object)->role);
}

static char *pci_resource(const void *object)
{
	return text_or_empty(pci_of(object)->resource_name);
}

static const struct usbdevice_status *usb_of(const void *object)
{
	return &((const struct usbdevice *)object)->status;
}

static char *usb_port(const void *object)
{
	return text_or_empty(usb_of(object)->port_path);
}

static char *usb_id(const void *object)
{
	return id_text(usb_of(object)->vendor_id, usb_of(object)->product_id);
}

static char *usb_serial(const void *object)
{
	return text_or_empty(usb_of(object)->serial_number);
}

static char *usb_claimable(const void *object)
{
	return text_or_empty(claimable(&usb_of(object)->conditions)->status);
}

static char *usb_reason(const void *object)
{
	return text_or_empty(claimable(&usb_of(object)->conditions)->reason);
}

static char *usb_description(const void *object)
{
	return text_or_empty(usb_of(object)->description);
}

static char *usb_holder(const void *object)
{
	return text_or_empty(usb_of(object)->holder);
}

static char *usb_path(const void *object)
{
	return text_or_empty(usb_of(object)->device_path);
}

static char *usb_speed(const void *object)
{
	int speed = usb_of(object)->speed_mbps;

	return speed > 0 ? xasprintf("%dM", speed) : xstrdup("");
}

static const struct column pci_columns[] = {
	{ { .title = "NAME" }, cell_name },
	{ { .title = "ADDRESS" }, pci_address },
	{ { .title = "ID", .spare = 1 }, pci_id },
	{ { .title = "DRIVER" }, pci_driver },
	{ { .title = "CLAIMABLE", .spare = 2 }, pci_claimable },
	{ { .title = "REASON" }, pci_reason },
	{ { .title = "IOMMU", .wide = true }, pci_group },
	{ { .title = "NUMA", .wide = true }, pci_numa },
	{ { .title = "ROLE", .wide = true }, pci_role },
	{ { .title = "RESOURCE NAME", .wide = true }, pci_resource },
	{ { .title = "DESCRIPTION", .least = 32, .final = 11, .spare = 3 }, pci_description },
	{ { .title = "MESSAGE", .wide = true }, pci_message },
};

static const struct column usb_columns[] = {
	{ { .title = "NAME" }, cell_name },
	{ { .title = "PORT" }, usb_port },
	{ { .title = "ID", .spare = 1 }, usb_id },
	{ { .title = "SERIAL", .least = 8 }, usb_serial },
	{ { .title = "CLAIMABLE", .spare = 2 }, usb_claimable },
	{ { .title = "REASON" }, usb_reason },
	{ { .title = "SPEED", .wide = true }, usb_speed },
	{ { .title = "PATH", .wide = true }, usb_path },
	{ { .title = "HOLDER", .wide = true }, usb_holder },
	{ { .title = "DESCRIPTION", .least = 32, .final = 11, .spare = 3 }, usb_description },
};

static const struct mediateddevice_status *mdev_of(const void *object)
{
	const struct mediateddevice *mdev = object;

	return &mdev->status;
}

static char *mdev_parent(const void *object)
{
	return text_or_empty(mdev_of(object)->parent);
}

static char *mdev_type(const void *object)
{
	return text_or_empty(mdev_of(object)->type_name);
}

static char *mdev_uuid(const void *object)
{
	return text_or_empty(mdev_of(object)->uuid);
}

static char *mdev_group(const void *object)
{
	return text_or_empty(mdev_of(object)->iommu_group);
}

static char *mdev_ours(const void *object)
{
	return xstrdup(mdev_of(object)->created_by_hostdev ? "true" : "false");
}

static const struct mediateddeviceparent_status *parent_of(const void *object)
{
	const struct mediateddeviceparent *parent = object;

	return &parent->status;
}

static char *parent_name(const void *object)
{
	return text_or_empty(parent_of(object)->parent);
}

static char *parent_instances(const void *object)
{
	return xasprintf("%d", parent_of(object)->instances);
}

/* "nvidia-222 (16 more), ..." */
static char *parent_types(const void *object)
{
	const struct mediateddeviceparent_status *parent = parent_of(object);
	struct str text = STR_INIT;

	for (size_t i = 0; i < parent->types.len; i++)
		str_addf(&text, "%s%s (%d more)", i ? ", " : "", parent->types.items[i].name,
			 parent->types.items[i].available_instances);
	return str_detach(&text);
}

static const struct column mdev_columns[] = {
	{ { .title = "NAME" }, cell_name },   { { .title = "PARENT" }, mdev_parent },
	{ { .title = "TYPE" }, mdev_type },   { { .title = "UUID", .wide = true }, mdev_uuid },
	{ { .title = "IOMMU" }, mdev_group }, { { .title = "OURS" }, mdev_ours },
};

static const struct column parent_columns[] = {
	{ { .title = "NAME" }, cell_name },
	{ { .title = "PARENT" }, parent_name },
	{ { .title = "INSTANCES" }, parent_instances },
	{ { .title = "TYPES", .least = 32 }, parent_types },
};

static const struct {
	const struct column *columns;
	size_t len;
} tables[] = {
	[INVENTORY_PCI] = { pci_columns, ARRAY_LEN(pci_columns) },
	[INVENTORY_USB] = { usb_columns, ARRAY_LEN(usb_columns) },
	[INVENTORY_MDEV] = { mdev_columns, ARRAY_LEN(mdev_columns) },
	[INVENTORY_MDEV_PARENT] = { parent_columns, ARRAY_LEN(parent_columns) },
};

static void add_table(struct out *out, const struct inventory_set *set, enum inventory_kind kind)
{
	const struct column *columns = tables[kind].columns;
	struct table_column looks[TABLE_COLUMNS_MAX] = { 0 };
	const size_t len = tables[kind].len;
	struct table table;

	for (size_t i = 0; i < len; i++)
		looks[i] = columns[i].look;
	table_init(&table, looks, len);
	for (size_t row = 0; row < set->len; row++) {
		for (size_t i = 0; i < len; i++) {
			auto_free char *cell = columns[i].cell(set->objects[row]);

			table_add(&table, cell);
		}
	}
	table_print(&table, out, true, &out->text);
	table_done(&table);
}

static json_t *list_of(const struct inventory *inventory)
{
	json_t *items = json_array();

	for (int kind = 0; kind < INVENTORY_KINDS; kind++) {
		const struct inventory_set *set = &inventory->sets[kind];

		for (size_t i = 0; i < set->len; i++)
			json_array_append_new(
				items, publish_object((enum inventory_kind)kind, set->objects[i]));
	}
	return json_pack("{s:s, s:s, s:o}", "apiVersion", "v1", "kind", "List", "items", items);
}

static void print_tables(struct out *out, const struct inventory *inventory)
{
	for (int kind = 0; kind < INVENTORY_KINDS; kind++) {
		const struct inventory_set *set = &inventory->sets[kind];

		if (set->len == 0)
			continue;
		if (out->text.len > 0)
			str_add_char(&out->text, '\n');
		add_table(out, set, (enum inventory_kind)kind);
	}
	if (out->text.len == 0)
		str_add(&out->text, "No devices found\n");
}

void print_inventory(struct out *out, const struct inventory *inventory)
{
	auto_json json_t *list = NULL;
	auto_free char *text = NULL;

	if (out->format == OUT_TABLE || out->format == OUT_WIDE) {
		print_tables(out, inventory);
		return;
	}
	list = list_of(inventory);
	if (out->format == OUT_YAML) {
		yaml_write(list, &out->text);
		return;
	}
	text = json_dumps(list, JSON_INDENT(2));
	str_add(&out->text, text);
	str_add_char(&out->text, '\n');
}

int print_text(const struct str *text, struct err *err)
{
	int r = file_write_all(STDOUT_FILENO, text->buf, text->len);

	return r < 0 ? err_set(err, ERR_RETRY, r, "write to standard output: %s", strerror(-r)) : 0;
}
