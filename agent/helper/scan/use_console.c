/*
 * Which device the machine's console is on: the screen of the virtual terminals, and the ports that
 * the kernel writes its messages to.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "agent/helper/scan/pci_scan.h"
#include "agent/helper/scan/use_scan.h"
#include "agent/helper/sys/sysfs.h"
#include "base/err.h"
#include "base/mem.h"

enum { CLASS_VGA = 0x0300, CLASS_VGA_OLD = 0x0001, CLASS_DISPLAY_OTHER = 0x0380 };

/* --- screens ---------------------------------------------------------------------------------- */

/* A bound console driver other than the dummy draws on the VGA text buffer or on a framebuffer. */
static bool screen_has_console(int sysfs_fd)
{
	auto_names struct sysfs_names names = { 0 };

	if (sysfs_list(sysfs_fd, "class/vtconsole", &names, NULL) != 0)
		return false;
	for (size_t i = 0; i < names.len; i++) {
		auto_free char *bind_path = xasprintf("class/vtconsole/%s/bind", names.items[i]);
		auto_free char *name_path = xasprintf("class/vtconsole/%s/name", names.items[i]);
		struct sysfs_attr bind;
		struct sysfs_attr name;

		if (sysfs_read(sysfs_fd, bind_path, &bind, NULL) == 0 &&
		    sysfs_read(sysfs_fd, name_path, &name, NULL) == 0 &&
		    strcmp(bind.text, "1") == 0 && !strstr(name.text, "dummy"))
			return true;
	}
	return false;
}

static int base_class(const struct pci_function *function)
{
	return function->class_id < 0 ? -1 : function->class_id >> 8;
}

static bool may_be_boot_vga(const struct pci_function *function)
{
	int base = base_class(function);

	/* A readable VGA always shows whether it is the boot VGA. */
	return function->boot_vga == 1 ||
	       (function->boot_vga < 0 && (base == CLASS_VGA || base == CLASS_VGA_OLD));
}

/*
 * Firmware framebuffers (efifb, simplefb) are the boot VGA's memory, but before kernel 6.9 no link
 * in /sys shows it. So the boot VGA counts whatever the framebuffer's parent is.
 */
static void add_boot_vga(struct use_scanner *scanner, const struct pci_function *function,
			 bool has_console)
{
	bool unread = !has_console && sysfs_failure()->code < 0;
	struct devpath device = { "", "" };

	memcpy(device.pci, function->address, sizeof(device.pci));
	if (has_console && function->boot_vga == 1)
		uses_add(&scanner->uses, &device, USE_CONSOLE, "console",
			 xstrdup("the console is on this boot VGA"));
	else if (has_console)
		uses_add(&scanner->uses, &device, USE_UNKNOWN, "console",
			 xstrdup("the console is on the boot VGA, and whether this is it cannot be "
				 "read"));
	else if (unread)
		uses_add(&scanner->uses, &device, USE_UNKNOWN, "console",
			 xasprintf("whether the console is on it cannot be read: %s",
				   sysfs_failure()->msg));
}

/*
 * The framebuffer that the virtual terminals begin on is the first one (fbcon_fb_registered() of
 * the kernel's drivers/video/fbdev/core/fbcon.c). The driver of a display controller of any class
 * makes one, so it need not be the boot VGA's. False: there is none, or the device behind it is not
 * to be seen.
 */
static bool add_framebuffer(struct use_scanner *scanner)
{
	auto_names struct sysfs_names names = { 0 };
	auto_free char *link = NULL;
	struct devpath device;
	size_t i = 0;

	if (sysfs_list_prefix(scanner->sysfs_fd, "class/graphics", "fb", &names, NULL) != 0)
		return false;
	while (i < names.len && !isdigit((unsigned char)names.items[i][2])) /* fbcon */
		i++;
	if (i == names.len)
		return false;
	link = xasprintf("class/graphics/%s", names.items[i]);
	if (!devpath_of_link(scanner->sysfs_fd, link, &device))
		return false;
	uses_add(&scanner->uses, &device, USE_CONSOLE, "console",
		 xasprintf("the console is on its framebuffer %s", names.items[i]));
	return true;
}

