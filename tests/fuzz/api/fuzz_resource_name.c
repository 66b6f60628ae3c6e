/*
 * fuzz_resource_name: any bytes as the names of a vendor and a product (one line each, behind two
 * bytes of id). Every name made of them is valid, and every description clean and short enough.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "api/description.h"
#include "api/names.h"
#include "api/resource_name.h"
#include "base/mem.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_resource(const char *name)
{
	assert(names_valid_resource(name));
	assert(strlen("/var/lib/kubelet/device-plugins/kubevirt-.sock") + strlen(name) <= 108);
}

static void check_text(const char *text)
{
	assert(text[0]);
	assert(strlen(text) <= DESCRIPTION_MAX);
	assert(utf8_valid(text, strlen(text)));
}

static void check_pci(const char *vendor, const char *product, uint16_t id)
{
	const struct description_pci names = {
		.vendor_id = id, .vendor = vendor, .device = product, .subclass = vendor
	};
	auto_free char *resource = resource_name_pci(vendor, product, id);
	auto_free char *text = description_pci(&names);
	auto_free char *object = names_pcidevice(vendor, product ? product : vendor);

	check_resource(resource);
	check_text(text);
	assert(names_valid_object(object));
}

static void check_usb(const char *vendor, const char *product, uint16_t id)
{
	const struct description_usb names = {
		.product_id = id, .vendor = vendor, .product = product, .product_string = product
	};
	auto_free char *object = names_usbdevice(vendor, id, 0, id, id);
	auto_free char *resource = resource_name_usb(object);
	auto_free char *label = names_label_value(vendor);
	auto_free char *text = description_usb(&names);

	assert(names_valid_object(object));
	assert(names_valid_resource(resource));
	assert(names_valid_label(label));
	check_text(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_free char *text = NULL;
	char *product;
	uint16_t id;

	if (size < 2)
		return 0;
	id = (uint16_t)(data[0] << 8 | data[1]);
	text = xstrndup((const char *)data + 2, size - 2);
	product = strchr(text, '\n');
	if (product)
		*product++ = '\0';

	check_pci(text, product, id);
	check_usb(text, product, id);
	return 0;
}
