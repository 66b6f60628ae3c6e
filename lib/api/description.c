#include "api/description.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

static bool has_text(const char *text)
{
	return text && text[0];
}

/* Append the name, or "<what> <id>" if there is none. */
static void add_name(struct str *out, const char *name, const char *what, uint16_t id)
{
	if (has_text(name))
		str_add_clean(out, name, strlen(name));
	else
		str_addf(out, "%s %04x", what, (unsigned)id);
}

char *description_pci(const struct description_pci *names)
{
	const char *class_name = has_text(names->subclass) ? names->subclass : names->class_;
	struct str out = STR_INIT;

	add_name(&out, class_name, "Class", names->class_id);
	str_add(&out, ": ");
	add_name(&out, names->vendor, "Vendor", names->vendor_id);
	str_add_char(&out, ' ');
	add_name(&out, names->device, "Device", names->device_id);
	str_cut(&out, DESCRIPTION_MAX);
	return str_detach(&out);
}

char *description_short(const char *description)
{
	struct str out = STR_INIT;

	str_add(&out, description);
	str_cut(&out, DESCRIPTION_SHORT_MAX);
	return str_detach(&out);
}

char *description_usb(const struct description_usb *names)
{
	const char *product = has_text(names->product) ? names->product : "Unknown";
	struct str out = STR_INIT;

	if (has_text(names->vendor)) {
		str_add_clean(&out, product, strlen(product));
		str_add(&out, " (");
		str_add_clean(&out, names->vendor, strlen(names->vendor));
		str_add_char(&out, ')');
	} else {
		str_addf(&out, "Unknown %04x:%04x", (unsigned)names->vendor_id,
			 (unsigned)names->product_id);
	}
	if (has_text(names->product_string)) {
		str_add(&out, " [");
		str_add_clean(&out, names->product_string, strlen(names->product_string));
		str_add_char(&out, ']');
	}
	str_cut(&out, DESCRIPTION_MAX);
	return str_detach(&out);
}

/* The class codes defined by USB-IF, with Harvester's names. */
static const struct {
	int code;
	const char *text;
} usb_classes[] = {
	{ 0x01, "Audio" },
	{ 0x02, "Communications" },
	{ 0x03, "HID" },
	{ 0x05, "Physical" },
	{ 0x06, "Image" },
	{ 0x07, "Printer" },
	{ 0x08, "Mass Storage" },
	{ 0x09, "Hub" },
	{ 0x0a, "CDC-Data" },
	{ 0x0b, "Smart Card" },
	{ 0x0d, "Content Security" },
	{ 0x0e, "Video" },
	{ 0x0f, "Personal Healthcare" },
	{ 0x10, "Audio/Video" },
	{ 0x11, "Billboard" },
	{ 0x12, "USB Type-C Bridge" },
	{ 0x13, "USB Bulk Display Protocol" },
	{ 0x14, "MCTP over USB" },
	{ 0x3c, "I3C Device" },
	{ 0xdc, "Diagnostic" },
	{ 0xe0, "Wireless Controller" },
	{ 0xef, "Miscellaneous" },
	{ 0xfe, "Application Specific" },
	{ 0xff, "Vendor Specific" },
};

char *description_usb_class(int device_class, int interface_class)
{
	int code = device_class == 0 ? interface_class : device_class;

	if (code < 0)
		return xstrdup("");
	for (size_t i = 0; i < ARRAY_LEN(usb_classes); i++) {
		if (usb_classes[i].code == code)
			return xstrdup(usb_classes[i].text);
	}
	return xasprintf("Unknown (0x%02x)", (unsigned)code & 0xff);
}
