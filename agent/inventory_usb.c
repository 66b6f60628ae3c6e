#include "agent/inventory_usb.h"

#include <stdlib.h>
#include <string.h>

#include "agent/claimable.h"
#include "agent/facts.h"
#include "agent/id_names.h"
#include "api/description.h"
#include "api/names.h"
#include "api/object.h"
#include "api/resource_name.h"
#include "api/usbdevice.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"

static uint16_t id_of(const char *hex)
{
	uint64_t value = 0;

	str_to_hex(hex, &value);
	return (uint16_t)value;
}

static void set_description(struct usbdevice_status *status,
			    const struct inventory_usb_source *source)
{
	const struct usb_facts *usb = source->usb;
	auto_free char *id = xasprintf("usb:%s:%s", usb->vendor, usb->product);
	const struct id_name *name = id_names_get(source->names, id);
	int interface_class = -1;

	if (usb->interfaces.len > 0 && usb->interfaces.items[0].class_code)
		interface_class = id_of(usb->interfaces.items[0].class_code);
	status->class_type =
		description_usb_class((uint8_t)id_of(usb->class_code), interface_class);
	status->description = description_usb(&(struct description_usb){
		.vendor_id = id_of(usb->vendor),
		.product_id = id_of(usb->product),
		.vendor = name->first,
		.product = name->second,
		.product_string = usb->product_name,
	});
}

static void set_interfaces(struct usbdevice_status *status, const struct usb_facts *usb)
{
	for (size_t i = 0; i < usb->interfaces.len; i++) {
		const struct usb_interface_facts *from = &usb->interfaces.items[i];

		*array_add(&status->interfaces) = (struct usbdevice_interface){
			.class_ = xstrdup_or_null(from->class_code),
			.subclass = xstrdup_or_null(from->subclass),
			.protocol = xstrdup_or_null(from->protocol),
			.driver = xstrdup_or_null(from->driver),
		};
	}
}

static void add_once(struct json_strs *list, struct str *text, const char *part)
{
	if (!part || !json_strs_add_new(list, part))
		return;
	str_addf(text, "%s%s", text->len ? ", " : "", part);
}

/* "sdb1 is mounted at /mnt, driver usb-storage", NULL when nobody has it. */
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

	status->vendor_id = xstrdup(usb->vendor);
	status->product_id = xstrdup(usb->product);
	status->node_name = xstrdup(source->node_name);
	status->resource_name = resource_name_usb(device->meta.name);
	status->device_path = xasprintf("/dev/bus/usb/%03d/%03d", usb->bus, usb->device);
	status->pci_address = xstrdup_or_null(usb->pci_address);
	status->port_path = xstrdup(usb->port);
	status->serial_number = xstrdup_or_null(usb->serial);
	status->speed_mbps = usb->speed_mbps;
	status->hub = usb->hub;
	status->holder = holder_of(source);
	set_description(status, source);
	set_interfaces(status, usb);
}

struct usbdevice *inventory_usb_object(const struct inventory_usb_source *source,
				       int64_t now_wall_ms)
{
	struct usbdevice *device = api_object_new(&usbdevice_kind);
	const struct usb_facts *usb = source->usb;
	auto_free char *label = names_label_value(source->node_name);

	device->meta.name =
		names_usbdevice(source->node_name, id_of(usb->vendor), id_of(usb->product),
				(unsigned)usb->bus, (unsigned)usb->device);
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
