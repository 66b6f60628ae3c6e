#include "agent/helper/scan/use.h"

#include <stdio.h>
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
	[USE_INTERFACE_MOVED] = "InterfaceMoved",
	[USE_UNKNOWN] = "Unknown",
};

/* clang-format off */
enum { STORAGE = 1, NETWORK = 2, CONSOLE = 4 };

static const struct {
	const char *name;
	unsigned about;
	bool unread; /* the kernel's answer could not be read */
} questions[USE_QUESTIONS] = {
	[USE_ASK_MOUNTS]       = { "Mounts",      STORAGE | NETWORK, true  },
	[USE_ASK_SWAPS]        = { "Swaps",       STORAGE,           true  },
	[USE_ASK_DISKS]        = { "Disks",       STORAGE,           true  },
	[USE_ASK_HOST_FOLDER]  = { "HostFolder",  STORAGE | NETWORK, false },
	[USE_ASK_MEMBERS]      = { "Members",     STORAGE,           false },
	[USE_ASK_ROUTES]       = { "Routes",      NETWORK,           true  },
	[USE_ASK_INTERFACES]   = { "Interfaces",  NETWORK,           true  },
	[USE_ASK_NODE_ADDRESS] = { "NodeAddress", NETWORK,           false },
	[USE_ASK_SERVER]       = { "Server",      NETWORK,           false },
	[USE_ASK_CONSOLE]      = { "Console",     CONSOLE,           true  },
};

/* Functions through which disks, networks or the console are reached: the first digits of their
 * classes (pci.ids). */
static const struct {
	const char *prefix;
	unsigned about;
} pci_classes[] = {
	{ "0000", STORAGE                     }, /* a virtio-scsi of Google's     */
	{ "0001", CONSOLE                     }, /* VGA before classes            */
	{ "0002", STORAGE                     }, /* QEMU's virtio-9p              */
	{ "00ff", STORAGE                     }, /* that of other hypervisors     */
	{ "01",   STORAGE                     },
	{ "02",   NETWORK                     },
	{ "0300", CONSOLE                     },
	{ "0380", CONSOLE                     }, /* displays that are no VGA      */
	{ "07",   CONSOLE                     }, /* serial ports                  */
	{ "0805", STORAGE                     }, /* SD cards and eMMC             */
	{ "0c00", STORAGE                     }, /* FireWire                      */
	{ "0c03", STORAGE | NETWORK | CONSOLE }, /* USB                           */
	{ "0c04", STORAGE | NETWORK           }, /* Fibre Channel                 */
	{ "0c06", STORAGE | NETWORK           }, /* InfiniBand                    */
	{ "0d",   NETWORK                     }, /* wireless                      */
};

/* Of USB interfaces. */
static const struct {
	const char *prefix;
	unsigned about;
} usb_classes[] = {
	{ "02", NETWORK | CONSOLE }, /* communications (CDC), serial ports too */
	{ "08", STORAGE           },
	{ "0a", NETWORK | CONSOLE }, /* data of CDC                            */
	{ "e0", NETWORK           }, /* wireless                               */
	{ "ff", NETWORK | CONSOLE }, /* vendor's: network cards, serial ports, screens */
};
/* clang-format on */

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

void uses_add_unknown(struct uses *uses, enum use_question question, char *detail)
{
	for (size_t i = 0; i < uses->unknown.len; i++) {
		const struct use_unknown *unknown = &uses->unknown.items[i];

		if (unknown->question == question && strcmp(unknown->detail, detail) == 0) {
			free(detail);
			return;
		}
	}
	*array_add(&uses->unknown) = (struct use_unknown){ question, detail };
}

static unsigned about_class(int class_id)
{
	char digits[16];

	(void)snprintf(digits, sizeof(digits), "%06x", (unsigned)class_id);
	for (size_t i = 0; i < ARRAY_LEN(pci_classes); i++) {
		if (strncmp(digits, pci_classes[i].prefix, strlen(pci_classes[i].prefix)) == 0)
			return pci_classes[i].about;
	}
	return 0;
}

const char *uses_unknown_for(const struct uses *uses, int class_id)
{
	unsigned about = about_class(class_id);

	if (class_id < 0)
		return "its class cannot be read";
	for (size_t i = 0; i < uses->unknown.len; i++) {
		if (questions[uses->unknown.items[i].question].about & about)
			return uses->unknown.items[i].detail;
	}
	return NULL;
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

static int by_question(const void *a, const void *b)
{
	const struct use_unknown *left = a;
	const struct use_unknown *right = b;
	int order = (left->question > right->question) - (left->question < right->question);

	return order ? order : strcmp(left->detail, right->detail);
}

/* The line names the classes, so that its reader needs no table of them. */
static void write_unknown(const struct use_unknown *unknown, struct str *lines)
{
	unsigned about = questions[unknown->question].about;

	report_open(lines, "unknown");
	json_write_str(lines, "question", questions[unknown->question].name);
	json_write_bool(lines, "unread", questions[unknown->question].unread);
	json_write_open(lines, "pciClasses", '[');
	for (size_t i = 0; i < ARRAY_LEN(pci_classes); i++) {
		if (pci_classes[i].about & about)
			json_write_str(lines, NULL, pci_classes[i].prefix);
	}
	json_write_close(lines, ']');
	json_write_open(lines, "usbClasses", '[');
	for (size_t i = 0; i < ARRAY_LEN(usb_classes); i++) {
		if (usb_classes[i].about & about)
			json_write_str(lines, NULL, usb_classes[i].prefix);
	}
	json_write_close(lines, ']');
	json_write_str(lines, "detail", unknown->detail);
	report_close(lines);
}

void uses_write(struct uses *uses, struct str *lines)
{
	if (uses->unknown.len > 0)
		qsort(uses->unknown.items, uses->unknown.len, sizeof(uses->unknown.items[0]),
		      by_question);
	for (size_t i = 0; i < uses->unknown.len; i++)
		write_unknown(&uses->unknown.items[i], lines);
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
	for (size_t i = 0; i < uses->unknown.len; i++)
		free(uses->unknown.items[i].detail);
	array_done(&uses->unknown);
	array_done(uses);
}
