#include "api/description.h"

#include <string.h>

#include "base/str.h"
#include "base/utf8.h"
#include "unit/suite.h"

static struct pci_case {
	const char *name;
	struct description_pci names;
	const char *want;
} pcis[] = {
	{ "a device with all its names",
	  { 0x10de, 0x20b0, 0x0302, "NVIDIA Corporation", "GA100 [A100 SXM4 40GB]",
	    "Display controller", "3D controller" },
	  "3D controller: NVIDIA Corporation GA100 [A100 SXM4 40GB]" },
	{ "without a subclass its class counts",
	  { 0x10de, 0x20b0, 0x0399, "NVIDIA Corporation", "GA100", "Display controller", NULL },
	  "Display controller: NVIDIA Corporation GA100" },
	{ "without names there are numbers",
	  { 0x00de, 0x0b0, 0x0302, NULL, NULL, NULL, NULL },
	  "Class 0302: Vendor 00de Device 00b0" },
	{ "empty names are none",
	  { 0x10de, 0x20b0, 0x0302, "", "", "", "" },
	  "Class 0302: Vendor 10de Device 20b0" },
	{ "bytes that are not UTF-8 are shown",
	  { 0x10de, 0x20b0, 0x0302, "\xd6zg\xc3\xbcr", "a\nb", "c", "d\x1b[" },
	  "d\\x1b[: \\xd6zg\xc3\xbcr a\\x0ab" },
};

static void pci_matches(void **state)
{
	const struct pci_case *c = *state;
	auto_free char *text = description_pci(&c->names);

	assert_string_equal(text, c->want);
}

static struct usb_case {
	const char *name;
	struct description_usb names;
	const char *want;
} usbs[] = {
	{ "a USB device with all its names",
	  { 0x0951, 0x1666, "Kingston Technology", "DataTraveler 100 G3/G4/SE9 G2/50",
	    "DataTraveler 3.0" },
	  "DataTraveler 100 G3/G4/SE9 G2/50 (Kingston Technology) [DataTraveler 3.0]" },
	{ "no text of its own, no brackets",
	  { 0x0951, 0x1666, "Kingston Technology", "DataTraveler", NULL },
	  "DataTraveler (Kingston Technology)" },
	{ "an unknown product of a known vendor",
	  { 0x0951, 0x1666, "Kingston Technology", NULL, "" },
	  "Unknown (Kingston Technology)" },
	{ "an unknown vendor",
	  { 0x0951, 0x0006, NULL, NULL, "Thing" },
	  "Unknown 0951:0006 [Thing]" },
	{ "a device's own text may be anything",
	  { 0x0951, 0x1666, "V", "P", "\xff\x01" },
	  "P (V) [\\xff\\x01]" },
};

static void usb_matches(void **state)
{
	const struct usb_case *c = *state;
	auto_free char *text = description_usb(&c->names);

	assert_string_equal(text, c->want);
}

static struct class_case {
	const char *name;
	int device_class;
	int interface_class;
	const char *want;
} classes[] = {
	{ "the device's class counts", 0x09, 0x08, "Hub" },
	{ "where it has none, its first interface's does", 0x00, 0x08, "Mass Storage" },
	{ "an interface class may be the last one", 0x00, 0xff, "Vendor Specific" },
	{ "without interfaces it says nothing", 0x00, -1, "" },
	{ "a class that cannot be read says nothing", -1, 0x08, "" },
	{ "an interface without a class of its own is none that is known", 0x00, 0x00,
	  "Unknown (0x00)" },
	{ "a keyboard", 0x00, 0x03, "HID" },
	{ "an I3C device", 0x3c, -1, "I3C Device" },
	{ "a display", 0x00, 0x13, "USB Bulk Display Protocol" },
	{ "a management controller", 0x14, -1, "MCTP over USB" },
	{ "an unknown class is a number", 0x42, -1, "Unknown (0x42)" },
	{ "an unknown class of an interface too", 0x00, 0x04, "Unknown (0x04)" },
};

static void class_matches(void **state)
{
	const struct class_case *c = *state;
	auto_free char *text = description_usb_class(c->device_class, c->interface_class);

	assert_string_equal(text, c->want);
}

static void long_names_are_cut(void **state)
{
	auto_str struct str name = STR_INIT;
	struct description_pci pci = { .device_id = 1 };
	struct description_usb usb = { .vendor_id = 1 };
	auto_free char *pci_text = NULL;
	auto_free char *usb_text = NULL;

	while (name.len < 5000)
		str_add(&name, "\xe2\x82\xac");
	pci.vendor = usb.vendor = name.buf;
	pci_text = description_pci(&pci);
	usb_text = description_usb(&usb);
	assert_in_range(strlen(pci_text), DESCRIPTION_MAX - 2, DESCRIPTION_MAX);
	assert_in_range(strlen(usb_text), DESCRIPTION_MAX - 2, DESCRIPTION_MAX);
	assert_true(utf8_valid(pci_text, strlen(pci_text)));
	assert_true(utf8_valid(usb_text, strlen(usb_text)));
}

int main(void)
{
	struct suite suite = { 0 };

	suite_rows(&suite, pcis, pci_matches);
	suite_rows(&suite, usbs, usb_matches);
	suite_rows(&suite, classes, class_matches);
	suite_add(&suite, "long names are cut between characters", long_names_are_cut, NULL);
	return suite_run(&suite, "description");
}