static bool has_boot_vga(const struct use_scanner *scanner)
{
	auto_names struct sysfs_names names = { 0 };

	if (sysfs_list(scanner->sysfs_fd, "bus/pci/devices", &names, NULL) != 0)
		return false;
	for (size_t i = 0; i < names.len; i++) {
		auto_free char *path = xasprintf("bus/pci/devices/%s/boot_vga", names.items[i]);
		struct sysfs_attr attr;

		if (sysfs_read(scanner->sysfs_fd, path, &attr, NULL) == 0 &&
		    strcmp(attr.text, "1") == 0)
			return true;
	}
	return false;
}

/* The framebuffer's memory is unknown, and there is no VGA that could own it. */
static void add_other_displays(struct use_scanner *scanner, const struct pci_functions *functions)
{
	bool asked = false;

	for (size_t i = 0; i < functions->len; i++) {
		const struct pci_function *function = &functions->items[i];
		struct devpath device = { "", "" };

		if (base_class(function) != CLASS_DISPLAY_OTHER)
			continue;
		if (!asked && has_boot_vga(scanner))
			return;
		asked = true;
		memcpy(device.pci, function->address, sizeof(device.pci));
		uses_add(&scanner->uses, &device, USE_UNKNOWN, "console",
			 xstrdup("the console is on a screen, and whether that is this one's "
				 "cannot be seen"));
	}
}

static void collect_screens(struct use_scanner *scanner, const struct pci_functions *functions)
{
	bool has_console = screen_has_console(scanner->sysfs_fd);

	for (size_t i = 0; i < functions->len; i++) {
		if (may_be_boot_vga(&functions->items[i]))
			add_boot_vga(scanner, &functions->items[i], has_console);
	}
	if (has_console && !add_framebuffer(scanner))
		add_other_displays(scanner, functions);
}

/* --- ports ------------------------------------------------------------------------------------ */

/* Which of virtio's consoles is the kernel's does not show. */
static void add_virtio_consoles(struct use_scanner *scanner, const char *port)
{
	static const char folder[] = "bus/virtio/drivers/virtio_console";
	auto_names struct sysfs_names names = { 0 };

	if (sysfs_list_prefix(scanner->sysfs_fd, folder, "virtio", &names, NULL) != 0)
		return;
	for (size_t i = 0; i < names.len; i++) {
		auto_free char *link = xasprintf("%s/%s", folder, names.items[i]);
		struct devpath device;

		if (devpath_of_link(scanner->sysfs_fd, link, &device))
			uses_add(&scanner->uses, &device, USE_UNKNOWN, port,
				 xasprintf("the kernel's console %s may be on it", port));
	}
}

/* A virtual terminal, or a port of the board, is no device that can be claimed. */
static void add_port(struct use_scanner *scanner, const char *port)
{
	auto_free char *link = xasprintf("class/tty/%s", port);
	struct devpath device;

	if (strncmp(port, "hvc", 3) == 0)
		add_virtio_consoles(scanner, port);
	if (!strchr(port, '/') && devpath_of_link(scanner->sysfs_fd, link, &device))
		uses_add(&scanner->uses, &device, USE_CONSOLE, port,
			 xasprintf("the kernel's console is on its port %s", port));
}

/* "tty0 ttyS4": all ports that the kernel writes its messages to. */
static void collect_ports(struct use_scanner *scanner)
{
	struct sysfs_attr active;
	const char *at = active.text;

	if (sysfs_read(scanner->sysfs_fd, "class/tty/console/active", &active, NULL) != 0)
		return;
	while (*(at += strspn(at, " "))) {
		size_t len = strcspn(at, " ");
		auto_free char *port = xstrndup(at, len);

		add_port(scanner, port);
		at += len;
	}
}

void use_console_collect(struct use_scanner *scanner, const struct pci_functions *functions)
{
	collect_screens(scanner, functions);
	collect_ports(scanner);
}
