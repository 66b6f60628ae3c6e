#include "agent/helper/scan/usb_line.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/helper/sys/report.h"
#include "base/array.h"
#include "base/json_write.h"
#include "base/str.h"

enum { CLASS_HUB = 0x09 };

void usb_device_init(struct usb_device *device, const char *name)
{
	*device = (struct usb_device){
		.ids = { -1, -1, -1 },
		.type = { -1, -1, -1 },
		.bus = -1,
		.number = -1,
		.speed = -1,
	};
	memcpy(device->name, name, strlen(name) + 1);
}

void usb_device_done(struct usb_device *device)
{
	for (size_t i = 0; i < device->interfaces.len; i++)
		free(device->interfaces.items[i].driver);
	array_done(&device->interfaces);
	free(device->manufacturer);
	free(device->product);
	free(device->serial);
}

static void write_hex(struct str *lines, const char *key, int number, int digits)
{
	char text[16];

	if (number < 0)
		return;
	(void)snprintf(text, sizeof(text), "%0*x", digits, (unsigned)number);
	json_write_str(lines, key, text);
}

static void write_number(struct str *lines, const char *key, int number)
{
	if (number >= 0)
		json_write_int(lines, key, number);
}

static void write_text(struct str *lines, const char *key, const char *text)
{
	if (text && text[0])
		json_write_str(lines, key, text);
}

static void write_type(struct str *lines, const int type[3])
{
	write_hex(lines, "class", type[0], 2);
	write_hex(lines, "subclass", type[1], 2);
	write_hex(lines, "protocol", type[2], 2);
}

static void write_interfaces(const struct usb_interfaces *interfaces, struct str *lines)
{
	json_write_open(lines, "interfaces", '[');
	for (size_t i = 0; i < interfaces->len; i++) {
		json_write_open(lines, NULL, '{');
		write_type(lines, interfaces->items[i].type);
		write_text(lines, "driver", interfaces->items[i].driver);
		json_write_close(lines, '}');
	}
	json_write_close(lines, ']');
}

/* The hub driver takes both (hub_id_table of drivers/usb/core/hub.c). */
static bool is_hub(const struct usb_device *device)
{
	bool found = device->type[0] == CLASS_HUB;

	for (size_t i = 0; i < device->interfaces.len && !found; i++)
		found = device->interfaces.items[i].type[0] == CLASS_HUB;
	return found;
}

void usb_device_write(const struct usb_device *device, struct str *lines)
{
	report_open(lines, "usb");
	json_write_str(lines, "name", device->name);
	write_number(lines, "bus", device->bus);
	write_number(lines, "device", device->number);
	write_hex(lines, "vendor", device->ids[0], 4);
	write_hex(lines, "product", device->ids[1], 4);
	write_type(lines, device->type);
	write_number(lines, "speed", device->speed);
	write_text(lines, "manufacturer", device->manufacturer);
	write_text(lines, "productName", device->product);
	write_text(lines, "serial", device->serial);
	json_write_bool(lines, "hub", is_hub(device));
	write_text(lines, "pciAddress", device->pci_address);
	write_interfaces(&device->interfaces, lines);
	report_close(lines);
}
