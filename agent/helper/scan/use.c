#include "agent/helper/scan/use.h"

#include <stdlib.h>
#include <string.h>

#include "agent/helper/sys/report.h"
#include "base/array.h"
#include "base/json_write.h"
#include "base/mem.h"

static const char *const reason_names[] = {
	[USE_HOST_FILESYSTEM] = "HostFilesystem",
	[USE_HOST_SWAP] = "HostSwap",
	[USE_HOST_NETWORK] = "HostNetwork",
	[USE_CONSOLE] = "Console",
	[USE_MOUNTED] = "Mounted",
	[USE_BLOCK_HOLDER] = "BlockHolder",
	[USE_INTERFACE_UP] = "InterfaceUp",
};

bool uses_has(const struct uses *uses, const struct devpath *device, enum use_reason reason,
	      const char *subject)
{
	for (size_t i = 0; i < uses->len; i++) {
		const struct use *use = &uses->items[i];

		if (use->reason == reason && strcmp(use->device.pci, device->pci) == 0 &&
		    strcmp(use->device.usb, device->usb) == 0 &&
		    (!subject || strcmp(use->subject, subject) == 0))
			return true;
	}
	return false;
}

void uses_add(struct uses *uses, const struct devpath *device, enum use_reason reason,
	      const char *subject, char *detail)
{
	if (uses_has(uses, device, reason, subject)) {
		free(detail);
		return;
	}
	*array_add(uses) = (struct use){
		.device = *device,
		.reason = reason,
		.subject = xstrdup(subject),
		.detail = detail,
	};
}

static int by_device(const void *a, const void *b)
{
	const struct use *left = a;
	const struct use *right = b;
	int order = strverscmp(left->device.pci, right->device.pci);

	if (order == 0)
		order = strverscmp(left->device.usb, right->device.usb);
	if (order == 0)
		order = (left->reason > right->reason) - (left->reason < right->reason);
	return order ? order : strverscmp(left->subject, right->subject);
}

void uses_write(struct uses *uses, struct str *lines)
{
	if (uses->len > 0)
		qsort(uses->items, uses->len, sizeof(uses->items[0]), by_device);
	for (size_t i = 0; i < uses->len; i++) {
		const struct use *use = &uses->items[i];

		report_open(lines, "use");
		if (use->device.pci[0])
			json_write_str(lines, "pci", use->device.pci);
		if (use->device.usb[0])
			json_write_str(lines, "usb", use->device.usb);
		json_write_str(lines, "reason", reason_names[use->reason]);
		json_write_str(lines, "detail", use->detail);
		report_close(lines);
	}
}

void uses_done(struct uses *uses)
{
	for (size_t i = 0; i < uses->len; i++) {
		free(uses->items[i].subject);
		free(uses->items[i].detail);
	}
	array_done(uses);
}
