#include "agent/helper/scan/usb.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/helper/sys/devpath.h"
#include "agent/helper/sys/report.h"
#include "agent/helper/sys/sysfs.h"
#include "agent/helper/sys/uevent_file.h"
#include "base/array.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/str.h"
#include "base/utf8.h"

/* Numbers are -1 and texts NULL where they are not known. */
struct usb_interface {
	int type[3]; /* class, subclass, protocol */
	char *driver;
};

struct usb_interfaces {
	struct usb_interface *items;
	size_t len;
	size_t cap;
};

struct usb_device {
	char name[USB_NAME_SIZE];
	char pci_address[PCI_ADDRESS_SIZE]; /* of its controller */
	int ids[3];                         /* vendor, product, release */
	int type[3];                        /* class, subclass, protocol */
	int bus;
	int number;
	int speed;
	char *manufacturer;
	char *product;
	char *serial;
	struct usb_interfaces interfaces;
};

enum { CLASS_HUB = 0x09 };

/* @name is a valid port name. */
static void usb_device_init(struct usb_device *device, const char *name)
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

static void usb_device_done(struct usb_device *device)
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

static void usb_device_write(const struct usb_device *device, struct str *lines)
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

/* One device or interface while it is read. */
struct reading {
	struct report *report;
	const char *name;
	int dir_fd;
	struct sysfs_attr attr;
};

#define problem(reading, attribute, ...) \
	report_problem((reading)->report, (reading)->name, attribute, __VA_ARGS__)

/* clang-format off */
struct number_row {
	const char *key;  /* the line of the uevent, NULL if it has none */
	struct uevent_numbers form;
	size_t offset;
};

static const struct number_row device_rows[] = {
	{ "PRODUCT", { 16, '/', 3, 0xffff }, offsetof(struct usb_device, ids) },
	{ "TYPE",    { 10, '/', 3, 0xff },   offsetof(struct usb_device, type) },
	{ "BUSNUM",  { 10, 0,   1, 0xffff }, offsetof(struct usb_device, bus) },
	{ "DEVNUM",  { 10, 0,   1, 0xffff }, offsetof(struct usb_device, number) },
};

static const struct number_row interface_rows[] = {
	{ "INTERFACE", { 10, '/', 3, 0xff }, offsetof(struct usb_interface, type) },
};

/* Single attributes, for what the uevent lacks. */
struct attr_row {
	const char *attr;
	unsigned base;
	unsigned max;
	size_t offset;
};

static const struct attr_row device_attrs[] = {
	{ "idVendor",        16, 0xffff, offsetof(struct usb_device, ids[0]) },
	{ "idProduct",       16, 0xffff, offsetof(struct usb_device, ids[1]) },
	{ "bDeviceClass",    16, 0xff,   offsetof(struct usb_device, type[0]) },
	{ "bDeviceSubClass", 16, 0xff,   offsetof(struct usb_device, type[1]) },
	{ "bDeviceProtocol", 16, 0xff,   offsetof(struct usb_device, type[2]) },
	{ "busnum",          10, 0xffff, offsetof(struct usb_device, bus) },
	{ "devnum",          10, 0xffff, offsetof(struct usb_device, number) },
};

static const struct attr_row interface_attrs[] = {
	{ "bInterfaceClass",    16, 0xff, offsetof(struct usb_interface, type[0]) },
	{ "bInterfaceSubClass", 16, 0xff, offsetof(struct usb_interface, type[1]) },
	{ "bInterfaceProtocol", 16, 0xff, offsetof(struct usb_interface, type[2]) },
};

static const struct {
	const char *attr;
	size_t offset;
} text_rows[] = {
	{ "manufacturer", offsetof(struct usb_device, manufacturer) },
	{ "product",      offsetof(struct usb_device, product) },
	{ "serial",       offsetof(struct usb_device, serial) },
};
/* clang-format on */

static bool read_attr(struct reading *reading, const char *name, bool must)
{
	struct err err = { 0 };
	int r = sysfs_read(reading->dir_fd, name, &reading->attr, &err);

	if (r < 0)
		problem(reading, name, "%s", err.msg);
	if (r == SYSFS_ABSENT && must)
		problem(reading, name, "missing");
	return r == 0;
}

static void take_numbers(struct reading *reading, const struct uevent_field *field,
			 const struct number_row *row, char *object)
{
	if (!uevent_is(field, row->key))
		return;
	if (!uevent_numbers(field, &row->form, (int *)(void *)(object + row->offset)))
		problem(reading, "uevent", "'%s=%.*s' is not what it should be", row->key,
			(int)(field->value_len < 32 ? field->value_len : 32), field->value);
}

static void read_uevent(struct reading *reading, const struct number_row *rows, size_t len,
			char *object, char **driver)
{
	struct uevent_cursor cursor;
	struct uevent_field field;

	if (!read_attr(reading, "uevent", true))
		return;
	if (reading->attr.len == 0)
		problem(reading, "uevent", "empty");
	cursor = (struct uevent_cursor){ reading->attr.text,
					 reading->attr.text + reading->attr.len };
	while (uevent_next(&cursor, &field)) {
		if (driver && uevent_is(&field, "DRIVER")) {
			free(*driver);
			*driver = xstrndup(field.value, field.value_len);
		}
		for (size_t i = 0; i < len; i++)
			take_numbers(reading, &field, &rows[i], object);
	}
}

