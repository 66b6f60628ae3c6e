#include "agent/inventory/inventory_usb.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "agent/inventory/claimable.h"
#include "agent/inventory/facts.h"
#include "agent/inventory/id_names.h"
#include "agent/inventory/limits.h"
#include "api/description.h"
#include "api/names.h"
#include "api/object.h"
#include "api/resource_name.h"
#include "api/usbdevice.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

enum { INTERFACES_MAX = 32, SPEED_MAX = 1000000 };

/* What is not here is made by functions that keep to the schema themselves. */
#define S struct usbdevice_status
static const struct limit limits[] = {
	LIMIT(S, vendor_id, 4, limit_is_id),         LIMIT(S, product_id, 4, limit_is_id),
	LIMIT(S, pci_address, 16, limit_is_address), LIMIT(S, port_path, 64, limit_is_port),
	LIMIT(S, serial_number, 384, NULL),          LIMIT(S, holder, 1024, NULL),
};
#undef S

#define I struct usbdevice_interface
static const struct limit interface_limits[] = {
	LIMIT(I, class_, 2, limit_is_id),
	LIMIT(I, subclass, 2, limit_is_id),
	LIMIT(I, protocol, 2, limit_is_id),
	LIMIT(I, driver, 255, NULL),
};
#undef I

static void set_description(struct usbdevice_status *status,
			    const struct inventory_usb_source *source)
{
	const struct usb_facts *usb = source->usb;
	auto_free char *id = xasprintf("usb:%s:%s", str_or_empty(status->vendor_id),
				       str_or_empty(status->product_id));
	const struct id_name *name = id_names_get(source->names, id);
	int interface_class = -1;

	for (size_t i = 0; i < status->interfaces.len && interface_class < 0; i++) {
		if (status->interfaces.items[i].class_)
			interface_class = str_to_hex16(status->interfaces.items[i].class_);
	}
	status->class_type = description_usb_class(
		usb->class_code ? str_to_hex16(usb->class_code) : -1, interface_class);
	status->description = description_usb(&(struct description_usb){
		.vendor_id = str_to_hex16(status->vendor_id),
		.product_id = str_to_hex16(status->product_id),
		.vendor = name->first,
		.product = name->second,
		.product_string = usb->product_name,
	});
}

static void set_interfaces(struct usbdevice_status *status, const struct usb_facts *usb)
{
	for (size_t i = 0; i < usb->interfaces.len && i < INTERFACES_MAX; i++) {
		const struct usb_interface_facts *from = &usb->interfaces.items[i];
		struct usbdevice_interface *to = array_add(&status->interfaces);

		to->class_ = xstrdup_or_null(from->class_code);
		to->subclass = xstrdup_or_null(from->subclass);
		to->protocol = xstrdup_or_null(from->protocol);
		to->driver = xstrdup_or_null(from->driver);
		limits_apply(interface_limits, ARRAY_LEN(interface_limits), to);
	}
}

static void add_once(struct json_strs *list, struct str *text, const char *part)
{
	if (!part || !json_strs_add_new(list, part))
		return;
	str_addf(text, "%s%s", text->len ? ", " : "", part);
}

/* "sdb1 is mounted at /mnt, driver usb-storage"; NULL: not in use. */
static char *holder_of(const struct inventory_usb_source *source)
{
	const struct usb_facts *usb = source->usb;
	auto_str struct str text = STR_INIT;
	struct json_strs seen = { 0 };

	for (size_t i = 0; i < source->facts->uses.len; i++) {
		const struct use_facts *use = &source->facts->uses.items[i];

		if (use->usb && strcmp(use->usb, usb->port) == 0)
			add_once(&seen, &text, use->detail);
	}
	for (size_t i = 0; i < usb->interfaces.len; i++) {
		const char *driver = usb->interfaces.items[i].driver;
		auto_free char *part = driver ? xasprintf("driver %s", driver) : NULL;

		add_once(&seen, &text, part);
	}
	json_strs_done(&seen);
	return text.len ? str_detach(&text) : NULL;
}

static void set_status(struct usbdevice *device, const struct inventory_usb_source *source)
{
	struct usbdevice_status *status = &device->status;
	const struct usb_facts *usb = source->usb;

	status->vendor_id = xstrdup_or_null(usb->vendor);
	status->product_id = xstrdup_or_null(usb->product);
	status->node_name = xstrdup(source->node_name);
	status->resource_name = resource_name_usb(device->meta.name);
	if (usb->bus > 0 && usb->device > 0)
		status->device_path = xasprintf("/dev/bus/usb/%03d/%03d", usb->bus, usb->device);
	status->pci_address = xstrdup_or_null(usb->pci_address);
	status->port_path = xstrdup(usb->port);
	status->serial_number = xstrdup_or_null(usb->serial);
	status->speed_mbps = limit_number(usb->speed_mbps, SPEED_MAX, 0);
	status->hub = usb->hub;
	status->holder = holder_of(source);
	set_interfaces(status, usb);
	limits_apply(limits, ARRAY_LEN(limits), status);
	set_description(status, source);
}

struct usbdevice *inventory_usb_object(const struct inventory_usb_source *source,
				       int64_t now_wall_ms)
{
	struct usbdevice *device = api_object_new(&usbdevice_kind);
	const struct usb_facts *usb = source->usb;
	auto_free char *label = names_label_value(source->node_name);

	device->meta.name = names_usbdevice(source->node_name, str_to_hex16(usb->vendor),
					    str_to_hex16(usb->product),
					    (unsigned)limit_number(usb->bus, INT_MAX, 0),
					    (unsigned)limit_number(usb->device, INT_MAX, 0));
	json_pairs_set(&device->meta.labels, NAMES_LABEL_NODE, label);
	set_status(device, source);
	api_conditions_set(&device->status.conditions,
			   &(struct api_condition_value){
				   .type = "Claimable",
				   .status = source->verdict->claimable ? API_TRUE : API_FALSE,
				   .reason = source->verdict->reason,
				   .message = source->verdict->message,
			   },
			   now_wall_ms);
	return device;
}

void inventory_usb_rename(struct usbdevice *device, const char *name)
{
	free(device->meta.name);
	free(device->status.resource_name);
	device->meta.name = xstrdup(name);
	device->status.resource_name = resource_name_usb(name);
}
