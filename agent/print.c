#include "agent/print.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inventory/inventory.h"
#include "agent/publish/publish_plan.h"
#include "api/json_map.h"
#include "api/mediateddevice.h"
#include "api/mediateddeviceparent.h"
#include "api/pcidevice.h"
#include "api/usbdevice.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/yaml.h"

enum { COLUMNS_MAX = 16 };

struct column {
	const char *title;
	bool wide; /* only with -o wide */
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
	{ "NAME", false, cell_name },
	{ "ADDRESS", false, pci_address },
	{ "ID", false, pci_id },
	{ "DRIVER", false, pci_driver },
	{ "CLAIMABLE", false, pci_claimable },
	{ "REASON", false, pci_reason },
	{ "IOMMU", true, pci_group },
	{ "NUMA", true, pci_numa },
	{ "ROLE", true, pci_role },
	{ "RESOURCE NAME", true, pci_resource },
	{ "DESCRIPTION", false, pci_description },
	{ "MESSAGE", true, pci_message },
};

static const struct column usb_columns[] = {
	{ "NAME", false, cell_name },
	{ "PORT", false, usb_port },
	{ "ID", false, usb_id },
	{ "SERIAL", false, usb_serial },
	{ "CLAIMABLE", false, usb_claimable },
	{ "REASON", false, usb_reason },
	{ "SPEED", true, usb_speed },
	{ "PATH", true, usb_path },
	{ "HOLDER", true, usb_holder },
	{ "DESCRIPTION", false, usb_description },
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
	{ "NAME", false, cell_name },   { "PARENT", false, mdev_parent },
	{ "TYPE", false, mdev_type },   { "UUID", true, mdev_uuid },
	{ "IOMMU", false, mdev_group }, { "OURS", false, mdev_ours },
};

static const struct column parent_columns[] = {
	{ "NAME", false, cell_name },
	{ "PARENT", false, parent_name },
	{ "INSTANCES", false, parent_instances },
	{ "TYPES", false, parent_types },
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

/* Code points, as a terminal counts most of them. */
static size_t width_of(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static void add_cell(struct str *out, const char *text, size_t width, bool last)
{
	str_add(out, text);
	for (size_t n = width_of(text); !last && n < width + 3; n++)
		str_add_char(out, ' ');
}

/* All cells of one set: titles first, then a row an object; column by column in @cells. */
static void add_rows(struct str *out, const struct inventory_set *set, const struct column *columns,
		     size_t len)
{
	size_t widths[COLUMNS_MAX] = { 0 };

	for (size_t c = 0; c < len; c++) {
		widths[c] = width_of(columns[c].title);
		for (size_t row = 0; row < set->len; row++) {
			auto_free char *cell = columns[c].cell(set->objects[row]);
			size_t width = width_of(cell);

			widths[c] = width > widths[c] ? width : widths[c];
		}
		add_cell(out, columns[c].title, widths[c], c + 1 == len);
	}
	str_add_char(out, '\n');
	for (size_t row = 0; row < set->len; row++) {
		for (size_t c = 0; c < len; c++) {
			auto_free char *cell = columns[c].cell(set->objects[row]);

			add_cell(out, cell, widths[c], c + 1 == len);
		}
		str_add_char(out, '\n');
	}
}

static void add_table(struct str *out, const struct inventory_set *set, enum inventory_kind kind,
		      bool wide)
{
	struct column shown[COLUMNS_MAX];
	size_t len = 0;

	for (size_t i = 0; i < tables[kind].len; i++) {
		if (wide || !tables[kind].columns[i].wide)
			shown[len++] = tables[kind].columns[i];
	}
	add_rows(out, set, shown, len);
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

static void print_tables(struct str *out, const struct inventory *inventory, bool wide)
{
	for (int kind = 0; kind < INVENTORY_KINDS; kind++) {
		const struct inventory_set *set = &inventory->sets[kind];

		if (set->len == 0)
			continue;
		if (out->len > 0)
			str_add_char(out, '\n');
		add_table(out, set, (enum inventory_kind)kind, wide);
	}
	if (out->len == 0)
		str_add(out, "No devices found\n");
}

int print_format_from_text(const char *text, enum print_format *ret_format)
{
	static const char *const names[] = {
		[PRINT_TABLE] = "table",
		[PRINT_WIDE] = "wide",
		[PRINT_YAML] = "yaml",
		[PRINT_JSON] = "json",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(text, names[i]) == 0) {
			*ret_format = (enum print_format)i;
			return 0;
		}
	}
	return -EINVAL;
}

void print_inventory(struct str *out, const struct inventory *inventory, enum print_format format)
{
	auto_json json_t *list = NULL;
	auto_free char *text = NULL;

	if (format == PRINT_TABLE || format == PRINT_WIDE) {
		print_tables(out, inventory, format == PRINT_WIDE);
		return;
	}
	list = list_of(inventory);
	if (format == PRINT_YAML) {
		yaml_write(list, out);
		return;
	}
	text = json_dumps(list, JSON_INDENT(2));
	str_add(out, text);
	str_add_char(out, '\n');
}