static void fill_from_attrs(struct reading *reading, const struct attr_row *rows, size_t len,
			    char *object)
{
	for (size_t i = 0; i < len; i++) {
		const struct attr_row *row = &rows[i];
		int *number = (int *)(void *)(object + row->offset);
		uint64_t value;

		if (*number >= 0 || !read_attr(reading, row->attr, true))
			continue;
		if ((row->base == 16 ? str_to_hex(reading->attr.text, &value)
				     : str_to_u64(reading->attr.text, &value)) &&
		    value <= row->max)
			*number = (int)value;
		else
			problem(reading, row->attr, "'%.32s' is not a number", reading->attr.text);
	}
}

/* Megabits per second; "1.5" (low speed) counts as 1, "unknown" as unknown. */
static int read_speed(struct reading *reading)
{
	uint64_t speed;

	if (!read_attr(reading, "speed", true) || strcmp(reading->attr.text, "unknown") == 0)
		return -1;
	if (strcmp(reading->attr.text, "1.5") == 0)
		return 1;
	if (str_to_u64(reading->attr.text, &speed) && speed <= 1000000)
		return (int)speed;
	problem(reading, "speed", "'%.32s' is not a speed", reading->attr.text);
	return -1;
}

static void read_texts(struct reading *reading, struct usb_device *device)
{
	for (size_t i = 0; i < ARRAY_LEN(text_rows); i++) {
		char **text = (char **)(void *)((char *)device + text_rows[i].offset);

		if (!read_attr(reading, text_rows[i].attr, false))
			continue;
		if (!utf8_valid(reading->attr.text, reading->attr.len))
			problem(reading, text_rows[i].attr, "not UTF-8");
		*text = xstrndup(reading->attr.text, reading->attr.len);
	}
}

static bool interface_of(const char *name, const char *device)
{
	size_t len = strlen(device);

	return strncmp(name, device, len) == 0 && name[len] == ':';
}

/* -1: it has gone, or the scan has failed. */
static int open_folder(struct report *report, int bus_fd, const char *name)
{
	int fd;

	sysfs_forget_failure();
	fd = sysfs_open_dir(bus_fd, name);
	if (fd < 0 && sysfs_failure()->code < 0)
		report_fail(report, sysfs_failure());
	return fd;
}

static void read_interface(struct reading *parent, int bus_fd, const char *name,
			   struct usb_device *device)
{
	auto_close int dir_fd = open_folder(parent->report, bus_fd, name);
	struct reading reading = { .report = parent->report, .name = name, .dir_fd = dir_fd };
	struct usb_interface *interface;

	if (dir_fd < 0)
		return;
	interface = array_add(&device->interfaces);
	*interface = (struct usb_interface){ .type = { -1, -1, -1 } };
	read_uevent(&reading, interface_rows, ARRAY_LEN(interface_rows), (char *)interface,
		    &interface->driver);
	fill_from_attrs(&reading, interface_attrs, ARRAY_LEN(interface_attrs), (char *)interface);
}

/* Is the folder that was read still the device's? One that went away meanwhile lacks what it had,
 * such as its serial number, and may be back under the same name as another. */
static bool is_same(struct report *report, int dir_fd, int bus_fd, const char *name)
{
	struct stat before;
	struct stat now;
	struct err err = { 0 };
	int r = sysfs_stat(dir_fd, ".", &before, &err);

	if (r == 0)
		r = sysfs_stat(bus_fd, name, &now, &err);
	if (r < 0)
		report_fail(report, &err);
	return r == 0 && before.st_dev == now.st_dev && before.st_ino == now.st_ino;
}

/* False when the device went away while it was read. */
static bool read_device(struct report *report, int bus_fd, const struct sysfs_names *names,
			struct usb_device *device)
{
	auto_close int dir_fd = open_folder(report, bus_fd, device->name);
	struct reading reading = { .report = report, .name = device->name, .dir_fd = dir_fd };
	char target[SYSFS_LINK_MAX + 1];
	struct devpath devpath;

	if (dir_fd < 0)
		return false;
	if (sysfs_link(bus_fd, device->name, target, NULL) == 0) {
		devpath_parse(target, &devpath);
		memcpy(device->pci_address, devpath.pci, sizeof(devpath.pci));
	}
	read_uevent(&reading, device_rows, ARRAY_LEN(device_rows), (char *)device, NULL);
	fill_from_attrs(&reading, device_attrs, ARRAY_LEN(device_attrs), (char *)device);
	device->speed = read_speed(&reading);
	read_texts(&reading, device);
	for (size_t i = 0; i < names->len; i++) {
		if (interface_of(names->items[i], device->name))
			read_interface(&reading, bus_fd, names->items[i], device);
	}
	return is_same(report, dir_fd, bus_fd, device->name);
}

static bool scan_one(struct report *report, int bus_fd, const struct sysfs_names *names,
		     const char *name)
{
	struct usb_device device;
	size_t mark = report->problems.len;
	bool found;

	usb_device_init(&device, name);
	found = read_device(report, bus_fd, names, &device);
	if (found) {
		usb_device_write(&device, &report->lines);
	} else {
		log_debug("device vanished while it was read", log_str("device", name));
		report_rewind(report, mark);
	}
	usb_device_done(&device);
	return found;
}

size_t usb_scan(int sysfs_fd, struct report *report)
{
	auto_names struct sysfs_names names = { 0 };
	auto_close int bus_fd = -1;
	struct err err = { 0 };
	size_t found = 0;

	if (sysfs_open_list(sysfs_fd, "bus/usb/devices", &bus_fd, &names, &err) < 0)
		report_fail(report, &err);
	for (size_t i = 0; i < names.len; i++) {
		const char *name = names.items[i];

		if (usb_name_valid(name, strlen(name)))
			found += scan_one(report, bus_fd, &names, name);
	}
	return found;
}
